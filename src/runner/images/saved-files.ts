/** Pictures that were saved earlier: whether they are there and as they were saved, and copies of them and of the report in another place. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import { FatalFailure } from '../core/failure.ts';
import { isSystemError } from '../files/disk-failure.ts';
import { isClipFile, sidecarPath } from '../core/picture.ts';
import type { RecordedPicture, Verdict } from '../core/scene-record.ts';
import type { MissingPictures } from '../pipeline/ports.ts';
import { wholeStored } from './check-file.ts';
import {
  digestIn,
  type FileSource,
  type Place,
  readBytes,
  readIfReadable,
  sourceIn,
  UnreadableFile,
} from './place.ts';
import { problemOfClip } from './check-clip.ts';
import { setAside } from './sidecars.ts';

type Recorded = Pick<RecordedPicture, 'file' | 'bytes' | 'sha256' | 'width' | 'height'>;

/**
 * Returns a function that compares a picture with its recorded size and sha256, and decodes it. Unless `isDeep`, it
 * trusts a place that keeps checksums. Throws `FatalFailure` if a picture exists but cannot be read.
 */
export function inspector(place: Place, isDeep: boolean): (picture: Recorded) => Promise<Verdict> {
  return async (picture) => {
    try {
      return await inspect(place, picture, isDeep);
    } catch (error) {
      if (!(error instanceof UnreadableFile)) throw error;
      const { path, code } = error;
      if (code === undefined) return noFile;
      // A read error may be temporary. Only content that was read counts as damaged, and is paid for again.
      const text = `cannot read ${path} (${code}), so it was not verified; make it readable, or move it away to have it rendered again, and verify again`;
      throw new FatalFailure({ kind: 'output-unwritable', text });
    }
  };
}

async function inspect(place: Place, picture: Recorded, isDeep: boolean): Promise<Verdict> {
  const { file, bytes, sha256 } = picture;
  if (!isDeep) {
    const facts = await place.facts(file);
    if (facts === undefined) return { kind: 'missing' };
    if (facts.kind !== 'file') return noFile;
    if (facts.bytes !== bytes) return otherSize(facts.bytes, bytes);
    if (facts.isOf(sha256) === true) return { kind: 'good' };
  }
  if (isClipFile(file)) return inspectClip(place, picture);
  const content = await place.read(file);
  return content === undefined ? { kind: 'missing' } : inspectBytes(content, picture);
}

/** Reads the clip in parts, because it may be too large for memory. */
async function inspectClip(place: Place, { file, bytes, sha256 }: Recorded): Promise<Verdict> {
  const facts = await place.facts(file);
  if (facts === undefined) return { kind: 'missing' };
  if (facts.kind !== 'file') return noFile;
  if (facts.bytes !== bytes) return otherSize(facts.bytes, bytes);
  if ((await digestIn(place, file)) !== sha256) return otherBytes;
  const problem = await problemOfClip(place, file, bytes);
  return problem === undefined ? { kind: 'good' } : damaged(problem);
}

async function inspectBytes(
  content: Buffer,
  { file, bytes, sha256, width, height }: Recorded,
): Promise<Verdict> {
  if (content.length !== bytes) return otherSize(content.length, bytes);
  if (digestOf(content) !== sha256) return otherBytes;
  const whole = await wholeStored(content, file, width * height);
  return 'problem' in whole ? damaged(whole.problem) : { kind: 'good' };
}

function damaged(problem: string): Verdict {
  return { kind: 'damaged', problem };
}

const noFile = damaged('something other than a file is in its place');
const otherBytes = damaged('its bytes are not those that were saved (sha256)');

function otherSize(bytes: number, recorded: number): Verdict {
  return damaged(`it has ${inBytes(bytes)} instead of ${inBytes(recorded)}`);
}

function inBytes(bytes: number): string {
  return `${bytes.toLocaleString('en')} bytes`;
}

/**
 * True if the file has exactly these bytes; makes it durable then. Throws `UnreadableFile`, because a
 * picture that counts as missing is paid for again.
 */
export async function hasPicture(
  place: Place,
  { file, bytes, sha256 }: Pick<Recorded, 'file' | 'bytes' | 'sha256'>,
): Promise<boolean> {
  const facts = await place.facts(file);
  if (facts?.kind !== 'file' || facts.bytes !== bytes) return false;
  const isSame = facts.isOf(sha256) ?? (await digestIn(place, file)) === sha256;
  if (isSame) await place.makeLast(file);
  return isSame;
}

function isOf(content: Buffer | undefined, sha256: string): boolean {
  return content !== undefined && digestOf(content) === sha256;
}

/** Returns undefined if the file is not the saved one, so that no other picture's copy passes as its copy. */
export async function readSavedFile(
  place: Pick<Place, 'read'>,
  file: string,
  sha256: string,
): Promise<Buffer | undefined> {
  const content = await readIfReadable(place, file);
  return isOf(content, sha256) ? content : undefined;
}

/**
 * Copies a picture with these sidecars, or a named file, unless `to` has it. Returns its state in `from`. Another file of
 * that name is kept as `.former`.
 */
export async function copyPicture(
  from: Place,
  to: Place,
  { file, label, bytes, sha256 }: RecordedPicture,
  endings: string[],
): Promise<Verdict> {
  const isThere = await hasCopy(to, { file, bytes, sha256 });
  const content = isThere ? undefined : await contentToCopy(from, file, sha256);
  if (!isThere && content === undefined) return { kind: 'missing' };
  if (content === 'other') return otherBytes;
  const isInTheWay = !isThere && !to.isNamedByAttempt && (await to.facts(file))?.kind === 'file';
  if (isInTheWay)
    await setAside(
      to,
      endings.map((each) => ({ ending: each })),
      file,
      'former',
    );
  for (const ending of label === null ? endings : []) {
    const name = sidecarPath(file, ending);
    if (name === file) continue;
    const beside = await readIfReadable(from, name);
    if (beside === undefined) continue;
    // A sidecar may be newer than a picture that was copied earlier.
    const same = { file: name, bytes: beside.length, sha256: digestOf(beside) };
    if (!isThere || !(await hasCopy(to, same))) await to.put(name, beside);
  }
  // The picture comes last, so its presence means that its sidecars are there too.
  if (content !== undefined) await to.put(file, content, { sha256 });
  return { kind: 'good' };
}

/** Returns the content with this sha256, in parts if it is large; undefined if there is no file that can be read. */
async function contentToCopy(
  from: Place,
  file: string,
  sha256: string,
): Promise<FileSource | 'other' | undefined> {
  try {
    const facts = await from.facts(file);
    if (facts === undefined) return undefined;
    const content = facts.bytes <= readBytes ? await from.read(file) : sourceIn(from, file, facts.bytes);
    const digest = content instanceof Uint8Array ? digestOf(content) : await digestIn(from, file);
    return content === undefined || digest === sha256 ? content : 'other';
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return undefined;
  }
}

/** Like `hasPicture`, but also false if the file cannot be read, so that a copy replaces it. */
async function hasCopy(to: Place, copy: Pick<Recorded, 'file' | 'bytes' | 'sha256'>): Promise<boolean> {
  try {
    return await hasPicture(to, copy);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return false;
  }
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Missing pictures up to which each is looked up, as it may have arrived after the listing. */
const maxMissing = 1_000;
const maxConcurrentQuestions = 32;

/** Number of pictures or listed files between two turns of the event loop, which take some milliseconds. */
const sliceSize = 500;

/** Finds saved pictures that are missing, by name and size. Returns undefined if `signal` aborts before the end. */
export async function findMissing(
  place: Place,
  pictures: Iterable<RecordedPicture>,
  signal: AbortSignal,
): Promise<MissingPictures | undefined> {
  const listed = place.isRemote ? await listedMarks(place, signal) : new Float64Array();
  if (listed === undefined) return undefined;
  const found: MissingPictures = { checked: 0, missing: 0, example: '' };
  const limit = pLimit(maxConcurrentQuestions);
  let unlisted: RecordedPicture[] = [];
  const isThere = async (file: string, bytes: number): Promise<boolean> => {
    const facts = await place.facts(file);
    return facts?.kind === 'file' && facts.bytes === bytes;
  };
  const isSaved = async ({ file, moveTo, bytes }: RecordedPicture): Promise<boolean> => {
    if (place.isRemote && found.missing >= maxMissing) return false;
    return (await isThere(file, bytes)) || (moveTo !== null && isThere(moveTo, bytes));
  };
  const askForAll = async (): Promise<void> => {
    const seen = await Promise.all(
      unlisted.map((picture) => (place.isRemote ? limit(isSaved, picture) : isSaved(picture))),
    );
    const missing = unlisted.filter((_, i) => seen[i] === false);
    if (found.missing === 0) found.example = missing[0]?.file ?? '';
    found.missing += missing.length;
    unlisted = [];
    await nextTurn();
  };
  for (const picture of pictures) {
    if (!has(listed, markOf(picture.file, picture.bytes))) unlisted.push(picture);
    found.checked += 1;
    if (found.checked % sliceSize !== 0) continue;
    await askForAll();
    if (signal.aborted) return undefined;
  }
  await askForAll();
  return found;
}

/** Returns sorted marks of all files in a place, or undefined on abort. Ten million files take 80 MB. */
async function listedMarks(place: Place, signal: AbortSignal): Promise<Float64Array | undefined> {
  let marks = new Float64Array(1024);
  let count = 0;
  for await (const { name, bytes } of place.list()) {
    if (signal.aborted) return undefined;
    if (count === marks.length) {
      const longer = new Float64Array(count * 2);
      longer.set(marks);
      marks = longer;
    }
    marks[count] = markOf(name, bytes);
    count += 1;
    if (count % sliceSize === 0) await nextTurn();
  }
  return marks.subarray(0, count).toSorted();
}

/** Returns 48 bits of a hash of name and size. Among ten million files, about one at most is mistaken for another. */
function markOf(name: string, bytes: number): number {
  return createHash('sha1').update(`${name}\0${bytes}`).digest().readUIntBE(0, 6);
}

function has(sorted: Float64Array, mark: number): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < mark) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === mark;
}

/** Rules that tell pictures from other files. */
export interface PictureListing {
  /** True if a file that is named like a copy may be a picture. */
  isOriginalKept?: boolean;
  /** True if only clips are listed, and no pictures. */
  isOfClips?: boolean;
  /** Endings of copies, which replace the ending of the picture. */
  copyEndings?: readonly string[];
}

/** Maximum number of concurrent uploads. Each holds a file of rows of about a megabyte in memory. */
const uploadsAtOnce = 8;

/** Uploads a report: what is read last is put last. If the report is replaced meanwhile, the process that replaced it uploads the new one. */
export async function uploadReport(to: Place, folder: string, signal?: AbortSignal): Promise<void> {
  try {
    await uploadFiles(to, folder, signal);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'ENOENT') throw error;
  }
}

/** Uploads the report. After an abort, throws the reason of `signal`; the page in the place stays intact. */
async function uploadFiles(to: Place, folder: string, signal?: AbortSignal): Promise<void> {
  const put = async (name: string): Promise<void> => {
    signal?.throwIfAborted();
    await to.put(name, { path: join(folder, name) });
  };
  const limit = pLimit(uploadsAtOnce);
  const before: string[] = [];
  for await (const { name } of to.list('gallery/')) before.push(name);
  const page = await readFile(join(folder, 'index.html'), 'utf8');
  // Signed links are credentials, so a report with them stays on this machine.
  if (page.includes('<meta name="nightrender-links" content="signed">')) return;
  const rows = /<meta name="nightrender-rows" content="([\w/-]+)">/.exec(page)?.[1] ?? '';
  const names = (await readdir(join(folder, rows))).map((name) => `${rows}/${name}`);
  await Promise.all(names.map((name) => limit(put, name)));
  for (const name of ['results.csv', 'results.jsonl', 'summary.json']) await put(name);
  await to.put('index.html', Buffer.from(page));
  const kept = new Set(names);
  for (const name of before) if (!kept.has(name)) await to.remove(name);
}
