/** Makes the copies and thumbnails that saved pictures lack, from the pictures on disk. */
import { resolve } from 'node:path';
import { statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import pLimit from 'p-limit';
import type { Bucket } from '../../lib/s3/bucket.ts';
import { sidecarPath } from '../core/picture-copy.ts';
import { thumbnailOf } from '../core/picture.ts';
import type { RecordedPicture } from '../core/verification.ts';
import { makeSidecars, sidecarsOf, type SidecarMaker } from './sidecars.ts';
import { checksAtOnce } from './picture-checker.ts';
import { withBucketFailure } from './bucket-failure.ts';
import { keyOf, picturesFolder, reportFolder, typeOf } from './bucket-store.ts';
import { picturesInBucket, picturesInFolder, type PictureFiles } from './picture-files.ts';
import { pathWithin } from './saved-files.ts';
import { pictureToDraw } from './check-picture.ts';
import { thumbnailFiles, triedThumbnail } from './thumbnail.ts';

/** Pictures that are about to be renamed are left alone. As `makeMissing`; throws `FatalFailure` where one is not taken. */
export function makeMissingCopies(
  files: CopyFiles,
  makers: SidecarMaker[],
  pictures: Iterable<RecordedPicture>,
  signal: AbortSignal,
  onProgress: (made: number) => void,
): Promise<Made> {
  const find = (picture: RecordedPicture): (() => Promise<boolean>) | undefined => {
    if (picture.moveTo !== null) return undefined;
    const missing = files.lacking(picture.file, makers);
    return missing.length === 0 ? undefined : () => makeCopies(files, picture, missing);
  };
  return makeMissing(pictures, find, signal, onProgress);
}

/** Where pictures are, and the copies beside them. */
export interface CopyFiles extends Pick<PictureFiles, 'read' | 'put'> {
  /** Those of the makers whose copy of the picture is not there. */
  lacking(file: string, makers: SidecarMaker[]): SidecarMaker[];
}

/** In the images folder `root`. As many pictures have all their copies, this waits for no other thread. */
export function copiesInFolder(root: string): CopyFiles {
  return {
    ...picturesInFolder(root),
    lacking: (file, makers) => {
      const path = pathWithin(resolve(root), file);
      const since = writtenAt(path) ?? 0;
      // An older one is of a picture that had this name before (`missingSidecars`).
      return sidecarsOf(makers, file).filter(
        ({ ending }) => (writtenAt(sidecarPath(path, ending)) ?? -1) < since,
      );
    },
  };
}

/** In a bucket, where no two pictures ever have one name. */
export async function copiesInBucket(bucket: Bucket): Promise<CopyFiles> {
  const there = new Set<string>();
  await withBucketFailure(async () => {
    for await (const { key } of bucket.list(picturesFolder)) if (!key.endsWith('.png')) there.add(key);
  });
  return {
    ...picturesInBucket(bucket),
    lacking: (file, makers) =>
      sidecarsOf(makers, file).filter(({ ending }) => !there.has(keyOf(sidecarPath(file, ending)))),
  };
}

/** Undefined where there is no such file. */
function writtenAt(path: string): number | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true ? stats.mtimeMs : undefined;
}

async function makeCopies(
  files: CopyFiles,
  picture: RecordedPicture,
  missing: SidecarMaker[],
): Promise<boolean> {
  const content = await readSaved(files, picture.file, picture.sha256);
  if (content === undefined) return false;
  const made = await makeSidecars(missing, { ...picture, content }, undefined);
  for (const { ending, bytes } of made) await files.put(sidecarPath(picture.file, ending), bytes);
  return made.length === missing.length;
}

/** A picture that has its thumbnail costs one `stat`. As `makeMissing`. */
export function makeMissingThumbnails(
  source: ThumbnailSource,
  reportDir: string,
  pictures: Iterable<RecordedPicture>,
  signal: AbortSignal,
  onProgress: (made: number) => void,
): Promise<Made> {
  const files = thumbnailFiles(reportDir);
  const find = (picture: RecordedPicture): (() => Promise<boolean>) | undefined => {
    const path = files.pathOf(picture);
    if (path === undefined) return undefined;
    const name = thumbnailOf(picture) ?? '';
    const found = files.find(path);
    const isStored = source.stored?.has(name) !== false;
    if (found !== undefined && isStored) return undefined;
    return async () => {
      const thumbnail = found === undefined ? await thumbnailFrom(source, picture) : await readFile(found);
      if (thumbnail === undefined) return false;
      if (!isStored) await source.stored?.put(name, thumbnail);
      return found !== undefined || files.write(path, thumbnail);
    };
  };
  return makeMissing(pictures, find, signal, onProgress);
}

export interface StoredThumbnails {
  has(name: string): boolean;
  get(name: string): Promise<Buffer | undefined>;
  put(name: string, thumbnail: Uint8Array): Promise<void>;
}

export async function thumbnailsInBucket(bucket: Bucket): Promise<StoredThumbnails> {
  const there = new Set<string>();
  await withBucketFailure(async () => {
    for await (const { key } of bucket.list(`${reportFolder}thumbnails/`)) there.add(key);
  });
  return {
    has: (name) => there.has(reportFolder + name),
    get: (name) => withBucketFailure(() => bucket.get(reportFolder + name)),
    put: (name, thumbnail) =>
      withBucketFailure(() => bucket.put(reportFolder + name, thumbnail, { type: typeOf(name) })),
  };
}

/** Where pictures are read, and thumbnails that others have made of them. */
export interface ThumbnailSource {
  files: Pick<PictureFiles, 'read'>;
  /** Those that a bucket has, too; names are as of `thumbnailOf`. */
  stored?: StoredThumbnails;
}

type Shown = Pick<RecordedPicture, 'file' | 'moveTo' | 'sha256' | 'width' | 'height' | 'bytes'>;

/** Undefined where the picture is not what was saved: the thumbnail's name is that of the content. */
export async function thumbnailFrom(
  { files, stored }: ThumbnailSource,
  picture: Shown,
): Promise<Buffer | undefined> {
  const { file, moveTo, sha256, width, height } = picture;
  const name = thumbnailOf(picture);
  const isStored = name !== undefined && stored?.has(name) === true;
  const there = isStored ? await stored?.get(name) : undefined;
  if (there !== undefined) return there;
  const content =
    (await readSaved(files, file, sha256)) ??
    (moveTo === null ? undefined : await readSaved(files, moveTo, sha256));
  if (content === undefined) return undefined;
  const image = pictureToDraw(content);
  if ('problem' in image) return undefined;
  return triedThumbnail(() => sharp(image.bytes, { limitInputPixels: width * height }));
}

export interface Made {
  /** Pictures that have all they should have now and had not before. */
  made: number;
  /** Pictures that are missing or damaged, or that something could not be made or written of. */
  lacking: number;
}

/** Pictures between two turns of the event loop. */
const sliceSize = 500;

/**
 * `find` returns what makes it, or undefined where nothing is missing; the former resolves to whether it was made. Throws
 * the reason of `signal` once that aborts; what was made stays.
 */
async function makeMissing(
  pictures: Iterable<RecordedPicture>,
  find: (picture: RecordedPicture) => (() => Promise<boolean>) | undefined,
  signal: AbortSignal,
  onProgress: (made: number) => void,
): Promise<Made> {
  const limit = pLimit(checksAtOnce);
  const sum: Made = { made: 0, lacking: 0 };
  const makeOne = async (make: () => Promise<boolean>): Promise<void> => {
    signal.throwIfAborted();
    sum[(await make()) ? 'made' : 'lacking'] += 1;
    onProgress(sum.made);
  };
  let found: (() => Promise<boolean>)[] = [];
  const makeAll = async (): Promise<void> => {
    await Promise.all(found.map((make) => limit(makeOne, make)));
    found = [];
    await nextTurn();
    signal.throwIfAborted();
  };
  let seen = 0;
  for (const picture of pictures) {
    const make = find(picture);
    if (make !== undefined) found.push(make);
    seen += 1;
    if (seen % sliceSize === 0) await makeAll();
  }
  await makeAll();
  return sum;
}

/** Undefined where it cannot be read, or is not what was saved: what is made of another would pass for made of this one. */
async function readSaved(
  files: Pick<PictureFiles, 'read'>,
  file: string,
  sha256: string,
): Promise<Buffer | undefined> {
  const content = await files.read(file);
  return content !== undefined && createHash('sha256').update(content).digest('hex') === sha256
    ? content
    : undefined;
}
