/** Looks at a batch, whether a run is at work on it or not. */
import { openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { noBatch } from './no-batch.ts';

/** Throws `ConfigError` where there is no batch. */
export async function lookAtBatch<Result>(
  dir: string,
  work: (db: Database) => Promise<Result> | Result,
): Promise<Result> {
  const db = openCheckpointForReading(dir);
  if (db === undefined) throw noBatch(dir);
  try {
    return await work(db);
  } finally {
    db.close();
  }
}
