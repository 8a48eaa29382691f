/** Makes the copies and thumbnails that saved pictures lack, from the pictures that are there. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { isClipFormat } from '../core/clip.ts';
import { formatOfFile, thumbnailOf } from '../core/picture.ts';
import type { RecordedPicture } from '../core/scene-record.ts';
import { makeSidecars, missingSidecars, putSidecars, sidecarsBut, type SidecarMaker } from './sidecars.ts';
import { digestIn, type Place } from './place.ts';
import { type ClipToShow, mayHavePoster, posterOf } from './ffmpeg.ts';
import { readSavedFile } from './saved-files.ts';
import { pictureToDraw } from './check-picture.ts';
import { thumbnailFiles, triedThumbnail } from './other-formats.ts';
import { checksAtOnce } from './image-store.ts';

/**
 * Makes the copies that saved pictures lack. Skips pictures that are about to be renamed. `isPicture`: true if a file
 * is on record as a picture, because a copy of one size may have the same name. Otherwise like `makeMissing`. Throws
 * `FatalFailure` if a copy cannot be written.
 */
export async function makeMissingCopies(
  place: Place,
  { makers, isPicture }: { makers: SidecarMaker[]; isPicture: (file: string) => Promise<boolean> },
  pictures: Iterable<RecordedPicture>,
  signal: AbortSignal,
  onProgress: (made: number) => void,
): Promise<Made> {
  const there = place.isRemote ? await listedCopies(place) : place;
  const find = async (picture: RecordedPicture): Promise<(() => Promise<boolean>) | undefined> => {
    if (picture.moveTo !== null) return undefined;
    const lacking = await missingSidecars(there, makers, picture.file);
    const missing = await sidecarsBut(isPicture, lacking, picture.file);
    return missing.length === 0 ? undefined : () => makeCopies(place, picture, missing);
  };
  return makeMissing(pictures, find, signal, onProgress);
}

/** Answers `facts` from a single listing, without PNG pictures, whose facts do not matter here. */
async function listedCopies(place: Place): Promise<Pick<Place, 'facts'>> {
  const there = new Map<string, number>();
  for await (const { name, bytes } of place.list()) if (!name.endsWith('.png')) there.set(name, bytes);
  return {
    facts: async (file) => {
      const bytes = there.get(file);
      return bytes === undefined ? undefined : { kind: 'file', bytes, isOf: () => undefined };
    },
  };
}

async function makeCopies(place: Place, picture: RecordedPicture, missing: SidecarMaker[]): Promise<boolean> {
  const content = await readSavedFile(place, picture.file, picture.sha256);
  if (content === undefined) return false;
  const made = await makeSidecars(missing, { ...picture, content }, undefined);
  await putSidecars(place, picture.file, made);
  return made.length === missing.length;
}

/** Places that pictures, and existing thumbnails of them, are read from. */
export interface ThumbnailSource {
  images: Place;
  /** Place of a copy of the report. Thumbnails are written there too. */
  reportCopy: Place | undefined;
}

/** Makes missing thumbnails like `makeMissing`. A picture with a thumbnail costs one `stat`. */
export async function makeMissingThumbnails(
  { images, reportCopy }: ThumbnailSource,
  reportDir: string,
  pictures: Iterable<RecordedPicture>,
  signal: AbortSignal,
  onProgress: (made: number) => void,
): Promise<Made> {
  const files = thumbnailFiles(reportDir);
  const stored = new Set<string>();
  for await (const { name } of reportCopy?.list('thumbnails/') ?? []) stored.add(name);
  const find = async (picture: RecordedPicture): Promise<(() => Promise<boolean>) | undefined> => {
    const [name, path] = [thumbnailOf(picture), files.pathOf(picture)];
    if (name === undefined || path === undefined) return undefined;
    const found = files.find(path);
    const isStored = reportCopy === undefined || stored.has(name);
    if (found !== undefined && isStored) return undefined;
    return async () => {
      const copy = stored.has(name) ? await reportCopy?.read(name) : undefined;
      const thumbnail =
        found === undefined ? (copy ?? (await thumbnailOfSaved(images, picture))) : await readFile(found);
      if (thumbnail === undefined) return false;
      if (!isStored) await reportCopy.put(name, thumbnail);
      return found !== undefined || files.write(path, thumbnail);
    };
  };
  return makeMissing(pictures, find, signal, onProgress);
}

type Saved = Pick<RecordedPicture, 'file' | 'sha256' | 'width' | 'height' | 'bytes'>;

/** Returns the report's thumbnail, or makes one. Undefined if the picture needs none, or none can be made. */
export async function thumbnailFor(
  images: Place,
  reportDir: string,
  picture: Saved,
): Promise<Uint8Array | undefined> {
  const files = thumbnailFiles(reportDir);
  const path = files.pathOf(picture);
  if (path === undefined) return undefined;
  const found = files.find(path);
  return found === undefined ? thumbnailOfSaved(images, picture) : readFile(found);
}

/** Returns undefined if the picture is not the saved one, because a thumbnail is named after its picture's content. */
async function thumbnailOfSaved(
  images: Place,
  { file, moveTo = null, sha256, width, height }: Saved & Partial<Pick<RecordedPicture, 'moveTo'>>,
): Promise<Uint8Array | undefined> {
  const format = formatOfFile(file);
  if (format !== undefined && isClipFormat(format))
    return await posterOfSaved(images, [file, moveTo ?? []].flat(), { sha256, format, width, height });
  const content =
    (await readSavedFile(images, file, sha256)) ??
    (moveTo === null ? undefined : await readSavedFile(images, moveTo, sha256));
  if (content === undefined) return undefined;
  const image = pictureToDraw(content);
  if ('problem' in image) return undefined;
  return triedThumbnail((sharp) => sharp(image.bytes, { limitInputPixels: width * height }));
}

/** Returns undefined for a clip in a bucket, which would be loaded whole for one frame. */
async function posterOfSaved(
  images: Place,
  files: string[],
  clip: Omit<ClipToShow, 'source'> & Pick<RecordedPicture, 'sha256'>,
): Promise<Uint8Array | undefined> {
  if (images.isRemote || !mayHavePoster(clip.format)) return undefined;
  for (const file of files)
    // The name of a folder is its path.
    if ((await digestIn(images, file)) === clip.sha256)
      return await posterOf({ ...clip, source: join(images.name, file) });
  return undefined;
}

export interface Made {
  made: number;
  /** Number of pictures that are missing or damaged, or whose files could not all be made or written. */
  lacking: number;
}

/** Number of pictures between two turns of the event loop. */
const sliceSize = 500;

/**
 * Makes missing files. `find` returns a function that makes a picture's files; undefined if none are missing.
 * Throws the reason of `signal`; files that were made stay.
 */
async function makeMissing(
  pictures: Iterable<RecordedPicture>,
  find: (picture: RecordedPicture) => Promise<(() => Promise<boolean>) | undefined>,
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
    const make = await find(picture);
    if (make !== undefined) found.push(make);
    seen += 1;
    if (seen % sliceSize === 0) await makeAll();
  }
  await makeAll();
  return sum;
}
