/** Promise: two signals that arrive while the program is busy with a long step still end it. */
import { expect, it, vi } from 'vitest';
import { withSignals } from '../../src/commands/signals.ts';

/** A run of several files. Both the whole run and each file listen for signals. */
const nested: typeof withSignals = (work) => withSignals(() => withSignals(work));

it.each([
  ['SIGTERM', 'SIGINT', withSignals],
  ['SIGTERM', 'SIGTERM', withSignals],
  ['SIGINT', 'SIGINT', nested],
] as const)('%s and %s end a program that is busy with a long step', async (first, second, listening) => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  const before = process.listenerCount(second);
  await listening(async ({ leaving }) => {
    process.emit(first);
    expect(leaving.aborted).toBe(true);
    expect(kill).not.toHaveBeenCalled();
    process.emit(second);
    expect(kill).toHaveBeenCalledWith(process.pid, second);
    // No listener remains, so the operating system would end the program.
    expect(process.listenerCount(second)).toBe(before);
  });
  vi.restoreAllMocks();
});
