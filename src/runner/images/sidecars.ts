/** Sidecar files of pictures: made of a picture, written, moved and removed with it. */
import { readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { existsSync, lstatSync } from 'node:fs';
import sharp from 'sharp';
import { sidecarPath, sidecarEnding, copyEnding, isSized, type PictureCopy } from '../core/picture-copy.ts';
import { pictureEndings } from '../core/picture-format.ts';
import type { Picture, SavedPicture } from '../core/picture.ts';
import type { Provenance } from '../core/provenance.ts';
import { assertPlainFile } from '../../lib/files/plain-file.ts';
import { isSystemError, withDiskFailure } from '../files/disk-failure.ts';
import { syncFolder } from '../files/folders.ts';
import type { DurableFiles } from './durable-files.ts';
import { pictureToDraw } from './check-picture.ts';
import { isPng } from './check-png.ts';
import { bufferOf } from './decoding.ts';
import { withChunks } from './png-chunks.ts';
import { originChunks } from './png-metadata.ts';
import { paper } from './thumbnail.ts';

/** What a sidecar is made of. */
export type SidecarSource = Pick<Picture, 'content' | 'width' | 'height' | 'sha256'>;

/** Makes one of the files. */
export interface SidecarMaker {
  /** What takes the place of the picture's ending; each maker has its own. */
  ending: string;
  /** Undefined where it cannot be made. */
  make: (picture: SidecarSource, provenance: Provenance | undefined) => Promise<Uint8Array | undefined>;
}

type Sidecars = NonNullable<Picture['beside']>;

/** Without a copy that would have the picture's own name: it is there in that format already. */
export function sidecarsOf(makers: SidecarMaker[], file: string): SidecarMaker[] {
  return makers.filter(({ ending }) => sidecarPath(file, ending) !== file);
}

/** Without those whose name is that of a picture: copies of a size alone have a name that another may have. */
export async function sidecarsBut(
  isPicture: (file: string) => Promise<boolean>,
  makers: SidecarMaker[],
  file: string,
): Promise<SidecarMaker[]> {
  const own: SidecarMaker[] = [];
  for (const maker of makers)
    if (!isSized(maker.ending) || !(await isPicture(sidecarPath(file, maker.ending)))) own.push(maker);
  return own;
}

export async function makeSidecars(
  makers: SidecarMaker[],
  picture: SidecarSource,
  provenance: Provenance | undefined,
): Promise<Sidecars> {
  const made: Sidecars = [];
  for (const { ending, make } of makers) {
    const bytes = await make(picture, provenance);
    if (bytes !== undefined) made.push({ ending, bytes });
  }
  return made;
}

export async function writeSidecars(files: DurableFiles, path: string, beside: Sidecars): Promise<void> {
  for (const { ending, bytes } of beside) {
    const file = sidecarPath(path, ending);
    await withDiskFailure(file, () => files.write(file, bytes));
  }
}

/**
 * Those of the makers whose file is not there, or is older than its picture: while the configuration did not name it, it
 * stayed behind when the picture that it was made of gave its name to another.
 */
export async function missingSidecars(makers: SidecarMaker[], path: string): Promise<SidecarMaker[]> {
  const since = (await writtenAt(path)) ?? 0;
  const missing: SidecarMaker[] = [];
  for (const maker of sidecarsOf(makers, path)) {
    const at = await writtenAt(sidecarPath(path, maker.ending));
    if (at === undefined || at < since) missing.push(maker);
  }
  return missing;
}

/** Makes and writes them, of the file as it is on the disk. Returns how many were written and how many could not be made. */
export async function completeSidecars(
  files: DurableFiles,
  missing: SidecarMaker[],
  path: string,
  picture: Pick<SavedPicture, 'width' | 'height' | 'sha256'>,
  provenance?: Provenance,
): Promise<{ made: number; lacking: number }> {
  if (missing.length === 0) return { made: 0, lacking: 0 };
  const content = await withDiskFailure(path, () => {
    assertPlainFile(path);
    return readFile(path);
  });
  const { width, height, sha256 } = picture;
  const made = await makeSidecars(missing, { content, width, height, sha256 }, provenance);
  await writeSidecars(files, path, made);
  return { made: made.length, lacking: missing.length - made.length };
}

/** Sidecars that earlier runs may have left, whatever is made today; of the smaller copies only those that are. */
const earlierEndings = [
  sidecarEnding,
  ...(['webp', 'jpeg', 'avif'] as const).map((format) => copyEnding({ format })),
];

/** Of all possible sidecars of a picture. */
export function sidecarEndings(makers: Pick<SidecarMaker, 'ending'>[]): string[] {
  return [...new Set([...makers.map((maker) => maker.ending), ...earlierEndings])];
}

/** What stands where they go made way with its picture, or has none. */
export async function moveSidecars(makers: SidecarMaker[], from: string, to: string): Promise<void> {
  let hasMoved = false;
  for (const ending of sidecarEndings(makers)) {
    const file = sidecarPath(from, ending);
    if ((await writtenAt(file)) === undefined) continue;
    await withDiskFailure(file, () => rename(file, sidecarPath(to, ending)));
    hasMoved = true;
  }
  if (!hasMoved) return;
  await withDiskFailure(to, () => syncFolder(dirname(to)));
  if (dirname(from) !== dirname(to)) await withDiskFailure(from, () => syncFolder(dirname(from)));
}

/** Before their picture goes, so that none stays behind alone. */
export async function removeSidecars(makers: SidecarMaker[], path: string): Promise<void> {
  for (const { ending } of sidecarsOf(makers, path)) {
    const file = sidecarPath(path, ending);
    await withDiskFailure(file, () => rm(file, { force: true }));
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

/**
 * In sRGB, with what the picture says of its origin (EXIF, XMP). One that cannot be made (a format has its own largest size) fails no picture: `onLacking` is
 * given the reason.
 */
export function copyMaker(copy: PictureCopy, onLacking: (ending: string, why: string) => void): SidecarMaker {
  const ending = copyEnding(copy);
  return {
    ending,
    make: async ({ content, width, height }) => {
      try {
        return await copyOf(bufferOf(content), width * height, copy);
      } catch (error) {
        onLacking(ending, error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error));
        return undefined;
      }
    },
  };
}

async function copyOf(content: Buffer, limitInputPixels: number, copy: PictureCopy): Promise<Buffer> {
  const image = pictureToDraw(content);
  if ('problem' in image) throw new Error(image.problem);
  const marked = isPng(content) ? withChunks(image.bytes, originChunks(content)) : image.bytes;
  const { format, quality, size } = copy;
  const upright = sharp(marked, { limitInputPixels }).autoOrient().keepExif().keepXmp();
  const sized =
    size === undefined ? upright : upright.resize(size, size, { fit: 'inside', withoutEnlargement: true });
  if (format === 'jpeg') return sized.flatten({ background: paper }).jpeg({ quality }).toBuffer();
  return (format === 'webp' ? sized.webp({ quality }) : sized.avif({ quality })).toBuffer();
}

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
  const endings = [...sidecarEndings(makers), ...Object.values(pictureEndings)];
  const found = [...new Set([path, ...endings.map((ending) => sidecarPath(path, ending))])].filter(isThere);
  if (found.length === 0) return undefined;
  for (let count = 1; ; count++) {
    const suffix = `.${as}${count === 1 ? '' : `-${count}`}`;
    if (found.some((file) => isThere(file + suffix))) continue;
    for (const file of found) await files.rename(file, file + suffix);
    return suffix;
  }
}

/** Whether writing the picture would overwrite something other than itself, which a power cut may have left unrecorded. */
export async function wouldOverwrite(path: string, { content, beside = [] }: Picture): Promise<boolean> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  const others = [...beside.map(({ ending }) => ending), ...Object.values(pictureEndings)];
  if (stats === undefined) return others.some((ending) => existsSync(sidecarPath(path, ending)));
  // The write then fails with the system's own error.
  if (stats.isDirectory()) return false;
  return !stats.isFile() || stats.size !== content.length || !(await readFile(path)).equals(content);
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
