/** What is known of a command before it is called. */
import type { Argv } from 'yargs';
import type { BatchLock } from '../runner/checkpoint/batch-lock.ts';

export interface Command {
  /** Its arguments, as the parser writes them: `<pipeline>`. */
  takes: string;
  summary: string;
  options: (parser: Argv) => unknown;
  /** Up to the exit code. `early`: the lock of the batch, where it was taken already. */
  work: (argv: Record<string, unknown>, early: BatchLock | undefined) => Promise<number> | number;
}
