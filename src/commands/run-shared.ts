/** A run on a batch that any number of runs share: it joins in, and nobody is kept out. */
import { hostname } from 'node:os';
import type { Config } from '../runner/config/config.ts';
import {
  findSharedBatch,
  hasRunners,
  joinBatch,
  type SharedBatch,
} from '../runner/checkpoint/postgres/shared-batch.ts';
import { BatchHeld } from '../runner/checkpoint/batch-lock.ts';
import { readJobsInFlight, type OpenCheckpoint } from '../runner/checkpoint/open-checkpoint.ts';
import { assertPlace } from './known-batch.ts';
import { batchSettings } from './batch-settings.ts';
import { assertPicturesKnown, identityOf, keepIfAnew, type BegunRun } from './begin-batch.ts';
import { assertCollectable } from './connections.ts';
import { noBatch, stopFirst } from './existing-batch.ts';
import type { ReadScenes } from '../runner/list/read-scenes.ts';
import { readUnlessStopped } from './batch-lists.ts';
import type { NotifiedCall, RunEnded } from './run-call.ts';
import { runLocked } from './run-locked.ts';
import { systemClock } from './system-clock.ts';
import { program } from '../lib/files/program.ts';

/** `address`: of the database. */
export async function runShared(call: NotifiedCall, address: string): Promise<RunEnded> {
  const { config, choices, stop } = call;
  const { dir } = config.output;
  const sharedAt = config.placeOf(['checkpoint']);
  assertPlace(dir, sharedAt, choices.isFresh);
  const shared = await findSharedBatch(address, dir, true);
  if (shared === undefined) throw new Error(`no batch was made for ${hostname()}`);
  let scenes: ReadScenes | undefined;
  try {
    const { isAdopting } = choices;
    const batch = { dir: shared.replica.dir, known: 'shared', isAdopting } as const;
    scenes = await readUnlessStopped(config, batch, stop);
    return await runLocked(call, scenes, () => beginShared(call, scenes, shared));
  } finally {
    scenes?.stage.close();
    await shared.close();
  }
}

/** What every run has in flight is cancelled by one that is alone. Throws where there is no batch, or others are at work. */
export async function joinToCancel(
  config: Config,
  address: string,
  work: (recordDir: string, open: () => Promise<OpenCheckpoint>) => Promise<number>,
): Promise<number> {
  const { dir } = config.output;
  const shared = await findSharedBatch(address, dir, false);
  if (shared === undefined) throw noBatch(dir);
  try {
    if (await hasRunners(shared)) throw new BatchHeld(undefined, stopFirst);
    const { pricing } = config;
    const joining = { program, batch: undefined, limits: {}, pricing, clock: systemClock };
    return await work(shared.replica.dir, () => joinBatch(shared, joining));
  } finally {
    await shared.close();
  }
}

async function beginShared(
  { file, config, choices }: NotifiedCall,
  scenes: ReadScenes | undefined,
  shared: SharedBatch,
): Promise<BegunRun> {
  const { dir } = shared.replica;
  assertPicturesKnown(file, config, choices, dir, dir);
  const inFlight = readJobsInFlight(dir);
  assertCollectable(file, config, inFlight);
  const { limits } = batchSettings(config, systemClock.now(), 'id');
  const opened = await joinBatch(shared, {
    program,
    batch: scenes && identityOf(file, config, scenes, choices, dir),
    limits,
    pricing: config.pricing,
    clock: systemClock,
  });
  return { opened, inFlight, kept: await keepIfAnew(config, choices, dir) };
}
