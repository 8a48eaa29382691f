/** Makes the thumbnails that a report lacks, from the pictures on the disk. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { resolve } from 'node:path';
import pLimit from 'p-limit';
import sharp from 'sharp';
import type { RecordedPicture } from '../core/verification.ts';
import { isSystemError } from '../disk/disk-trouble.ts';
import { checkPng } from './check-png.ts';
import { coloured } from './check-picture.ts';
import { checksAtOnce, pathWithin } from './image-store.ts';
import { thumbnailFiles } from './thumbnail-files.ts';
import { triedThumbnail } from './thumbnail.ts';

export interface MadeThumbnails {
  made: number;
  /** Pictures that are missing or damaged, or that no thumbnail could be made or written of. */
  lacking: number;
}

/** Pictures that are looked for between two turns of the event loop. */
const sliceSize = 500;

/** Each picture that has its thumbnail costs a look at its name. Throws the reason of `signal` once that aborts. */
export async function makeMissingThumbnails(
  dirs: { images: string; report: string },
  pictures: Iterable<RecordedPicture>,
  signal: AbortSignal,
  tellProgress: (made: number) => void,
): Promise<MadeThumbnails> {
  const files = thumbnailFiles(dirs.report);
  const limit = pLimit(checksAtOnce);
  const root = resolve(dirs.images);
  const sum: MadeThumbnails = { made: 0, lacking: 0 };
  const make = async (picture: RecordedPicture, path: string): Promise<void> => {
    signal.throwIfAborted();
    const thumbnail = await thumbnailFrom(root, picture);
    const isMade = thumbnail !== undefined && files.write(path, thumbnail);
    sum[isMade ? 'made' : 'lacking'] += 1;
    tellProgress(sum.made);
  };
  let missing: { picture: RecordedPicture; path: string }[] = [];
  const makeAll = async (): Promise<void> => {
    await Promise.all(missing.map(({ picture, path }) => limit(make, picture, path)));
    missing = [];
    await nextTurn();
    signal.throwIfAborted();
  };
  let seen = 0;
  for (const picture of pictures) {
    const path = files.pathOf(picture);
    if (path !== undefined && !files.isThere(path)) missing.push({ picture, path });
    seen += 1;
    if (seen % sliceSize === 0) await makeAll();
  }
  await makeAll();
  return sum;
}

/** Undefined where the picture is not what was saved: the thumbnail's name is that of the content. `root` is the images folder. */
export async function thumbnailFrom(
  root: string,
  picture: Pick<RecordedPicture, 'file' | 'moveTo' | 'sha256' | 'width' | 'height'>,
): Promise<Buffer | undefined> {
  const png = (await readIfThere(root, picture.file)) ?? (await readIfThere(root, picture.moveTo));
  if (png === undefined || createHash('sha256').update(png).digest('hex') !== picture.sha256)
    return undefined;
  const checked = checkPng(png);
  if ('problem' in checked) return undefined;
  const limitInputPixels = picture.width * picture.height;
  return triedThumbnail(() => sharp(coloured(checked), { limitInputPixels }));
}

async function readIfThere(root: string, file: string | null): Promise<Buffer | undefined> {
  if (file === null) return undefined;
  try {
    return await readFile(pathWithin(root, file));
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return undefined;
  }
}
