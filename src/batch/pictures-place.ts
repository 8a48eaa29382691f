/** Where the pictures of a batch are, as its checkpoint has it: in the output folder, or in a bucket. Nobody else asks which. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AddressProblem, bucketAddress } from '../lib/s3/address.ts';
import { Bucket, type BucketOptions } from '../lib/s3/bucket.ts';
import { S3Error } from '../lib/s3/s3-error.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import type { PictureRepair } from '../runner/checkpoint/repair-checkpoint.ts';
import type { OpenCheckpoint } from '../runner/checkpoint/open-checkpoint.ts';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import { bucketPlace } from '../runner/images/bucket-place.ts';
import {
  claimed,
  claimFile,
  ownerWithoutRun,
  type ClaimedPlace,
  type PictureOwner,
} from '../runner/images/claimed-place.ts';
import { folderPlace } from '../runner/images/folder-place.ts';
import type { PreparedImageStore } from '../runner/images/image-store.ts';
import type { Place } from '../runner/images/place.ts';
import type { PicturesLinks } from '../runner/report/result-json.ts';
import { shownPath } from './shown-path.ts';

export const picturesFolder = 'images/';

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

/** Returns the folder of pictures as people read it, without a `/` at its end. */
export function shownImages(dir: string, url: string | undefined): string {
  return url === undefined ? `${shownPath(dir)}/images` : (url + picturesFolder).slice(0, -1);
}

/** The places of a batch. */
export interface BatchPlaces {
  /** Finished pictures, and the files beside them. */
  images: Place;
  /** Copy of the report, for those who see the pictures elsewhere. Undefined if they are beside the report itself. */
  reportCopy: Place | undefined;
  /** Returns `images` claimed by an owner. Pictures in the output folder are their batch's anyway. */
  claimedBy(owner: PictureOwner): ClaimedPlace;
  /** Throws `ConfigError` if no picture of any batch was ever put there, as in a disk that is not mounted or the wrong store. */
  assertBegun(): Promise<void>;
  close(): Promise<void>;
}

interface PlaceToOpen {
  /** The output folder. */
  dir: string;
  /** Of the bucket; undefined for the output folder. */
  url: string | undefined;
  env: NodeJS.ProcessEnv;
  bucket: BucketTrouble;
  /** True if other runs write to it at the same time. */
  isShared?: boolean;
}

/** Opens the place of the pictures; every command does it here. Throws `ConfigError` if variables for a bucket are missing. */
export async function openPlaces({ dir, url, env, bucket, isShared }: PlaceToOpen): Promise<BatchPlaces> {
  if (url === undefined) return folderPlaces(dir, isShared);
  return bucketPlaces(await openBucket(url, env, bucket));
}

function folderPlaces(dir: string, isShared: boolean | undefined): BatchPlaces {
  const images = folderPlace(join(dir, 'images'), isShared);
  const assertBegun = async (): Promise<void> => {
    if (existsSync(images.name)) return;
    const text =
      'there is no such folder; if it is on a disk of its own, mount it. If the pictures are really gone, create an empty folder here and repair again: every scene is then rendered and paid for again';
    throw new ConfigError([{ where: shownPath(images.name), text }]);
  };
  const nothing = async (): Promise<void> => undefined;
  return {
    images,
    reportCopy: undefined,
    claimedBy: () => ({ ...images, assertOurs: nothing, claim: nothing }),
    assertBegun,
    close: nothing,
  };
}

function bucketPlaces(bucket: Bucket): BatchPlaces {
  const images = bucketPlace(bucket, picturesFolder);
  const claims = bucketPlace(bucket);
  const assertBegun = async (): Promise<void> => {
    if ((await claims.facts(claimFile)) !== undefined) return;
    const text =
      'no pictures of any batch are there: is this the right store (AWS_ENDPOINT_URL_S3)? Nothing was changed. If the pictures are really gone, put an empty object batch.json there and repair again: every scene is then rendered and paid for again';
    throw new ConfigError([{ where: bucket.name, text }]);
  };
  return {
    images,
    reportCopy: bucketPlace(bucket, 'report/'),
    claimedBy: (owner) => claimed(images, claims, owner),
    assertBegun,
    close: () => bucket.close(),
  };
}

/** Passes the places of a batch that is on record. */
export async function withPlaces<T>(
  { dir, db, edges: { env, onTrouble } }: { dir: string; db: Database; edges: BucketEdges },
  work: (places: BatchPlaces) => Promise<T>,
): Promise<T> {
  const places = await openPlaces({ dir, url: bucketOf(db), env, bucket: { onTrouble } });
  try {
    return await work(places);
  } finally {
    await places.close();
  }
}

/** Somebody waits; a run has a night. */
const patienceMs = 15_000;

/** Whoever opens a bucket says who hears that it does not answer. */
export type BucketTrouble = BucketOptions & { onTrouble: (text: string) => void };

/** `env` has its key. Throws `ConfigError` if variables or the package are missing. */
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
export async function assertPlaceUsable(
  dir: string,
  { run, pictures }: Pick<OpenCheckpoint, 'run' | 'pictures'>,
  isAnyAccepted: boolean,
  { env, onTrouble }: BucketEdges,
): Promise<void> {
  const places = await openPlaces({ dir, url: pictures?.url, env, bucket: { onTrouble } });
  try {
    const images = places.claimedBy({ batch: pictures?.batch ?? '', run, isAnyAccepted });
    await images.probe(() => images.assertOurs());
  } finally {
    await places.close();
  }
}

/** Returns the pictures, claimed by the batch as such. Throws `ConfigError` if those that are there are another batch's. */
export async function ownImages(places: BatchPlaces, db: Database): Promise<ClaimedPlace> {
  const images = places.claimedBy(ownerWithoutRun(readBatch(db)?.pictures?.batch ?? ''));
  await images.assertOurs();
  return images;
}

/** Claims the place for a batch that comes from elsewhere, so that it names no run that the checkpoint does not know. */
export async function markMoved(dir: string, db: Database, edges: BucketEdges): Promise<void> {
  await withPlaces({ dir, db, edges }, async (places) => (await ownImages(places, db)).claim());
}

/** Returns links of the gallery: to pictures that may be read, or, for so long, to ones that may not. Undefined if it shows files beside it. */
export function linksTo({ links }: Place, signedMs?: number): PicturesLinks | undefined {
  if (links === undefined) return undefined;
  const picturesAt = links.at;
  return signedMs === undefined ? { picturesAt } : { picturesAt, sign: (file) => links.sign(file, signedMs) };
}

/** Renames as the next run would begin: after that, every picture has the name that is on record. */
export async function finishMoves(images: PreparedImageStore, repair: PictureRepair): Promise<void> {
  for (const move of repair.pendingMoves()) {
    await images.move(move.from, move.to);
    await repair.recordMoved(move);
  }
}
