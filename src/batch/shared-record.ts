/** The record of a batch in a database, which any number of runs can join. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import { program } from '../lib/files/package-file.ts';
import { BatchInUse } from '../runner/checkpoint/batch-lock.ts';
import { copiesFolder } from '../runner/checkpoint/find-loss.ts';
import { changeBatch } from '../runner/checkpoint/postgres/replica.ts';
import {
  findSharedBatch,
  hasRunners,
  joinBatch,
  type SharedBatch,
} from '../runner/checkpoint/postgres/shared-batch.ts';
import { pricingOf } from '../runner/core/spending.ts';
import type { ReadScenes } from '../runner/list/read-scenes.ts';
import type { RunChoices } from './start-choices.ts';
import {
  assertPlace,
  noBatch,
  stopFirst,
  type BatchRecord,
  type BegunRun,
  type CancelRecord,
  type OpenRecord,
  type RunRecord,
  type RunRequest,
  type SharedAddress,
} from './record.ts';
import { systemClock } from './system-clock.ts';

/** Returns the record. `dir` is the output folder. */
export function sharedRecord(dir: string, { address, where }: NonNullable<SharedAddress>): BatchRecord {
  return {
    open: () => openShared(dir, address),
    openForRun: (choices) => openForRun(dir, address, where, choices),
    openForCancel: () => openForCancel(dir, address, where),
  };
}

async function openShared(dir: string, address: string): Promise<OpenRecord> {
  const found = await findSharedBatch(address, dir, false);
  if (found === undefined) return emptyRecord(dir);
  const { db, schema, replica } = found;
  let isInUse = await hasRunners(found);
  return {
    dir: replica.dir,
    isInUse: () => isInUse,
    refresh: async () => {
      await replica.pull();
      isInUse = await hasRunners(found);
    },
    maintain: async (work) => {
      if (await hasRunners(found)) throw new BatchInUse(undefined, stopFirst);
      return changeBatch(db, schema, replica, work);
    },
    close: () => found.close(),
  };
}

/** Returns the record of a batch that has not begun, which contains nothing. */
function emptyRecord(dir: string): OpenRecord {
  return {
    dir: join(copiesFolder(dir), hostname()),
    isInUse: () => false,
    refresh: () => Promise.resolve(),
    maintain: () => Promise.reject(noBatch(dir)),
    close: () => Promise.resolve(),
  };
}

async function openForRun(
  dir: string,
  address: string,
  sharedAt: string,
  { isFresh }: RunChoices,
): Promise<RunRecord> {
  assertPlace(dir, sharedAt, isFresh);
  const shared = await findSharedBatch(address, dir, true);
  if (shared === undefined) throw new Error(`no batch has begun for ${hostname()}`);
  return {
    dir: shared.replica.dir,
    recordKind: 'shared',
    begin: (request, scenes) => beginShared(request, scenes, shared),
    close: () => shared.close(),
  };
}

async function beginShared(
  { file, config, choices }: RunRequest,
  scenes: ReadScenes | undefined,
  shared: SharedBatch,
): Promise<BegunRun> {
  const { dir } = shared.replica;
  const { checkStart, setAsideIfFresh } = await import('./begin.ts');
  const { batch, inFlight } = await checkStart({ file, config, choices }, scenes, dir);
  const opened = await joinBatch(shared, {
    program,
    batch,
    limits: config.limits,
    pricing: pricingOf(config),
    clock: systemClock,
  });
  return { opened, inFlight, kept: await setAsideIfFresh(config, choices, dir) };
}

/** Opens the record to cancel the jobs of all runs. Throws if any run is at work. */
async function openForCancel(dir: string, address: string, sharedAt: string): Promise<CancelRecord> {
  assertPlace(dir, sharedAt);
  const shared = await findSharedBatch(address, dir, false);
  if (shared === undefined) throw noBatch(dir);
  try {
    if (await hasRunners(shared)) throw new BatchInUse(undefined, stopFirst);
  } catch (error) {
    await shared.close();
    throw error;
  }
  return {
    dir: shared.replica.dir,
    begin: (config) =>
      joinBatch(shared, {
        program,
        batch: undefined,
        limits: {},
        pricing: pricingOf(config),
        clock: systemClock,
      }),
    close: () => shared.close(),
  };
}
