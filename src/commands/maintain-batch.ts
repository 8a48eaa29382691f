/** Changes to a batch between its runs: under the lock, so that no run is at work meanwhile. */
import { existsSync } from 'node:fs';
import { isBatch, lockBatch } from '../runner/checkpoint/batch-lock.ts';
import { checkpointFile } from '../runner/checkpoint/find-loss.ts';
import { openCheckpointForMaintenance } from '../runner/checkpoint/open-checkpoint.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { noBatch } from './no-batch.ts';

/** `prepare` comes before the checkpoint is opened. Throws `BatchHeld` where a run is at work, and `ConfigError` where there is no batch. */
export async function maintainBatch<Result>(
  dir: string,
  work: (db: Database) => Promise<Result> | Result,
  prepare?: () => Promise<void>,
): Promise<Result> {
  return whileLocked(dir, async () => {
    await prepare?.();
    const opened = openCheckpointForMaintenance(dir);
    if (opened === undefined) throw noBatch(dir);
    let isOrderly = false;
    try {
      const result = await work(opened.db);
      isOrderly = true;
      return result;
    } catch (thrown) {
      // What is asked for wrongly changes nothing.
      isOrderly = thrown instanceof ConfigError;
      throw thrown;
    } finally {
      opened.close(isOrderly);
    }
  });
}

/** As above. */
export async function whileLocked<Result>(dir: string, work: () => Promise<Result>): Promise<Result> {
  // A folder that is no batch is not made one by its lock.
  if (!existsSync(checkpointFile(dir)) && !isBatch(dir)) throw noBatch(dir);
  const lock = await lockBatch(dir, Date.now(), advice);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

const advice = 'Stop it first (Ctrl-C where it runs, or SIGTERM to its process), or wait for its end.';
