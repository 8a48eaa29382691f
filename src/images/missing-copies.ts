/** Makes the copies that saved pictures lack, from the pictures on the disk. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { statSync } from 'node:fs';
import { besideOf } from '../core/beside.ts';
import type { RecordedPicture } from '../core/verification.ts';
import { isSystemError } from '../disk/disk-trouble.ts';
import { makeBeside, writeBeside, type BesideMaker } from './beside-files.ts';
import { DurableFiles } from './durable-files.ts';
import { pathWithin } from './image-store.ts';
import { makeMissing, type Made } from './make-missing.ts';

/** Pictures that are about to be renamed are left alone. As `makeMissing`; throws `Trouble` where the disk does not take one. */
export function makeMissingCopies(
  imagesDir: string,
  makers: BesideMaker[],
  pictures: Iterable<RecordedPicture>,
  signal: AbortSignal,
  tellProgress: (made: number) => void,
): Promise<Made> {
  const root = resolve(imagesDir);
  const files = new DurableFiles(root);
  const find = (picture: RecordedPicture): (() => Promise<boolean>) | undefined => {
    if (picture.moveTo !== null) return undefined;
    const path = pathWithin(root, picture.file);
    const since = writtenAt(path) ?? 0;
    // An older one is of a picture that had this name before (`missingBeside`).
    const missing = makers.filter(({ ending }) => (writtenAt(besideOf(path, ending)) ?? -1) < since);
    return missing.length === 0 ? undefined : () => make(files, path, picture, missing);
  };
  return makeMissing(pictures, find, signal, tellProgress);
}

/** As many pictures have all their copies, this waits for no other thread. Undefined where there is no such file. */
function writtenAt(path: string): number | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true ? stats.mtimeMs : undefined;
}

async function make(
  files: DurableFiles,
  path: string,
  picture: RecordedPicture,
  missing: BesideMaker[],
): Promise<boolean> {
  const png = await readIfThere(path);
  // A copy of something else would pass for one of the picture.
  if (png === undefined || createHash('sha256').update(png).digest('hex') !== picture.sha256) return false;
  const made = await makeBeside(missing, { ...picture, png }, undefined);
  await writeBeside(files, path, made);
  return made.length === missing.length;
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return undefined;
  }
}
