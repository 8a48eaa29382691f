/** A batch that exists: read at any time, changed only while no run holds it. */
import { existsSync } from 'node:fs';
import { isBatch, lockBatch } from '../runner/checkpoint/batch-lock.ts';
import { checkpointFile, findLoss, LostCommits } from '../runner/checkpoint/find-loss.ts';
import {
  openCheckpointForMaintenance,
  openCheckpointForReading,
} from '../runner/checkpoint/open-checkpoint.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { shownPath, runArguments } from './shown-path.ts';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';

/** `prepare` comes before the checkpoint is opened, `after` when it is closed, with the lock still held. Throws `BatchHeld` where a run is at work, and `ConfigError` where there is no batch. */
export async function maintainBatch<Result>(
  dir: string,
  work: (db: Database) => Promise<Result> | Result,
  { prepare, after }: { prepare?: () => Promise<void>; after?: () => Promise<void> } = {},
): Promise<Result> {
  return whileLocked(dir, async () => {
    await prepare?.();
    const result = await maintainLocked(dir, work);
    await after?.();
    return result;
  });
}

async function maintainLocked<Result>(
  dir: string,
  work: (db: Database) => Promise<Result> | Result,
): Promise<Result> {
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
}

/** As above. */
export async function whileLocked<Result>(dir: string, work: () => Promise<Result>): Promise<Result> {
  // A folder that is no batch is not made one by its lock.
  if (!existsSync(checkpointFile(dir)) && !isBatch(dir)) throw noBatch(dir);
  const lock = await lockBatch(dir, Date.now(), stopFirst);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

export const stopFirst = 'Stop it first (Ctrl-C, or SIGTERM to its process), or wait for it to end.';

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

/** Another error where there was one, unless its loss is accepted. */
export function noBatch(dir: string, isLossAccepted = false): Error {
  const loss = findLoss(dir);
  if (loss !== undefined && !isLossAccepted) return new LostCommits(dir, loss);
  const text = isLossAccepted
    ? 'no job is on record here; check the service itself for jobs that still run'
    : 'there is no batch here yet; start one with `nightrender run`';
  return new NoBatch([{ where: shownPath(dir), text }]);
}

/** None has begun. */
export class NoBatch extends ConfigError {}

/** What follows `nightrender run`; `others` is what follows other commands for the batch in `dir`. */
export function recordedRun(others: string, dir: string): string {
  const db = openCheckpointForReading(dir);
  try {
    return runArguments(others, db && readBatch(db)?.lists);
  } finally {
    db?.close();
  }
}
