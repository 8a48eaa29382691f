/** Makes the thumbnails that a report lacks, from the pictures on the disk. */
import { resolve } from 'node:path';
import sharp from 'sharp';
import type { RecordedPicture } from '../core/verification.ts';
import { checkPng } from './check-png.ts';
import { coloured } from './check-picture.ts';
import { pathWithin } from './image-store.ts';
import { makeMissing, type Made } from './make-missing.ts';
import { readSaved } from './read-saved.ts';
import { thumbnailFiles } from './thumbnail-files.ts';
import { triedThumbnail } from './thumbnail.ts';

/** Each picture that has its thumbnail costs a look at its name. As `makeMissing`. */
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
    if (path === undefined || files.isThere(path)) return undefined;
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
