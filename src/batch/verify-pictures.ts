/** Checks the saved pictures of a batch, puts back missing or damaged ones, and moves pictures and checkpoint. */
import { availableParallelism } from 'node:os';
import type { Database } from '../lib/sqlite/database.ts';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import {
  assertSound,
  pictureRepair,
  repairCheckpoint,
  type RepairedCheckpoint,
} from '../runner/checkpoint/repair-checkpoint.ts';
import { countSaved, readSavedJobs, recordedReader } from '../runner/checkpoint/recorded-pictures.ts';
import { readReportKeys, type ReportKeys } from '../runner/config/schema-parts.ts';
import type { BadPicture, Verified } from '../runner/core/scene-record.ts';
import type { Place } from '../runner/images/place.ts';
import { inspector } from '../runner/images/saved-files.ts';
import { sidecarEndings } from '../runner/images/sidecars.ts';
import { finishMoves } from '../runner/pipeline/recover.ts';
import { verifyBatch, type VerifyPorts } from '../runner/pipeline/verify-batch.ts';
import type { Batch } from './batch.ts';
import type { Book } from './book.ts';
import type { MovedCheckpoint } from './move.ts';
import { bucketOf, maintenanceOptions, shownImages } from './pictures-place.ts';
import { runArguments } from './refusal.ts';

export interface VerifyListener {
  /** Called for each missing or damaged picture as soon as it is found. */
  onBad: (bad: BadPicture) => void;
  onProgress: (checked: number, total: number) => void;
  /** Ends the check early. The numbers then cover the pictures checked so far. */
  signal?: AbortSignal | undefined;
}

/** Checks the pictures without changing the batch. `isDeep`: true if pictures in a bucket are read and decoded. */
export async function verifyPictures(
  batch: Batch,
  isDeep: boolean,
  listener: VerifyListener,
): Promise<Verified> {
  await assertReadable(batch);
  return checkOnly(batch, isDeep, listener);
}

export interface RepairListener extends VerifyListener {
  onRepaired: (repaired: RepairedCheckpoint) => void;
}

export interface RepairedBatch {
  verified: Verified;
  runArguments: string;
}

/** Repairs the checkpoint first, because without it the pictures are unknown. */
export async function repairPictures(
  batch: Batch,
  isDeep: boolean,
  listener: RepairListener,
): Promise<RepairedBatch> {
  const { output } = readReportKeys(batch.parts);
  const work = (book: Book): Promise<Verified> =>
    book.withImages(maintenanceOptions(output), async (images, places) => {
      await places.assertBegun();
      const repair = pictureRepair(book.db);
      await finishMoves(repair, images);
      const { setAside } = images;
      const inspect = inspector(places.images, isDeep);
      return checkAll(places.images, inspect, book.db, listener, { setAside, putBack: repair.putBack });
    });
  return batch.upkeep(
    async (book) => ({
      verified: await work(book),
      runArguments: runArguments(batch.arguments, readBatch(book.db)?.lists),
    }),
    async () => {
      const repaired = await repairCheckpoint(batch.dir);
      if (repaired !== undefined) listener.onRepaired(repaired);
    },
  );
}

export interface MoveListener extends Omit<VerifyListener, 'signal'> {
  /** Called when the checkpoint was moved. The previous one is kept. */
  onCheckpointMoved: (moved: MovedCheckpoint) => void;
  /** Called if pictures and checkpoint are already where the file puts them. */
  onInPlace: () => void;
  /** Called when pictures in `to` are used from now on. They also stay in `from`. */
  onMoved: (from: string, to: string) => void;
}

/**
 * Moves checkpoint and checked pictures to the places in the file; none if one is bad. Undefined if only the
 * checkpoint had to be moved.
 */
export async function movePlaces(
  batch: Batch,
  isDeep: boolean,
  listener: MoveListener,
): Promise<Verified | undefined> {
  const moved = await batch.moveCheckpoint();
  if (moved !== undefined) listener.onCheckpointMoved(moved);
  await assertReadable(batch);
  const { output } = readReportKeys(batch.parts);
  const isThere = (await batch.read(({ db }) => bucketOf(db))) === output.pictures;
  if (!isThere) return moveAll(batch, output, listener);
  if (moved !== undefined) return undefined;
  listener.onInPlace();
  return checkOnly(batch, isDeep, listener);
}

/** Throws if the checkpoint is damaged. During a run, that run checks it. */
function assertReadable(batch: Batch): Promise<void> {
  const { dir } = batch;
  return batch.onRecord(async (record) => {
    if (record.dir === dir && !record.isInUse()) assertSound(dir);
  });
}

function checkOnly(batch: Batch, isDeep: boolean, listener: VerifyListener): Promise<Verified> {
  return batch.read((book) =>
    book.withPlaces(({ images }) => checkAll(images, inspector(images, isDeep), book.db, listener)),
  );
}

async function moveAll(
  batch: Batch,
  output: ReportKeys['output'],
  listener: MoveListener,
): Promise<Verified> {
  const { movePictures } = await import('./move.ts');
  return batch.upkeep(async (book) => {
    const [from, to] = [book.shownImages, shownImages(book.dir, output.pictures)];
    const check = (source: Place, copy: Inspect): Promise<Verified> =>
      checkAll(source, copy, book.db, listener);
    const { beside = [] } = maintenanceOptions(output);
    const choice = { target: output.pictures, endings: sidecarEndings(beside) };
    const verified = await movePictures(book, choice, check);
    if (verified.good === verified.checked) listener.onMoved(from, to);
    return verified;
  });
}

type Inspect = VerifyPorts['inspect'];

function checkAll(
  { isRemote }: Place,
  inspect: Inspect,
  db: Database,
  { onBad, onProgress, signal }: VerifyListener,
  repair?: VerifyPorts['repair'],
): Promise<Verified> {
  const total = countSaved(db);
  const ports: VerifyPorts = {
    jobs: () => untilAborted(readSavedJobs(db), signal),
    readAgain: recordedReader(db),
    inspect,
    repair,
    onBad,
    onProgress: (checked) => onProgress(checked, total),
  };
  // A bucket mostly waits for answers, so more checks run concurrently.
  return verifyBatch(ports, isRemote ? 32 : availableParallelism());
}

/** Stops between jobs, so that a repair leaves no job half put back. */
function* untilAborted<T>(items: Iterable<T>, signal: AbortSignal | undefined): Generator<T> {
  for (const item of items) {
    if (signal?.aborted === true) return;
    yield item;
  }
}
