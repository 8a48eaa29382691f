/** Checks the saved pictures of a batch, puts back what is missing or damaged, and moves pictures and checkpoint. */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Bucket } from '../lib/s3/bucket.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import {
  assertSound,
  pictureRepair,
  repairCheckpoint,
  type RepairedCheckpoint,
} from '../runner/checkpoint/repair-checkpoint.ts';
import { countSaved, readSavedJobs, recordedReader } from '../runner/checkpoint/recorded-pictures.ts';
import { readReportKeys, type ReportKeys } from '../runner/config/schema-parts.ts';
import type { BadPicture, Verified } from '../runner/core/verification.ts';
import { isMarked } from '../runner/images/bucket-owner.ts';
import { bucketInspector } from '../runner/images/bucket-store.ts';
import { savedFiles } from '../runner/images/saved-files.ts';
import { sidecarEndings } from '../runner/images/sidecars.ts';
import { verifyBatch, type VerifyPorts } from '../runner/pipeline/verify-batch.ts';
import type { Batch } from './batch.ts';
import type { Book } from './book.ts';
import type { MovedCheckpoint } from './move.ts';
import { maintenanceOptions } from './output-files.ts';
import { bucketOf, finishMoves, shownImages } from './pictures-place.ts';
import { runArguments, shownPath } from './shown-path.ts';

export interface VerifyListener {
  /** Gets each picture that is missing or damaged, as soon as it is found. */
  onBad: (bad: BadPicture) => void;
  onProgress: (checked: number, total: number) => void;
  /** Ends the check early: the numbers are those of what was checked. */
  signal?: AbortSignal | undefined;
}

/** `isDeep`: true if pictures in a bucket are read and decoded. The batch is only read. */
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
  /** Arguments of the `nightrender run` that renders the scenes. */
  runArguments: string;
}

/** Repairs the checkpoint first: without it the pictures are unknown. */
export async function repairPictures(
  batch: Batch,
  isDeep: boolean,
  listener: RepairListener,
): Promise<RepairedBatch> {
  const { output } = readReportKeys(batch.parts);
  const work = (book: Book): Promise<Verified> =>
    book.withImages(maintenanceOptions(output), async (images, bucket) => {
      if (bucket === undefined) assertFolder(book.dir);
      else await assertMarked(bucket);
      const repair = pictureRepair(book.db);
      await finishMoves(images, repair);
      const { setAside } = images;
      const inspect = inspectorOf(book.dir, bucket, isDeep);
      return checkAll(inspect, book.db, listener, { setAside, putBack: repair.putBack });
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
  /** What the checkpoint was before is kept. */
  onCheckpointMoved: (moved: MovedCheckpoint) => void;
  /** Called if the pictures and the checkpoint are already where the file says. */
  onInPlace: () => void;
  /** The pictures are used in `to` from now on, and are still in `from`. */
  onMoved: (from: string, to: string) => void;
}

/**
 * Moves checkpoint and pictures to where the file puts them now. The pictures are checked; if one is not good, the batch
 * stays where it is. Undefined if only the checkpoint had to be moved.
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

/** The file of a run at work is checked by that run. */
function assertReadable(batch: Batch): Promise<void> {
  const { dir } = batch;
  return batch.onRecord(async (record) => {
    if (record.dir === dir && !record.isHeld()) assertSound(dir);
  });
}

function checkOnly(batch: Batch, isDeep: boolean, listener: VerifyListener): Promise<Verified> {
  return batch.read((book) =>
    book.withBucket((bucket) => checkAll(inspectorOf(book.dir, bucket, isDeep), book.db, listener)),
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
    const check = (copy: Inspect): Promise<Verified> => checkAll(copy, book.db, listener);
    const { beside = [] } = maintenanceOptions(output);
    const choice = { target: output.pictures, endings: sidecarEndings(beside) };
    const verified = await movePictures(book, choice, check);
    if (verified.good === verified.checked) listener.onMoved(from, to);
    return verified;
  });
}

/** A disk that is not mounted would have every picture rendered and paid again. */
function assertFolder(dir: string): void {
  const images = imagesOf(dir);
  if (existsSync(images)) return;
  const text =
    'there is no such folder; if it is on a disk of its own, mount it. If the pictures are really gone, create an empty folder here and repair again: every scene is then rendered and paid for again';
  throw new ConfigError([{ where: shownPath(images), text }]);
}

/** The same for a bucket. */
async function assertMarked(bucket: Bucket): Promise<void> {
  if (await isMarked(bucket)) return;
  const text =
    'no pictures of any batch are there: is this the right store (AWS_ENDPOINT_URL_S3)? Nothing was changed. If the pictures are really gone, put an empty object batch.json there and repair again: every scene is then rendered and paid for again';
  throw new ConfigError([{ where: bucket.name, text }]);
}

type Inspect = VerifyPorts['inspect'];

function inspectorOf(dir: string, bucket: Bucket | undefined, isDeep: boolean): Inspect {
  return bucket === undefined ? savedFiles(imagesOf(dir)).inspect : bucketInspector(bucket, isDeep);
}

function checkAll(
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
  // A bucket is waited for more than worked with.
  return verifyBatch(ports, bucketOf(db) === undefined ? availableParallelism() : 32);
}

/** What is in hand is finished, so that a repair leaves no job half put back. */
function* untilAborted<T>(items: Iterable<T>, signal: AbortSignal | undefined): Generator<T> {
  for (const item of items) {
    if (signal?.aborted === true) return;
    yield item;
  }
}

function imagesOf(dir: string): string {
  return join(dir, 'images');
}
