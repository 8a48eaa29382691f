/** Pictures and clips of an export: what is known of each, and its content, checked against the record. */
import { createHash, hash } from 'node:crypto';
import { closeSync, createReadStream, fstatSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryName } from '../../lib/files/temporary-files.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { type ClipColumn, isClipFormat, isSound } from '../core/clip.ts';
import { outputName } from '../core/condition.ts';
import type { AlbumEntry } from '../core/gallery-data.ts';
import { formatOfFile, type SavedPicture } from '../core/picture.ts';
import type { Verdict } from '../core/scene-record.ts';
import { isSystemError } from '../files/disk-failure.ts';
import type { ExportFolder } from './export-folder.ts';

/** A saved picture in an export. If a copy is exported, `bytes` and `sha256` are those of the original. */
export type ExportedPicture = Pick<SavedPicture, 'file' | 'width' | 'height' | 'bytes' | 'sha256'> & {
  /** Unique within the batch: the id of the scene. The second picture of a scene gets `.2`, and so on. */
  id: string;
  scene: string;
  /** Name of the file in the export: that of the picture, or from `--name`. */
  name: string;
  /** Path of the picture in the batch, for people: `images/a.png`, `s3://bucket/images/a.png`. */
  path: string;
  prompt: string;
  /** Seed in the service's digits; null if it is unknown. */
  seed: string | null;
  endpoint: string | null;
  attempts: number;
  /** Share of the cost of its job; null if it is unknown. */
  cost: number | null;
  /** `columns` and `values` each have the same names in every picture. */
  columns: JsonObject;
  values: JsonObject;
  caption: string;
  /** Facts about a clip. Absent for a picture. */
  clip?: Record<ClipColumn, JsonValue>;
};

export type Medium = 'image' | 'video' | 'audio';

export function mediumOf({ file, width }: Pick<ExportedPicture, 'file' | 'width'>): Medium {
  const format = formatOfFile(file);
  if (format === undefined || !isClipFormat(format)) return 'image';
  return isSound(format) || width === 0 ? 'audio' : 'video';
}

export interface ExportPorts {
  /** Returns the content; undefined if the picture does not exist. */
  read: (picture: ExportedPicture) => Promise<Buffer | undefined>;
  /** `isPassing`: the file is only read and then removed, so a hard link is as good as a copy. */
  fetch: (picture: ExportedPicture, to: string, isPassing?: boolean) => Promise<boolean>;
  /** True if copies of pictures are exported. No sha256 of a copy is on record. */
  isCopy: boolean;
  /** Returns the content that is exported, the same buffer if nothing changes. Undefined if pictures are exported as they are. */
  cleaned: ((content: Buffer) => Buffer) | undefined;
  gallery: {
    /** Returns undefined if the page shows the picture itself. */
    thumbnail: (picture: ExportedPicture) => Promise<Uint8Array | undefined>;
    textOf: (picture: ExportedPicture) => string;
    page: (entries: AlbumEntry[]) => Promise<string>;
  };
  onBad: (picture: ExportedPicture, verdict: Exclude<Verdict, { kind: 'good' }>) => void;
  /** Called when `pictures` more are done. `written` of them are new; an earlier export wrote the others. */
  onDone: (pictures: number, written: number, bytes: number) => void;
}

const ownNames = new Set(['file_name', 'id', 'prompt', 'seed']);

/** Returns the metadata of a picture. Columns with reserved names become `manifest.NAME`. */
export function recordOf({ id, prompt, seed, columns, values, clip }: ExportedPicture): JsonObject {
  const named = Object.entries({ ...columns, ...values }).filter(([name]) => name !== 'id');
  const renamed = named.map(([name, value]) => [ownNames.has(name) ? `manifest.${name}` : name, value]);
  const taken = new Set(named.map(([name]) => name.toLowerCase()));
  const facts = Object.entries(clip ?? {}).map(([name, value]) => [outputName(name, taken), value]);
  return { id, prompt, seed, ...(Object.fromEntries([...renamed, ...facts]) as JsonObject) };
}

/** Maximum number of pictures that are read at once: enough to keep a disk or a bucket busy, within little memory. */
export const maxConcurrent = 32;
const maxConcurrentBytes = 16_000_000;

/** True if the file is read in pieces, because it may be too large for memory. */
function isLarge({ bytes }: ExportedPicture): boolean {
  return bytes > maxConcurrentBytes;
}

/** Content of an intact picture: bytes, or a file of this size. */
export type CheckedContent = Buffer | { path: string; length: number };

/**
 * Yields intact pictures in order, with their content. A large one is in a file of `folder`, until the next is
 * asked for. Others are reported to `onBad` and left out.
 */
export async function* readChecked(
  pictures: Iterable<ExportedPicture>,
  folder: ExportFolder,
  ports: ExportPorts,
): AsyncGenerator<{ picture: ExportedPicture; content: CheckedContent }> {
  for (const some of groupsOf(pictures, maxConcurrent, maxConcurrentBytes)) {
    const [first] = some;
    // A large picture is a group of its own.
    if (first !== undefined && isLarge(first)) {
      yield* readLarge(first, folder, ports);
      continue;
    }
    const contents = await Promise.all(some.map((picture) => ports.read(picture)));
    for (const [index, picture] of some.entries()) {
      const content = contents[index];
      const verdict = verdictOn(picture, content && bufferFound(content), ports.isCopy);
      if (verdict.kind !== 'good') ports.onBad(picture, verdict);
      else if (content !== undefined) yield { picture, content };
    }
  }
}

async function* readLarge(
  picture: ExportedPicture,
  folder: ExportFolder,
  ports: ExportPorts,
): AsyncGenerator<{ picture: ExportedPicture; content: CheckedContent }> {
  const path = join(folder.dir, temporaryName());
  try {
    const isFetched = await ports.fetch(picture, path, true);
    const { verdict, bytes } = await checkFile(picture, isFetched ? path : undefined, ports.isCopy);
    if (verdict.kind === 'good') yield { picture, content: { path, length: bytes } };
    else ports.onBad(picture, verdict);
  } finally {
    rmSync(path, { force: true });
  }
}

/** Compares a file with the record of a picture, and returns its size. Without a file, the picture is missing. */
export async function checkFile(
  picture: ExportedPicture,
  path: string | undefined,
  isCopy: boolean,
): Promise<{ verdict: Verdict; bytes: number }> {
  const found = path === undefined ? undefined : await fileFound(path, isLarge(picture));
  return { verdict: verdictOn(picture, found, isCopy), bytes: found?.bytes ?? 0 };
}

function verdictOn({ sha256 }: ExportedPicture, found: Found | undefined, isCopy: boolean): Verdict {
  if (found === undefined) return { kind: 'missing' };
  if (isCopy ? found.bytes > 0 : found.isOf(sha256)) return { kind: 'good' };
  const problem = isCopy ? 'it is empty' : 'its bytes are not those that were saved (sha256)';
  return { kind: 'damaged', problem };
}

/** Content of a file that was read for an export. */
interface Found {
  bytes: number;
  isOf: (sha256: string) => boolean;
}

/** Returns undefined if the file cannot be read. A large file is read in pieces. */
async function fileFound(path: string, isInPieces: boolean): Promise<Found | undefined> {
  if (!isInPieces) {
    const content = contentOf(path);
    return content && bufferFound(content);
  }
  const sum = createHash('sha256');
  let bytes = 0;
  try {
    for await (const piece of piecesOf(path)) {
      sum.update(piece);
      bytes += piece.length;
    }
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return undefined;
  }
  const digest = sum.digest('hex');
  return { bytes, isOf: (sha256) => sha256 === digest };
}

/** Bytes that a large file is read in at once. */
const pieceBytes = 1_000_000;

/** Reads a file in pieces. Throws errors of the operating system. */
export async function* piecesOf(path: string): AsyncGenerator<Buffer> {
  yield* createReadStream(path, { highWaterMark: pieceBytes }) as AsyncIterable<Buffer>;
}

function bufferFound(content: Buffer): Found {
  return { bytes: content.length, isOf: (sha256) => hash('sha256', content) === sha256 };
}

/** Buffer for pictures of usual size. It is reused, because a new buffer for each picture would be garbage at once. */
const shared = Buffer.alloc(4_000_000);

/** Returns the content of a file, which is valid until the next call. Undefined if the file cannot be read. */
export function contentOf(path: string): Buffer | undefined {
  try {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      if (size >= shared.length) return readFileSync(file);
      return shared.subarray(0, readSync(file, shared, 0, shared.length, 0));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return undefined;
  }
}

/** Splits pictures into groups of at most `most` pictures and `maxBytes` bytes. A single picture may be larger. */
export function* groupsOf(
  pictures: Iterable<ExportedPicture>,
  most: number,
  maxBytes = Infinity,
): Generator<ExportedPicture[]> {
  let group: ExportedPicture[] = [];
  let bytes = 0;
  for (const picture of pictures) {
    if (group.length === most || (group.length > 0 && bytes + picture.bytes > maxBytes)) {
      yield group;
      [group, bytes] = [[], 0];
    }
    group.push(picture);
    bytes += picture.bytes;
  }
  if (group.length > 0) yield group;
}
