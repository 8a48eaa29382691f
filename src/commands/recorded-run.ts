/** The command that goes on with a batch, as its latest run was given it. */
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import { openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import { runArguments } from './command-arguments.ts';

/** What follows `nightrender run`; `others` is what follows other commands for the batch in `dir`. */
export function recordedRun(others: string, dir: string): string {
  const db = openCheckpointForReading(dir);
  try {
    return runArguments(others, db && readBatch(db)?.lists);
  } finally {
    db?.close();
  }
}
