/** Thumbnails: small enough that a page of hundreds shows at once, large enough to choose from. */
import { statSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { earlierThumbnail, thumbnailSide, thumbnailOf, type SavedPicture } from '../core/picture.ts';
import { FatalFailure } from '../core/failure.ts';
import { isSystemError } from '../files/disk-failure.ts';
import { makeFolder } from '../files/folders.ts';
import { temporaryName } from '../../lib/files/temporary-files.ts';

/** JPEG knows no transparency: what shows through is paper. */
export const paper = '#ffffff';

/** Tables of its own would make a file a fifth smaller, and cost more than all else but the decoding. */
const jpeg = { quality: 80, optimiseCoding: false };

/** No picture is decoded twice, and what the library keeps for that is memory of every run. */
sharp.cache(false);

/** As JPEG: upright, in sRGB, without metadata. Every pixel of the picture is decoded; what is wrong with it is thrown. */
function toThumbnail(image: Sharp): Promise<Buffer> {
  return image
    .autoOrient()
    .resize(thumbnailSide, thumbnailSide, { fit: 'inside', withoutEnlargement: true })
    .flatten({ background: paper })
    .jpeg(jpeg)
    .toBuffer();
}

/** Undefined where none can be made. */
export async function triedThumbnail(image: () => Sharp): Promise<Buffer | undefined> {
  try {
    return await toThumbnail(image());
  } catch {
    return undefined;
  }
}

type Thumbnailed = Pick<SavedPicture, 'width' | 'height' | 'bytes' | 'sha256'>;

export interface ThumbnailFiles {
  /** Where the thumbnail lies, or is to lie; undefined where the picture needs none. Absolute. */
  pathOf: (picture: Thumbnailed) => string | undefined;
  /** The file for a path as above, or an earlier version's; undefined where there is none, or none with content. */
  find: (path: string) => string | undefined;
  /** Tells whether the disk took it. Half of one never has a name. */
  write: (path: string, thumbnail: Uint8Array) => Promise<boolean>;
}

export function thumbnailFiles(reportDir: string): ThumbnailFiles {
  return {
    pathOf: (picture) => {
      const path = thumbnailOf(picture);
      return path === undefined ? undefined : resolve(reportDir, path);
    },
    // A machine that went down may have left a name without content.
    find: (path) =>
      [path, earlierThumbnail(path)].find(
        (file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0,
      ),
    write: async (path, thumbnail) => {
      try {
        await write(path, thumbnail);
        return true;
      } catch (error) {
        if (!isSystemError(error) && !(error instanceof FatalFailure)) throw error;
        return false;
      }
    },
  };
}

async function write(path: string, thumbnail: Uint8Array): Promise<void> {
  const temporary = join(dirname(path), temporaryName());
  try {
    await writeIntoFolder(temporary, thumbnail);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeIntoFolder(path: string, bytes: Uint8Array): Promise<void> {
  // As all of the report, its owner's alone.
  const options = { flag: 'wx', mode: 0o600 };
  try {
    await writeFile(path, bytes, options);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'ENOENT') throw error;
    makeFolder(dirname(path), 0o700);
    await writeFile(path, bytes, options);
  }
}
