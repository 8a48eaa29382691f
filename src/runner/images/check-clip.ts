/** Checks clips as they came and where they are stored, in parts, because a clip may be too large for memory. */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { type ClipFacts, type ClipFormat, clipEndings, clipFormats } from '../core/clip.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import {
  type FileKind,
  formatOfFile,
  type UncheckedPicture,
  type NamedFile,
  type Picture,
  pictureEndings,
  withoutFormat,
} from '../core/picture.ts';
import type { ExaminedPicture } from '../core/provenance.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import { type ByteSource, sourceOfBytes, sourceOfFile } from './byte-source.ts';
import { recogniseClip, wholeClip } from './clip-containers.ts';
import { decodeContent, isText, nameOfOtherFormat, recognise, type Unusable } from './decoding.ts';
import { digestIn, type FileSource, type Place, sourceIn } from './place.ts';
import { firstSuffix, withOrigin } from './sidecars.ts';

/** Checks a clip: the main result of a scene, or a file of `output.files`. Its bytes are kept unchanged. */
export async function checkClip(unchecked: UncheckedPicture): Promise<Picture | Failure> {
  if ('received' in unchecked) {
    const { received } = unchecked;
    const check = async (file: FileHandle): Promise<Picture | Failure> => {
      const clip = await checkSource(sourceOfFile(file, received.length), unchecked.named);
      const content = Buffer.alloc(0);
      return checked(clip, unchecked, { content, received, sha256: received.sha256 });
    };
    return withDiskFailure(received.path, () => withFile(received.path, check));
  }
  const { problem, ...content } = await decoded(unchecked);
  const clip = problem ?? (await checkSource(sourceOfBytes(content.content), unchecked.named));
  return checked(clip, unchecked, content);
}

function checked(
  clip: Clip | Unusable,
  { named, output }: Pick<UncheckedPicture, 'named' | 'output'>,
  content: Pick<Picture, 'content' | 'received' | 'sha256'>,
): Picture | Failure {
  if ('problem' in clip) {
    const text = `${named === undefined ? 'the clip' : `the file ${named.label}`} cannot be used: ${clip.problem}`;
    return { kind: kindOf(clip), text, digest: content.sha256, ...(clip.isText && { isText: clip.isText }) };
  }
  const { format, width, height, facts } = clip;
  return {
    ...content,
    ...(named === undefined && { format }),
    width,
    height,
    output: { ...output, clip: facts },
  };
}

function kindOf({ kind, isUnsupported = false }: Unusable): FailureKind {
  return kind ?? (isUnsupported ? 'output-unsupported' : 'bad-clip');
}

interface Clip {
  format: ClipFormat;
  /** 0 for sound. */
  width: number;
  height: number;
  facts: ClipFacts;
}

/** Returns facts about a whole clip, or what is wrong with it. */
async function checkSource(source: ByteSource, named?: NamedFile): Promise<Clip | Unusable> {
  const beginning = await source.read(0, beginningBytes);
  const format = await recogniseClip(source);
  const asked = named?.kind;
  if (format === undefined) return otherThanClip(beginning, asked);
  if (asked !== undefined && clipEndings[format] !== `.${asked}`) return otherKind(format, asked);
  const whole = await wholeClip(source, format);
  if ('problem' in whole) return whole;
  const { width, height, ...facts } = whole;
  return { format, width, height, facts };
}

/** Number of bytes at the beginning that show the format. */
const beginningBytes = 4096;

function otherThanClip(beginning: Buffer, asked: FileKind | undefined): Unusable {
  if (beginning.length === 0) return { problem: 'it is empty' };
  const name = nameOfOtherFormat(beginning, 'json');
  if (name !== undefined && asked !== undefined) return otherKind(name, asked);
  if (name !== undefined)
    return {
      problem: `it is ${name}, and only ${clipFormats.join(', ')} are saved as clips`,
      isUnsupported: true,
    };
  const what = recognise(beginning);
  const problem = 'problem' in what ? what.problem : `it is a ${what.format}`;
  return { problem, ...(isText(beginning) && { isText: true }) };
}

function otherKind(name: string, asked: FileKind): Unusable {
  const problem = `it is ${name}, and \`output.files\` asks for ${asked.toUpperCase()}: let the worker send that, or correct \`kind\` or \`at\``;
  return { problem, kind: 'other-file-kind' };
}

/**
 * Keeps the bytes of a refused result durably in the place, under `file` with the extension of its format and
 * `.damaged` or `.kept`, and returns the name. Another file of that name stays. Returns the name of a file that has
 * these bytes already, which a crashed run kept.
 */
export async function keepRefused(
  place: Place,
  unchecked: UncheckedPicture,
  file: string,
  as: 'damaged' | 'kept',
): Promise<string> {
  const { source, ending, bytes, sha256 } = await sourceOf(unchecked);
  const name = unchecked.named !== undefined ? file : withoutFormat(file) + ending;
  const isUsable = async (suffix: string): Promise<boolean> => {
    const facts = await place.facts(name + suffix);
    if (facts === undefined) return true;
    if (facts.kind !== 'file' || facts.bytes !== bytes) return false;
    return facts.isOf(sha256) ?? (await digestIn(place, name + suffix)) === sha256;
  };
  const kept = name + (await firstSuffix(as, isUsable));
  if ((await place.facts(kept)) === undefined) await place.put(kept, source, { sha256 });
  else await place.makeLast(kept);
  return kept;
}

async function sourceOf(
  unchecked: UncheckedPicture,
): Promise<{ source: FileSource; ending: string; bytes: number; sha256: string }> {
  if ('received' in unchecked) {
    const { path, length: bytes, sha256 } = unchecked.received;
    const read = (file: FileHandle) => endingOf(sourceOfFile(file, bytes));
    const ending = await withDiskFailure(path, () => withFile(path, read));
    return { source: { path, isMoved: true }, ending, bytes, sha256 };
  }
  const { content, sha256 } = await decoded(unchecked);
  const ending = await endingOf(sourceOfBytes(content));
  return { source: content, ending, bytes: content.length, sha256 };
}

/** Extensions of formats that are not saved, by a word of their names. */
const otherEndings = { AVI: '.avi', Matroska: '.mkv', TIFF: '.tiff', BMP: '.bmp', HEIF: '.heif' };

/** Returns the file extension of the content. Empty if its format is unknown. */
async function endingOf(source: ByteSource): Promise<string> {
  const clip = await recogniseClip(source);
  if (clip !== undefined) return clipEndings[clip];
  const beginning = await source.read(0, beginningBytes);
  const picture = recognise(beginning);
  if ('format' in picture) return pictureEndings[picture.format];
  const name = nameOfOtherFormat(beginning, 'json') ?? '';
  return Object.entries(otherEndings).find(([word]) => name.includes(word))?.[1] ?? '';
}

/** Returns the bytes of a clip in memory. Text that is not base64 is returned as it came. */
async function decoded(
  unchecked: UncheckedPicture,
): Promise<{ content: Buffer; sha256: string; problem?: Unusable }> {
  const bytes = await decodeContent(unchecked);
  const content = 'bytes' in bytes ? bytes.bytes : Buffer.from('base64' in unchecked ? unchecked.base64 : '');
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { content, sha256, ...('problem' in bytes && { problem: bytes }) };
}

/**
 * Checks a stored clip without a record, and reads its provenance, unless it is a file of `output.files`. `sidecar`:
 * reads the sidecar. Throws `UnreadableFile`.
 */
export async function examineClip(
  place: Place,
  file: string,
  named: NamedFile | undefined,
  sidecar: () => Promise<string | undefined>,
): Promise<ExaminedPicture | { problem: string }> {
  const facts = await place.facts(file);
  if (facts?.kind !== 'file') return { problem: 'there is no such file' };
  const clip = await checkStored(place, file, facts.bytes, named);
  if ('problem' in clip) return clip;
  const { format, width, height } = clip;
  if (formatOfFile(file) !== format) return { problem: `it is ${format}, but its name says otherwise` };
  const sha256 = await digestIn(place, file);
  if (sha256 === undefined) return { problem: 'it has disappeared' };
  const picture = { file, width, height, bytes: facts.bytes, sha256, output: { clip: clip.facts } };
  if (named !== undefined) return { picture: { ...picture, label: named.label }, origin: undefined };
  return withOrigin(picture, undefined, await sidecar());
}

/** Returns what is wrong with a stored clip; undefined if it is whole. Throws `UnreadableFile`. */
export async function problemOfClip(place: Place, file: string, bytes: number): Promise<string | undefined> {
  const clip = await checkStored(place, file, bytes);
  if ('problem' in clip) return clip.problem;
  return formatOfFile(file) === clip.format ? undefined : `it is ${clip.format}, but its name says otherwise`;
}

function checkStored(place: Place, file: string, bytes: number, named?: NamedFile): Promise<Clip | Unusable> {
  return checkSource(withBlocks(sourceIn(place, file, bytes)), named);
}

/** Size of the blocks that are read of a stored clip. A check reads many small parts, each a request to a bucket. */
const blockBytes = 1024 * 1024;

/** Returns the same content, read in blocks. The last two are kept, because a check may read at two places in turn. */
function withBlocks(source: ByteSource): ByteSource {
  let kept: { at: number; bytes: Buffer }[] = [];
  const blockAt = async (at: number): Promise<Buffer> => {
    const known = kept.find((block) => block.at === at);
    const bytes = known?.bytes ?? (await source.read(at, blockBytes));
    kept = [{ at, bytes }, ...kept.filter((block) => block.at !== at).slice(0, 1)];
    return bytes;
  };
  return {
    length: source.length,
    read: async (from, length) => {
      const parts: Buffer[] = [];
      const end = Math.min(from + length, source.length);
      for (let at = from; at < end;) {
        const start = at - (at % blockBytes);
        const part = (await blockAt(start)).subarray(at - start, end - start);
        if (part.length === 0) break;
        parts.push(part);
        at += part.length;
      }
      return parts.length === 1 ? (parts[0] ?? Buffer.alloc(0)) : Buffer.concat(parts);
    },
  };
}

async function withFile<T>(path: string, work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path);
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}
