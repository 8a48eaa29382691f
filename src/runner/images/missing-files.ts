/** Makes the copies and thumbnails that saved pictures lack, from the pictures on disk. */
import { resolve } from 'node:path';
import { statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import pLimit from 'p-limit';
import { sidecarPath } from '../core/picture-copy.ts';
import type { RecordedPicture } from '../core/verification.ts';
import { isSystemError } from '../files/disk-failure.ts';
import { makeSidecars, writeSidecars, type SidecarMaker } from './sidecars.ts';
import { DurableFiles } from './durable-files.ts';
import { checksAtOnce } from './image-store.ts';
import { pathWithin } from './saved-files.ts';
import { checkPng } from './check-png.ts';
import { coloured } from './check-picture.ts';
import { thumbnailFiles, triedThumbnail } from './thumbnail.ts';

/** Pictures that are about to be renamed are left alone. As `makeMissing`; throws `FatalFailure` where the disk does not take one. */
export function makeMissingCopies(
  imagesDir: string,
  makers: SidecarMaker[],
  pictures: Iterable<RecordedPicture>,
  signal: AbortSignal,
  onProgress: (made: number) => void,
): Promise<Made> {
  const root = resolve(imagesDir);
  const files = new DurableFiles(root);
  const find = (picture: RecordedPicture): (() => Promise<boolean>) | undefined => {
    if (picture.moveTo !== null) return undefined;
    const path = pathWithin(root, picture.file);
    const since = writtenAt(path) ?? 0;
    // An older one is of a picture that had this name before (`missingSidecars`).
    const missing = makers.filter(({ ending }) => (writtenAt(sidecarPath(path, ending)) ?? -1) < since);
    return missing.length === 0 ? undefined : () => makeCopies(files, path, picture, missing);
  };
  return makeMissing(pictures, find, signal, onProgress);
}

/** As many pictures have all their copies, this waits for no other thread. Undefined where there is no such file. */
function writtenAt(path: string): number | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true ? stats.mtimeMs : undefined;
}

async function makeCopies(
  files: DurableFiles,
  path: string,
  picture: RecordedPicture,
  missing: SidecarMaker[],
): Promise<boolean> {
  const png = await readSaved(path, picture.sha256);
  if (png === undefined) return false;
  const made = await makeSidecars(missing, { ...picture, png }, undefined);
  await writeSidecars(files, path, made);
  return made.length === missing.length;
}

/** A picture that has its thumbnail costs one `stat`. As `makeMissing`. */
export function makeMissingThumbnails(
  dirs: { images: string; report: string },
  pictures: Iterable<RecordedPicture>,
  signal: AbortSignal,
  onProgress: (made: number) => void,
): Promise<Made> {
  const files = thumbnailFiles(dirs.report);
  const root = resolve(dirs.images);
  const find = (picture: RecordedPicture): (() => Promise<boolean>) | undefined => {
    const path = files.pathOf(picture);
    if (path === undefined || files.find(path) !== undefined) return undefined;
    return async () => {
      const thumbnail = await thumbnailFrom(root, picture);
      return thumbnail !== undefined && files.write(path, thumbnail);
    };
  };
  return makeMissing(pictures, find, signal, onProgress);
}

/** Undefined where the picture is not what was saved: the thumbnail's name is that of the content. `root` is the images folder. */
export async function thumbnailFrom(
  root: string,
  picture: Pick<RecordedPicture, 'file' | 'moveTo' | 'sha256' | 'width' | 'height'>,
): Promise<Buffer | undefined> {
  const { file, moveTo, sha256, width, height } = picture;
  const png =
    (await readSaved(pathWithin(root, file), sha256)) ??
    (moveTo === null ? undefined : await readSaved(pathWithin(root, moveTo), sha256));
  if (png === undefined) return undefined;
  const checked = checkPng(png);
  if ('problem' in checked) return undefined;
  return triedThumbnail(() => sharp(coloured(checked), { limitInputPixels: width * height }));
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
async function readSaved(path: string, sha256: string): Promise<Buffer | undefined> {
  try {
    const png = await readFile(path);
    return createHash('sha256').update(png).digest('hex') === sha256 ? png : undefined;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return undefined;
  }
}
