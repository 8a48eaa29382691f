/** Where a batch is on record: a file in its folder that one run holds, or a database that any number of runs share. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../lib/sqlite/database.ts';
import { BatchHeld, isBatchHeld } from '../runner/checkpoint/batch-lock.ts';
import { copiesFolder } from '../runner/checkpoint/copies-folder.ts';
import type { Config } from '../runner/config/config.ts';
import { assertPlace } from './known-batch.ts';
import { maintainBatch, noBatch, stopFirst } from './existing-batch.ts';

export interface BatchRecord {
  /** Where it can be read as `checkpoint.sqlite`, as of the latest `refresh`. */
  dir: string;
  /** Whether a run is at work on it, as of the same moment. */
  isHeld(): boolean;
  refresh(): Promise<void>;
  /** As `maintainBatch`. */
  maintain<Result>(
    work: (db: Database) => Promise<Result> | Result,
    prepare?: () => Promise<void>,
  ): Promise<Result>;
  close(): Promise<void>;
}

/** In a file: nothing has to be brought up to date. */
function ownRecord(dir: string): BatchRecord {
  return {
    dir,
    isHeld: () => isBatchHeld(dir),
    refresh: () => Promise.resolve(),
    maintain: (work, prepare) => maintainBatch(dir, work, prepare && { prepare }),
    close: () => Promise.resolve(),
  };
}

/** What `checkpoint` says, and where it stands; undefined where the batch has its own. */
export type SharedAddress = { address: string; where: string } | undefined;

export function sharedAddressOf({ checkpoint, placeOf }: Config): SharedAddress {
  return checkpoint === undefined ? undefined : { address: checkpoint, where: placeOf(['checkpoint']) };
}

/** `dir` is the output folder. Throws `ConfigError` where the batch has begun in another place. */
export async function openRecord(dir: string, shared: SharedAddress, isFresh = false): Promise<BatchRecord> {
  assertPlace(dir, shared?.where, isFresh);
  if (shared === undefined) return ownRecord(dir);
  return openSharedRecord(dir, shared.address);
}

/** `dir` is the output folder. Of a batch that has not begun there is nothing to read. Throws what the database says. */
async function openSharedRecord(dir: string, address: string): Promise<BatchRecord> {
  // What speaks to databases is loaded where there is one.
  const { findSharedBatch, hasRunners } = await import('../runner/checkpoint/postgres/shared-batch.ts');
  const { changeBatch } = await import('../runner/checkpoint/postgres/change-batch.ts');
  const found = await findSharedBatch(address, dir, false);
  if (found === undefined) return nothing(dir);
  const { db, schema, replica } = found;
  let isHeld = await hasRunners(found);
  return {
    dir: replica.dir,
    isHeld: () => isHeld,
    refresh: async () => {
      await replica.pull();
      isHeld = await hasRunners(found);
    },
    maintain: async (work) => {
      if (await hasRunners(found)) throw new BatchHeld(undefined, stopFirst);
      return changeBatch(db, schema, replica, work);
    },
    close: () => found.close(),
  };
}

function nothing(dir: string): BatchRecord {
  return {
    dir: join(copiesFolder(dir), hostname()),
    isHeld: () => false,
    refresh: () => Promise.resolve(),
    maintain: () => Promise.reject(noBatch(dir)),
    close: () => Promise.resolve(),
  };
}
