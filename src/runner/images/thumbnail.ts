/** Thumbnails: small enough that a page of hundreds shows at once, large enough to choose from. */
import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import pLimit from 'p-limit';
import sharp, { type Sharp } from 'sharp';
import { thumbnailSide, thumbnailOf, type SavedPicture } from '../core/picture.ts';
import { FatalFailure } from '../core/failure.ts';
import { isSystemError } from '../files/disk-failure.ts';
import { makeFolder } from '../files/folders.ts';
import { temporaryName } from '../../lib/files/temporary-files.ts';

/** The least effort that costs less than decoding a picture of 512 × 512; more makes files of this size hardly smaller. */
const webp = { quality: 75, effort: 2 };

/** No picture is decoded twice, and what the library keeps for that is memory of every run. */
sharp.cache(false);

/** One by itself is decoded on all processors; several at once would hold a large picture's pixels each. */
const limitMaking = pLimit(1);

/** As WebP: upright, in sRGB, without metadata. Every pixel of the picture is decoded; what is wrong with it is thrown. */
function toThumbnail(image: Sharp): Promise<Buffer> {
  return image
    .autoOrient()
    .resize(thumbnailSide, thumbnailSide, { fit: 'inside', withoutEnlargement: true })
    .webp(webp)
    .toBuffer();
}

/** Undefined where none can be made. */
export async function triedThumbnail(image: () => Sharp): Promise<Buffer | undefined> {
  try {
    return await limitMaking(() => toThumbnail(image()));
  } catch {
    return undefined;
  }
}

type Thumbnailed = Pick<SavedPicture, 'width' | 'height' | 'bytes' | 'sha256'>;

export interface ThumbnailFiles {
  /** Where the thumbnail lies, or is to lie; undefined where the picture needs none. Absolute. */
  pathOf: (picture: Thumbnailed) => string | undefined;
  /** Of a path as above. A machine that went down may have left a name without content. */
  isThere: (path: string) => boolean;
  /** Tells whether the disk took it. Half of one never has a name. */
  write: (path: string, thumbnail: Uint8Array) => boolean;
}

export function thumbnailFiles(reportDir: string): ThumbnailFiles {
  return {
    pathOf: (picture) => {
      const path = thumbnailOf(picture);
      return path === undefined ? undefined : resolve(reportDir, path);
    },
    isThere: (path) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0,
    write: (path, thumbnail) => {
      try {
        write(path, thumbnail);
        return true;
      } catch (error) {
        if (!isSystemError(error) && !(error instanceof FatalFailure)) throw error;
        return false;
      }
    },
  };
}

/** Not by other threads: a few kilobytes are with the system sooner than with one of them. */
function write(path: string, thumbnail: Uint8Array): void {
  const temporary = join(dirname(path), temporaryName());
  try {
    writeIntoFolder(temporary, thumbnail);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function writeIntoFolder(path: string, bytes: Uint8Array): void {
  // As all of the report, its owner's alone.
  const options = { flag: 'wx', mode: 0o600 };
  try {
    writeFileSync(path, bytes, options);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'ENOENT') throw error;
    makeFolder(dirname(path), 0o700);
    writeFileSync(path, bytes, options);
  }
}
