/** A batch on record in a database: read from a local copy, and changed while no run is at work on it. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import { BatchHeld } from '../runner/checkpoint/batch-lock.ts';
import { copiesFolder } from '../runner/checkpoint/copies-folder.ts';
import { changeBatch } from '../runner/checkpoint/postgres/change-batch.ts';
import { findSharedBatch, hasRunners } from '../runner/checkpoint/postgres/shared-batch.ts';
import type { BatchRecord } from './batch-record.ts';
import { noBatch, stopFirst } from './existing-batch.ts';

/** `dir` is the output folder. Of a batch that has not begun there is nothing to read. Throws what the database says. */
export async function openSharedRecord(dir: string, address: string): Promise<BatchRecord> {
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
