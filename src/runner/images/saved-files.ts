/** Checks pictures that were saved earlier: whether they are there, and whether they are what was saved. */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve } from 'node:path';
import { statSync, readdirSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FatalFailure } from '../core/failure.ts';
import type { RecordedPicture, Verdict } from '../core/verification.ts';
import { isSystemError, withDiskFailure } from '../files/disk-failure.ts';
import type { MissingPictures } from '../pipeline/ports.ts';
import { kindOfFile } from '../core/named-file.ts';
import { formatOfFile, pictureEndings, picturesAmong, withoutFormat } from '../core/picture-format.ts';
import { wholeFile, wholePicture } from './check-file.ts';

interface SavedFiles {
  /** Against the recorded bytes and digest, and by decoding; `FatalFailure` where it cannot be read. */
  inspect: (picture: RecordedPicture) => Promise<Verdict>;
}

/** `dir` is the images folder. */
export function savedFiles(dir: string): SavedFiles {
  const root = resolve(dir);
  return {
    inspect: async (picture) => {
      const path = pathWithin(root, picture.file);
      try {
        return await inspect(path, picture);
      } catch (error) {
        return verdictOf(path, error);
      }
    },
  };
}

async function inspect(path: string, picture: RecordedPicture): Promise<Verdict> {
  const { bytes } = picture;
  const stats = await stat(path);
  if (!stats.isFile()) return damaged('something that is no file stands in its place');
  if (stats.size !== bytes) return damaged(`it has ${inBytes(stats.size)} instead of ${inBytes(bytes)}`);
  return inspectBytes(await readFile(path), picture);
}

type Recorded = Pick<RecordedPicture, 'file' | 'bytes' | 'sha256' | 'width' | 'height'>;

/** What is there, against what is on record, and by decoding. */
export async function inspectBytes(
  content: Buffer,
  { file, bytes, sha256, width, height }: Recorded,
): Promise<Verdict> {
  if (content.length !== bytes)
    return damaged(`it has ${inBytes(content.length)} instead of ${inBytes(bytes)}`);
  if (createHash('sha256').update(content).digest('hex') !== sha256)
    return damaged('its bytes are not those that were saved (sha256)');
  const format = formatOfFile(file);
  const whole = await (format === undefined
    ? wholeFile(content, kindOfFile(file), width * height)
    : wholePicture(content, format, width * height));
  return 'problem' in whole ? damaged(whole.problem) : { kind: 'good' };
}

function damaged(problem: string): Verdict {
  return { kind: 'damaged', problem };
}

function inBytes(bytes: number): string {
  return `${bytes.toLocaleString('en')} bytes`;
}

/** A failed read is a verdict on the file, or leaves it unknown. */
function verdictOf(path: string, error: unknown): Verdict {
  if (!isSystemError(error)) throw error;
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return { kind: 'missing' };
  // A disk that fails to read it today may read it tomorrow: only what was read can be damaged, and be paid for again.
  const text = `cannot read ${path} (${error.code}), so it was not verified; make it readable, or move it away to have it rendered again, and verify again`;
  throw new FatalFailure({ kind: 'output-unwritable', text });
}

/** Looked at between two turns of the event loop: some milliseconds. */
const sliceSize = 500;

/** `root` is the images folder. Undefined where `signal` aborts before the last was checked. */
export function findMissing(
  root: string,
  pictures: Iterable<RecordedPicture>,
  signal: AbortSignal,
): Promise<MissingPictures | undefined> {
  return withDiskFailure(root, async () => {
    const found: MissingPictures = { checked: 0, missing: 0, example: '' };
    for (const { file, moveTo, bytes } of pictures) {
      const isThere = [file, moveTo ?? file].some((name) => sizeOf(pathWithin(root, name)) === bytes);
      if (!isThere && found.missing === 0) found.example = file;
      if (!isThere) found.missing += 1;
      found.checked += 1;
      if (found.checked % sliceSize !== 0) continue;
      await nextTurn();
      if (signal.aborted) return undefined;
    }
    return found;
  });
}

/** Undefined where there is no such file. */
function sizeOf(path: string): number | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats?.isFile() === true ? stats.size : undefined;
  } catch (error) {
    // Below a file there is nothing either.
    if (isSystemError(error) && error.code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** Which files are pictures. */
export interface PictureListing {
  /** Whether a file that has the name of a copy may be one. */
  isOriginalKept?: boolean;
  /** What copies of a picture have in place of its ending. */
  copyEndings?: readonly string[];
}

/** Relative to `root`, with `/` between folders, sorted; none where there is no such folder. */
export function listPictures(root: string, listing: PictureListing = {}): string[] {
  return picturesOf(listFiles(root, Object.values(pictureEndings)), listing);
}

/** Of all files with the ending of a picture. */
export function picturesOf(
  files: string[],
  { isOriginalKept = false, copyEndings = [] }: PictureListing,
): string[] {
  return picturesAmong(files, copyEndings, isOriginalKept);
}

/** What the file of a picture with this name may be called; of another file its name. */
export function possibleFiles(name: string, listing: PictureListing): string[] {
  if (formatOfFile(name) === undefined) return [name];
  if (listing.isOriginalKept !== true) return [name];
  return Object.values(pictureEndings).map((ending) => withoutFormat(name) + ending);
}

/** With these endings; as above. */
export function listFiles(root: string, endings: readonly string[], below = ''): string[] {
  try {
    const entries = readdirSync(`${root}/${below}`, { withFileTypes: true });
    return entries
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => {
        if (entry.isDirectory()) return listFiles(root, endings, `${below}${entry.name}/`);
        const isWanted = entry.isFile() && endings.some((ending) => entry.name.endsWith(ending));
        return isWanted ? [below + entry.name] : [];
      });
  } catch (error) {
    if (isSystemError(error) && ['ENOENT', 'ENOTDIR'].includes(error.code)) return [];
    throw error;
  }
}

/** Throws where the name leads out of the folder: a bug of ours. */
export function pathWithin(root: string, file: string): string {
  const path = resolve(root, file);
  const way = relative(root, path);
  if (way === '' || way.split(/[/\\]/)[0] === '..' || isAbsolute(way) || isAbsolute(file))
    throw new Error(`a picture's name leads out of the images folder: ${JSON.stringify(file)}`);
  return path;
}
