/** Makes the copies that saved pictures lack, from the pictures on the disk. */
import { resolve } from 'node:path';
import { statSync } from 'node:fs';
import { sidecarPath } from '../core/sidecar-path.ts';
import type { RecordedPicture } from '../core/verification.ts';
import { makeSidecars, writeSidecars, type SidecarMaker } from './sidecars.ts';
import { DurableFiles } from './durable-files.ts';
import { pathWithin } from './image-store.ts';
import { makeMissing, type Made } from './make-missing.ts';
import { readSaved } from './read-saved.ts';

/** Pictures that are about to be renamed are left alone. As `makeMissing`; throws `Trouble` where the disk does not take one. */
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
    // An older one is of a picture that had this name before (`missingBeside`).
    const missing = makers.filter(({ ending }) => (writtenAt(sidecarPath(path, ending)) ?? -1) < since);
    return missing.length === 0 ? undefined : () => make(files, path, picture, missing);
  };
  return makeMissing(pictures, find, signal, onProgress);
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
  missing: SidecarMaker[],
): Promise<boolean> {
  const png = await readSaved(path, picture.sha256);
  if (png === undefined) return false;
  const made = await makeSidecars(missing, { ...picture, png }, undefined);
  await writeSidecars(files, path, made);
  return made.length === missing.length;
}
