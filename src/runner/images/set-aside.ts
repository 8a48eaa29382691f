/** Gives a picture another name, with what lies beside it, so that nothing is overwritten. */
import { existsSync, lstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { CheckedPicture } from '../core/picture.ts';
import { sidecarPath } from '../core/sidecar-path.ts';
import { sidecarEndings, type SidecarMaker } from './sidecars.ts';
import type { DurableFiles } from './durable-files.ts';

/**
 * Renames them durably to names that end in `as`; what was set aside before keeps its name. Returns what the names got, or
 * undefined where there is nothing.
 */
export async function setAside(
  files: DurableFiles,
  makers: SidecarMaker[],
  path: string,
  as: string,
): Promise<string | undefined> {
  const found = [path, ...sidecarEndings(makers).map((ending) => sidecarPath(path, ending))].filter(isThere);
  if (found.length === 0) return undefined;
  for (let count = 1; ; count++) {
    const suffix = `.${as}${count === 1 ? '' : `-${count}`}`;
    if (found.some((file) => isThere(file + suffix))) continue;
    for (const file of found) await files.rename(file, file + suffix);
    return suffix;
  }
}

/** Whether writing the picture would overwrite something other than itself, which a power cut may have left unrecorded. */
export async function wouldOverwrite(path: string, { png, beside = [] }: CheckedPicture): Promise<boolean> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return beside.some(({ ending }) => existsSync(sidecarPath(path, ending)));
  // The system says in words that the disk does not take the picture there.
  if (stats.isDirectory()) return false;
  return !stats.isFile() || stats.size !== png.length || !(await readFile(path)).equals(png);
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
