/** The files that belong beside pictures: made of a picture, written, moved and removed with it. */
import { readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { besideOf, sidecarEnding } from '../core/beside.ts';
import type { CheckedPicture, SavedPicture } from '../core/picture.ts';
import { copyEnding } from '../core/picture-copy.ts';
import type { Provenance } from '../core/provenance.ts';
import { isSystemError, withDiskTrouble } from '../files/disk-trouble.ts';
import { syncFolder } from '../files/sync-folder.ts';
import type { DurableFiles } from './durable-files.ts';

/** What a file beside is made of. */
export type BesideSource = Pick<CheckedPicture, 'png' | 'width' | 'height' | 'sha256'>;

/** Makes one of the files. */
export interface BesideMaker {
  /** What takes the place of `.png`; each maker has its own. */
  ending: string;
  /** Undefined where it cannot be made. */
  make: (picture: BesideSource, provenance: Provenance | undefined) => Promise<Uint8Array | undefined>;
}

type Beside = NonNullable<CheckedPicture['beside']>;

export async function makeBeside(
  makers: BesideMaker[],
  picture: BesideSource,
  provenance: Provenance | undefined,
): Promise<Beside> {
  const made: Beside = [];
  for (const { ending, make } of makers) {
    const bytes = await make(picture, provenance);
    if (bytes !== undefined) made.push({ ending, bytes });
  }
  return made;
}

export async function writeBeside(files: DurableFiles, path: string, beside: Beside): Promise<void> {
  for (const { ending, bytes } of beside) {
    const file = besideOf(path, ending);
    await withDiskTrouble(file, () => files.write(file, bytes));
  }
}

/**
 * Those of the makers whose file is not there, or is older than its picture: while the configuration did not name it, it
 * stayed behind when the picture that it was made of gave its name to another.
 */
export async function missingBeside(makers: BesideMaker[], path: string): Promise<BesideMaker[]> {
  const since = (await writtenAt(path)) ?? 0;
  const missing: BesideMaker[] = [];
  for (const maker of makers) {
    const at = await writtenAt(besideOf(path, maker.ending));
    if (at === undefined || at < since) missing.push(maker);
  }
  return missing;
}

/** Makes and writes them, of the file as it is on the disk. Returns how many were written and how many could not be made. */
export async function completeBeside(
  files: DurableFiles,
  missing: BesideMaker[],
  path: string,
  picture: Pick<SavedPicture, 'width' | 'height' | 'sha256'>,
  provenance?: Provenance,
): Promise<{ made: number; lacking: number }> {
  if (missing.length === 0) return { made: 0, lacking: 0 };
  const png = await withDiskTrouble(path, () => readFile(path));
  const { width, height, sha256 } = picture;
  const made = await makeBeside(missing, { png, width, height, sha256 }, provenance);
  await writeBeside(files, path, made);
  return { made: made.length, lacking: missing.length - made.length };
}

/** What earlier runs may have left beside a picture, whatever is made today; of the smaller copies only those that are. */
const earlierEndings = [
  sidecarEnding,
  ...(['webp', 'jpeg', 'avif'] as const).map((format) => copyEnding({ format })),
];

/** Of all that may lie beside a picture. */
export function besideEndings(makers: BesideMaker[]): string[] {
  return [...new Set([...makers.map((maker) => maker.ending), ...earlierEndings])];
}

/** What stands where they go made way with its picture, or has none. */
export async function moveBeside(makers: BesideMaker[], from: string, to: string): Promise<void> {
  let hasMoved = false;
  for (const ending of besideEndings(makers)) {
    const file = besideOf(from, ending);
    if ((await writtenAt(file)) === undefined) continue;
    await withDiskTrouble(file, () => rename(file, besideOf(to, ending)));
    hasMoved = true;
  }
  if (!hasMoved) return;
  await withDiskTrouble(to, () => syncFolder(dirname(to)));
  if (dirname(from) !== dirname(to)) await withDiskTrouble(from, () => syncFolder(dirname(from)));
}

/** Before their picture goes, so that none stays behind alone. */
export async function removeBeside(makers: BesideMaker[], path: string): Promise<void> {
  for (const { ending } of makers) {
    const file = besideOf(path, ending);
    await withDiskTrouble(file, () => rm(file, { force: true }));
  }
}

/** Undefined where there is no such file. */
async function writtenAt(path: string): Promise<number | undefined> {
  try {
    const stats = await stat(path);
    return stats.isFile() ? stats.mtimeMs : undefined;
  } catch (error) {
    if (isSystemError(error) && ['ENOENT', 'ENOTDIR'].includes(error.code)) return undefined;
    throw error;
  }
}
