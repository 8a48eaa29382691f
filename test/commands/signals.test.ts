/** Promise: two signals that are heard at the same moment, since the program was at one long step, end it all the same. */
import { expect, it, vi } from 'vitest';
import { withSignals } from '../../src/commands/signals.ts';

it.each([
  ['SIGTERM', 'SIGINT'],
  ['SIGTERM', 'SIGTERM'],
] as const)('%s and %s', async (first, second) => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  const before = process.listenerCount(second);
  await withSignals(async ({ leaving }) => {
    process.emit(first);
    expect(leaving.aborted).toBe(true);
    expect(kill).not.toHaveBeenCalled();
    process.emit(second);
    expect(kill).toHaveBeenCalledWith(process.pid, second);
    // Nobody listens then, so that the system ends the program.
    expect(process.listenerCount(second)).toBe(before);
  });
  vi.restoreAllMocks();
});
