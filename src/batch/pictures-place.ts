/** Opens the places of a batch's pictures, in the output folder or in a bucket, and names the files beside them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { program } from '../lib/files/package-file.ts';
import { AddressProblem, bucketAddress } from '../lib/s3/bucket-address.ts';
import { Bucket, type BucketOptions } from '../lib/s3/bucket.ts';
import { S3Error } from '../lib/s3/s3-requests.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { proxyFor, type ProxyRules } from '../lib/net/addresses.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { type PicturesInBucket, readBatch } from '../runner/checkpoint/batch-identity.ts';
import type { OpenCheckpoint } from '../runner/checkpoint/open-checkpoint.ts';
import type { Config } from '../runner/config/config.ts';
import { newestRules, type RulesVersion } from '../runner/core/scene.ts';
import { bucketPlace } from '../runner/images/bucket-place.ts';
import { folderPlace } from '../runner/images/folder-place.ts';
import type { CheckOptions } from '../runner/images/image-store.ts';
import {
  claimed,
  type ClaimedPlace,
  claimFile,
  ownerWithoutRun,
  type PictureOwner,
  type Place,
} from '../runner/images/place.ts';
import { copyMaker, type SidecarMaker, sidecarMaker } from '../runner/images/sidecars.ts';
import type { PicturesLinks } from '../runner/report/result-columns.ts';
import { shownPath } from './refusal.ts';

const picturesFolder = 'images/';

/** Returns `s3://bucket/folder/`, or undefined for the output folder. */
export function bucketOf(db: Database): string | undefined {
  return readBatch(db)?.pictures?.url;
}

/** Returns the bucket as it is recorded, claimed by the id `batch`; undefined for the output folder. */
export function picturesBucket(url: string | undefined, batch: string): PicturesInBucket | undefined {
  return url === undefined ? undefined : { url, batch };
}

/** Requirements for opening a bucket besides its URL. */
export interface BucketEdges {
  /** Contains the key of the bucket. */
  env: NodeJS.ProcessEnv;
  proxies: ProxyRules;
  /** Called with a sentence when the bucket does not answer and is asked again. */
  onTrouble: (text: string) => void;
}

/** Returns the location of the pictures, with a `/` at its end. */
export function locationOf(dir: string, url: string | undefined): string {
  return (url ?? `${dir}/`) + picturesFolder;
}

/** Returns the folder of the pictures; undefined if the configuration puts them into a bucket. */
export function imagesFolder({ output }: Pick<Config, 'output'>): string | undefined {
  return output.pictures === undefined ? join(output.dir, 'images') : undefined;
}

/** Returns the location as shown to people, without a `/` at its end. */
export function shownImages(dir: string, url: string | undefined): string {
  return locationOf(shownPath(dir), url).slice(0, -1);
}

export interface BatchPlaces {
  /** Finished pictures, and the files next to them. */
  images: Place;
  /** Copy of the report for people who see a bucket; undefined if the report is next to the pictures. */
  reportCopy: Place | undefined;
  /** Returns `images` as claimed by an owner. Pictures in the output folder need no claim. */
  claimedBy(owner: PictureOwner): ClaimedPlace;
  /** Throws `ConfigError` if the place never had pictures: its disk may not be mounted. */
  assertBegun(): Promise<void>;
  close(): Promise<void>;
}

interface PlaceToOpen {
  dir: string;
  /** URL of the bucket. Undefined for the output folder. */
  url: string | undefined;
  env: NodeJS.ProcessEnv;
  bucket: BucketTrouble;
  /** True if other runs write to the place at the same time. */
  isShared?: boolean;
}

/** Opens the place of the pictures, for all commands. Throws `ConfigError` if variables for a bucket are missing. */
export async function openPlaces({ dir, url, env, bucket, isShared }: PlaceToOpen): Promise<BatchPlaces> {
  if (url === undefined) return folderPlaces(dir, isShared);
  return bucketPlaces(await openBucket(url, env, bucket));
}

function folderPlaces(dir: string, isShared: boolean | undefined): BatchPlaces {
  const images = folderPlace(join(dir, 'images'), isShared);
  const assertBegun = async (): Promise<void> => {
    if (existsSync(images.name)) return;
    const text =
      'there is no such folder; if it is on another disk, mount it. If the files are really gone, create an empty folder here and repair again: every scene is then rendered and paid for again';
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
      'the bucket has no files of any batch: is this the right store (AWS_ENDPOINT_URL_S3)? Nothing was changed. If the files are really gone, put an empty object batch.json there and repair again: every scene is then rendered and paid for again';
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

/** Passes the places of a recorded batch. */
export async function withPlaces<T>(
  { dir, db, edges: { env, ...bucket } }: { dir: string; db: Database; edges: BucketEdges },
  work: (places: BatchPlaces) => Promise<T>,
): Promise<T> {
  const places = await openPlaces({ dir, url: bucketOf(db), env, bucket });
  try {
    return await work(places);
  } finally {
    await places.close();
  }
}

/** Shorter than in a run, because the user is waiting. */
const patienceMs = 15_000;

/** Options for opening a bucket. The caller decides who is told that it does not answer. */
export type BucketTrouble = BucketOptions & Omit<BucketEdges, 'env'>;

/** Opens the bucket with the key in `env`. Throws `ConfigError` if variables or the package are missing. */
export async function openBucket(
  url: string,
  env: NodeJS.ProcessEnv,
  options: BucketTrouble,
): Promise<Bucket> {
  try {
    const address = bucketAddress(url, env);
    // A run that cannot reach its bucket should not begin.
    proxyFor(new URL(address.url), options.proxies);
    return await Bucket.open(address, { patienceMs, ...options });
  } catch (error) {
    if (!(error instanceof AddressProblem || error instanceof S3Error)) throw error;
    throw new ConfigError([{ where: url, text: error.message }]);
  }
}

/** Throws `ConfigError` if variables for a bucket are missing, before a long list is read. */
export async function assertBucketConfigured(
  url: string | undefined,
  { env, proxies }: Pick<Config, 'env' | 'proxies'>,
): Promise<void> {
  if (url === undefined) return;
  // No request is sent to the bucket.
  const bucket = await openBucket(url, env, { proxies, onTrouble: () => undefined });
  await bucket.close();
}

/** Throws `ConfigError` or `FatalFailure` if a run could not save its pictures in this place. */
export async function assertPlaceUsable(
  dir: string,
  { run, pictures }: Pick<OpenCheckpoint, 'run' | 'pictures'>,
  owner: Pick<PictureOwner, 'isAnyAccepted' | 'assertNew'>,
  { env, ...bucket }: BucketEdges,
): Promise<void> {
  const places = await openPlaces({ dir, url: pictures?.url, env, bucket });
  try {
    const images = places.claimedBy({ batch: pictures?.batch ?? '', run, ...owner });
    await images.probe(() => images.assertOurs());
  } finally {
    await places.close();
  }
}

/** Returns the pictures as claimed by the batch. Throws `ConfigError` if they belong to another batch. */
export async function ownImages(places: BatchPlaces, db: Database): Promise<ClaimedPlace> {
  const images = places.claimedBy(ownerWithoutRun(readBatch(db)?.pictures?.batch ?? ''));
  await images.assertOurs();
  return images;
}

/** Returns links for the gallery, signed for `signedMs`; undefined if pictures are next to it. */
export function linksTo({ links }: Place, signedMs?: number): PicturesLinks | undefined {
  if (links === undefined) return undefined;
  const picturesAt = links.at;
  return signedMs === undefined ? { picturesAt } : { picturesAt, sign: (file) => links.sign(file, signedMs) };
}

type Output = Pick<Config['output'], 'formats' | 'metadata' | 'keep' | 'media'>;

/** Returns options for saving: files beside each picture. `warn`: once for each kind that cannot be made. */
export function outputFiles(
  output: Output,
  rules: RulesVersion,
  warn: (text: string) => void,
): Pick<CheckOptions, 'embedsAs' | 'beside' | 'isOriginalKept' | 'isOfClips' | 'onSignatureLost'> {
  const { metadata, keep, media } = output;
  const writer = { program, rules };
  return {
    embedsAs: metadata === 'embed' ? writer : undefined,
    beside: [...(metadata === 'none' ? [] : [sidecarMaker(writer, metadata)]), ...copyMakers(output, warn)],
    isOriginalKept: keep === 'original',
    isOfClips: media !== undefined,
    onSignatureLost: once(() => warn(signatureLost)),
  };
}

/** Returns options for existing pictures: nothing is created, and their sidecars move with them. */
export function maintenanceOptions(output: Output): CheckOptions {
  return outputFiles(output, newestRules, () => undefined);
}

const signatureLost =
  'some pictures are signed (Content Credentials, C2PA) and lose the signature in the conversion to PNG: `output.keep: original` keeps it';

function once(say: () => void): () => void {
  let isSaid = false;
  return () => {
    if (!isSaid) say();
    isSaid = true;
  };
}

export function copyMakers(
  { formats }: Pick<Output, 'formats'>,
  warn: (text: string) => void,
): SidecarMaker[] {
  const reported = new Set<string>();
  const onLacking = (ending: string, why: string): void => {
    if (reported.has(ending)) return;
    reported.add(ending);
    warn(`no ${ending} could be created for some picture (${why}); the picture itself is not affected`);
  };
  return formats.map((copy) => copyMaker(copy, onLacking));
}
