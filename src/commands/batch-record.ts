/** Where a batch is on record: a file in its folder that one run holds, or a database that any number of runs share. */
import type { Database } from '../lib/sqlite/database.ts';
import { isBatchHeld } from '../runner/checkpoint/batch-lock.ts';
import type { Config } from '../runner/config/config.ts';
import { assertPlace } from './known-batch.ts';
import { maintainBatch } from './existing-batch.ts';

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
export function ownRecord(dir: string): BatchRecord {
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
  // What speaks to databases is loaded where there is one.
  const { openSharedRecord } = await import('./shared-record.ts');
  return openSharedRecord(dir, shared.address);
}
