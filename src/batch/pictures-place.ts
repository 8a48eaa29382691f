/** Where the pictures of a batch are, as its checkpoint has it: in the output folder, or in a bucket. */
import { join } from 'node:path';
import { AddressProblem, bucketAddress } from '../lib/s3/address.ts';
import { Bucket, type BucketOptions } from '../lib/s3/bucket.ts';
import { S3Error } from '../lib/s3/s3-error.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import type { PictureRepair } from '../runner/checkpoint/repair-checkpoint.ts';
import type { OpenCheckpoint } from '../runner/checkpoint/open-checkpoint.ts';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import { isRecorded } from '../runner/checkpoint/recorded-pictures.ts';
import { withBucketFailure } from '../runner/images/bucket-failure.ts';
import { BucketOwner, ownerWithoutRun } from '../runner/images/bucket-owner.ts';
import { createBucketStore, keyOf, picturesFolder } from '../runner/images/bucket-store.ts';
import { createImageStore, type PreparedImageStore } from '../runner/images/image-store.ts';
import type { CheckOptions } from '../runner/images/picture-checker.ts';
import type { PicturesLinks } from '../runner/report/result-json.ts';
import { shownPath } from './shown-path.ts';

/** `s3://bucket/folder/`; undefined for the output folder. */
export function bucketOf(db: Database): string | undefined {
  return readBatch(db)?.pictures?.url;
}

/** What opening the bucket of a batch takes besides its address. */
export interface BucketEdges {
  /** Has the key of the bucket. */
  env: NodeJS.ProcessEnv;
  /** Gets a sentence whenever the bucket does not answer and is asked again. */
  onTrouble: (text: string) => void;
}

/** As people read it, without a `/` at its end. */
export function shownImages(dir: string, bucket: string | undefined): string {
  return bucket === undefined ? `${shownPath(dir)}/images` : (bucket + picturesFolder).slice(0, -1);
}

/** Somebody waits; a run has a night. */
const patienceMs = 15_000;

/** Whoever opens a bucket says who hears that it does not answer. */
export type BucketTrouble = BucketOptions & { onTrouble: (text: string) => void };

/** `env` has its key; `onTrouble` is told whenever the bucket does not answer. Throws `ConfigError` if variables or the package are missing. */
export async function openBucket(
  url: string,
  env: NodeJS.ProcessEnv,
  options: BucketTrouble,
): Promise<Bucket> {
  try {
    return await Bucket.open(bucketAddress(url, env), { patienceMs, ...options });
  } catch (error) {
    if (!(error instanceof AddressProblem || error instanceof S3Error)) throw error;
    throw new ConfigError([{ where: url, text: error.message }]);
  }
}

/** Throws `ConfigError` if variables for a bucket are missing, before a long list is read. */
export async function assertBucketConfigured(url: string | undefined, env: NodeJS.ProcessEnv): Promise<void> {
  if (url === undefined) return;
  // Nothing is asked of the bucket.
  const bucket = await openBucket(url, env, { onTrouble: () => undefined });
  await bucket.close();
}

/** Throws `ConfigError` or `FatalFailure` if a run could not put its pictures there. */
export async function assertBucketUsable(
  { run, pictures }: Pick<OpenCheckpoint, 'run' | 'pictures'>,
  isAnyAccepted: boolean,
  env: NodeJS.ProcessEnv,
  onTrouble: (text: string) => void,
): Promise<void> {
  if (pictures === undefined) return;
  const bucket = await openBucket(pictures.url, env, { onTrouble });
  try {
    const owner = new BucketOwner(bucket, { batch: pictures.batch, run, isAnyAccepted });
    await withBucketFailure(() =>
      bucket.within(async () => {
        await bucket.probe();
        await owner.assertOurs(picturesFolder);
      }),
    );
  } finally {
    await bucket.close();
  }
}

/** Throws `ConfigError` where the pictures there are another batch's. */
export async function assertOwnBucket(bucket: Bucket, db: Database): Promise<void> {
  const batch = readBatch(db)?.pictures?.batch ?? '';
  await withBucketFailure(() => ownerWithoutRun(bucket, batch).assertOurs(picturesFolder));
}

/** Of a batch that comes from elsewhere the bucket names no run that its checkpoint does not know. */
export async function markMoved(db: Database, edges: BucketEdges): Promise<void> {
  const pictures = readBatch(db)?.pictures;
  await withBucketOf(db, edges, async (bucket) => {
    if (bucket === undefined || pictures === undefined) return;
    await assertOwnBucket(bucket, db);
    await withBucketFailure(() => ownerWithoutRun(bucket, pictures.batch).claim());
  });
}

/** For the gallery: to a bucket that may be read, or, for so long, to one that may not. */
export function linksTo(bucket: Bucket, signedMs?: number): PicturesLinks {
  const picturesAt = bucket.urlOf(picturesFolder);
  if (signedMs === undefined) return { picturesAt };
  return { picturesAt, sign: (file) => bucket.signedUrl(keyOf(file), Math.round(signedMs / 1000)) };
}

/** Undefined where the pictures are in the output folder. */
export async function withBucketOf<T>(
  db: Database,
  { env, onTrouble }: BucketEdges,
  work: (bucket: Bucket | undefined) => Promise<T>,
): Promise<T> {
  const url = bucketOf(db);
  if (url === undefined) return work(undefined);
  const bucket = await openBucket(url, env, { onTrouble });
  try {
    return await work(bucket);
  } finally {
    await bucket.close();
  }
}

/** Buckets with the pictures of other batches, opened where there is something to read. */
export class OtherBuckets {
  readonly #open: (url: string) => Promise<Bucket>;
  readonly #opened = new Map<string, Promise<Bucket>>();

  constructor(open: (url: string) => Promise<Bucket>) {
    this.#open = open;
  }

  /** `address`: `s3://bucket/key`; undefined where it is not there. Throws `FatalFailure`. */
  async read(address: string): Promise<Buffer | undefined> {
    const [, url = '', key = ''] = /^(s3:\/\/[^/]+\/)(.*)$/.exec(address) ?? [];
    const opened = this.#opened.get(url) ?? this.#open(url);
    this.#opened.set(url, opened);
    return withBucketFailure(async () => (await opened).get(key));
  }

  async close(): Promise<void> {
    for (const opened of this.#opened.values()) {
      // What could not be opened was told where it was to be read.
      const bucket = await opened.catch(() => undefined);
      await bucket?.close();
    }
  }
}

/** For work on pictures that are there; none is put. The bucket is undefined for those in a folder. */
export async function withImages<T>(
  { dir, db, edges }: { dir: string; db: Database; edges: BucketEdges },
  options: CheckOptions,
  work: (images: PreparedImageStore, bucket: Bucket | undefined) => Promise<T>,
): Promise<T> {
  const isPicture = async (file: string): Promise<boolean> => isRecorded(db, file);
  return withBucketOf(db, edges, (bucket) =>
    work(
      bucket === undefined
        ? createImageStore(join(dir, 'images'), { ...options, isPicture })
        : createBucketStore(bucket, options),
      bucket,
    ),
  );
}

/** As the next run would begin: after that, every picture has the name that is on record. */
export async function finishMoves(images: PreparedImageStore, repair: PictureRepair): Promise<void> {
  for (const move of repair.pendingMoves()) {
    await images.move(move.from, move.to);
    await repair.recordMoved(move);
  }
}
