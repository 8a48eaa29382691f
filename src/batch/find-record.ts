/** Finds the record of a batch: a checkpoint file in its output folder, or a shared checkpoint. Works on files here. */
import { existsSync } from 'node:fs';
import { program } from '../lib/files/package-file.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import { assertNotOwned, isBatch, isBatchInUse, lockBatch } from '../runner/checkpoint/batch-lock.ts';
import { checkpointFile } from '../runner/checkpoint/find-loss.ts';
import {
  openCheckpoint,
  type OpenCheckpoint,
  openCheckpointForMaintenance,
  openCheckpointForReading,
} from '../runner/checkpoint/open-checkpoint.ts';
import {
  assertPlace,
  type BatchRecord,
  type CancelRecord,
  noBatch,
  type OpenRecord,
  type RunRecord,
  type SharedAddress,
  stopFirst,
} from './record.ts';
import type { RunChoices } from './start-choices.ts';

/** Returns the record. `dir` is the output folder. */
export async function findRecord(dir: string, shared: SharedAddress): Promise<BatchRecord> {
  if (shared === undefined) return ownRecord(dir);
  // The database client is loaded only for batches that use it.
  const { sharedRecord } = await import('./shared-record.ts');
  return sharedRecord(dir, shared);
}

/** Opens the record of a batch to read it. Throws `ConfigError` if the batch has begun in another place. */
export async function openRecord(dir: string, shared: SharedAddress, isFresh = false): Promise<OpenRecord> {
  assertPlace(dir, shared?.where, isFresh);
  const record = await findRecord(dir, shared);
  return record.open();
}

/** Returns the record. `dir` is the output folder. */
function ownRecord(dir: string): BatchRecord {
  return {
    open: () => Promise.resolve(openOwn(dir)),
    openForRun: (choices) => openForRun(dir, choices),
    openForCancel: (isLossAccepted) => openForCancel(dir, isLossAccepted),
  };
}

function openOwn(dir: string): OpenRecord {
  return {
    dir,
    isInUse: () => isBatchInUse(dir),
    // The file itself is always up to date.
    refresh: () => Promise.resolve(),
    maintain: (work, prepare) => maintainBatch(dir, work, prepare && { prepare }),
    close: () => Promise.resolve(),
  };
}

async function openForRun(dir: string, { isFresh }: RunChoices): Promise<RunRecord> {
  const assertThere = (): void => assertPlace(dir, undefined, isFresh);
  assertThere();
  // A run that holds the batch is reported before the manifest is read. A new folder is created later.
  let lock = isBatch(dir) ? await lockBatch(dir, Date.now()) : undefined;
  return {
    dir,
    recordKind: lock && 'own',
    begin: async (request, scenes) => {
      lock ??= await lockBatch(dir, Date.now());
      // Reading the list may have taken a while.
      assertNotOwned(dir);
      // The previous holder of the lock may have moved the batch away, or its disk may be gone.
      assertThere();
      const { beginRun } = await import('./begin.ts');
      return beginRun(request, scenes);
    },
    close: () => Promise.resolve(lock?.release()),
  };
}

async function openForCancel(dir: string, isLossAccepted: boolean): Promise<CancelRecord> {
  assertPlace(dir, undefined);
  const lock = await lockKnown(dir);
  return {
    dir,
    begin: () => Promise.resolve(openKnown(dir, isLossAccepted)),
    close: () => Promise.resolve(lock.release()),
  };
}

function openKnown(dir: string, isLossAccepted: boolean): OpenCheckpoint {
  const db = openCheckpointForReading(dir);
  const batch = db && readBatch(db);
  db?.close();
  if (batch === undefined) throw noBatch(dir, isLossAccepted);
  return openCheckpoint(dir, program, batch, Date.now(), isLossAccepted);
}

/**
 * Holds the lock of the batch, and calls `prepare`, then `work` with the open checkpoint, then `after` with the
 * checkpoint closed. Throws like `OpenRecord.maintain`.
 */
export async function maintainBatch<Result>(
  dir: string,
  work: (db: Database) => Promise<Result> | Result,
  { prepare, after }: { prepare?: () => Promise<void>; after?: () => Promise<void> } = {},
): Promise<Result> {
  const lock = await lockKnown(dir);
  try {
    await prepare?.();
    const result = await maintainLocked(dir, work);
    await after?.();
    return result;
  } finally {
    lock.release();
  }
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
    // An invalid request changes nothing.
    isOrderly = thrown instanceof ConfigError;
    throw thrown;
  } finally {
    opened.close(isOrderly);
  }
}

/** Locks a batch that exists. Creating the lock alone would make the folder look like a batch. */
async function lockKnown(dir: string) {
  if (!existsSync(checkpointFile(dir)) && !isBatch(dir)) throw noBatch(dir);
  return lockBatch(dir, Date.now(), stopFirst);
}
