/** Promise: two signals that are heard at the same moment, since the program was at one long step, end it all the same. */
import { expect, it, vi } from 'vitest';
import { withSignals } from '../../src/commands/signals.ts';

/** A run of several files, which listens while each of them does. */
const nested: typeof withSignals = (work) => withSignals(() => withSignals(work));

it.each([
  ['SIGTERM', 'SIGINT', withSignals],
  ['SIGTERM', 'SIGTERM', withSignals],
  ['SIGINT', 'SIGINT', nested],
] as const)('%s and %s', async (first, second, listening) => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  const before = process.listenerCount(second);
  await listening(async ({ leaving }) => {
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
