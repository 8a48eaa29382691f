/** Pictures that were saved earlier: whether they are there and as they were saved, and their copies in another place. */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import { FatalFailure } from '../core/failure.ts';
import { formatOfFile, kindOfFile, sidecarPath } from '../core/picture.ts';
import type { RecordedPicture, Verdict } from '../core/scene-record.ts';
import type { MissingPictures } from '../pipeline/ports.ts';
import { wholeFile, wholePicture } from './check-file.ts';
import { readIfReadable, UnreadableFile, type Place } from './place.ts';
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
  const content = await place.read(file);
  return content === undefined ? { kind: 'missing' } : inspectBytes(content, picture);
}

async function inspectBytes(
  content: Buffer,
  { file, bytes, sha256, width, height }: Recorded,
): Promise<Verdict> {
  if (content.length !== bytes) return otherSize(content.length, bytes);
  if (digestOf(content) !== sha256) return otherBytes;
  const format = formatOfFile(file);
  const whole = await (format === undefined
    ? wholeFile(content, kindOfFile(file), width * height)
    : wholePicture(content, format, width * height));
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
export async function holds(
  place: Place,
  { file, bytes, sha256 }: Pick<Recorded, 'file' | 'bytes' | 'sha256'>,
): Promise<boolean> {
  const facts = await place.facts(file);
  if (facts?.kind !== 'file' || facts.bytes !== bytes) return false;
  const isSame = facts.isOf(sha256) ?? isOf(await place.read(file), sha256);
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
  const content = isThere ? undefined : await readIfReadable(from, file);
  if (!isThere && content === undefined) return { kind: 'missing' };
  if (content !== undefined && digestOf(content) !== sha256) return otherBytes;
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

/** Like `holds`, but also false if the file cannot be read, so that a copy replaces it. */
async function hasCopy(to: Place, copy: Pick<Recorded, 'file' | 'bytes' | 'sha256'>): Promise<boolean> {
  try {
    return await holds(to, copy);
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
  /** Endings of copies, which replace the ending of the picture. */
  copyEndings?: readonly string[];
}
