/** Reads the bytes of a manifest, decompressed and in UTF-8 without a byte order mark, and computes their hash. */
import { createHash } from 'node:crypto';
import { constants, createReadStream, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { isGlob, noMatch, similarFile } from '../../lib/files/glob.ts';
import type { ListReading } from '../core/expansion.ts';
import { ManifestError } from './manifest.ts';
import { isFrame, isSkippable, ZstdProblem } from './unpack-zstd.ts';

const chunkBytes = 128 * 1024;
const gzipMagic = Buffer.from([0x1f, 0x8b]);
/** Number of bytes that show how a file is packed. */
const magicBytes = 4;
/** First bytes of a zip file, such as .xlsx, and of .xls or of .xlsx with a password. */
const workbookMagics = [Buffer.from('PK\x03\x04'), Buffer.from([0xd0, 0xcf, 0x11, 0xe0])];

/** Opens the file. Throws the errors of the system, now or when the stream is read. */
export async function openFile(path: string): Promise<Readable> {
  if (!(await stat(path)).isFIFO()) return createReadStream(path, { highWaterMark: chunkBytes });
  // A blocking read of a pipe would keep the process from ending until somebody writes.
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return new Socket({ fd, readable: true, writable: false });
  } catch (error) {
    throw explain(path, error);
  }
}

/** Returns decoded bytes, or a workbook unchanged. `onBytes` gets all raw bytes. Throws `ManifestError`. */
export async function plainBytes(
  shown: string,
  stream: Readable,
  onBytes: (bytes: Buffer) => void,
  encoding: ListReading['encoding'],
): Promise<AsyncGenerator<Buffer>> {
  try {
    const raw = await peek(observed(buffersOf(stream), onBytes), magicBytes);
    const { head, bytes } = await peek(unpacked(raw), headBytes);
    return explained(shown, isWorkbook(head) ? bytes : asUtf8(head, bytes, encoding));
  } catch (error) {
    throw explain(shown, error);
  }
}

/** True for an .xlsx or other zip file, and for .xls or an encrypted .xlsx. `head`: the first 4 bytes or more. */
export function isWorkbook(head: Buffer): boolean {
  return workbookMagics.some((magic) => startsWith(head, magic));
}

async function* buffersOf(stream: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    if (Buffer.isBuffer(chunk)) yield chunk;
    else if (typeof chunk === 'string' || chunk instanceof Uint8Array) yield Buffer.from(chunk);
    else throw new TypeError('a manifest is read from bytes');
  }
}

async function* observed(
  bytes: AsyncIterable<Buffer>,
  onBytes: (bytes: Buffer) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    onBytes(chunk);
    yield chunk;
  }
}

export interface Peeked {
  head: Buffer;
  bytes: AsyncGenerator<Buffer>;
}

/** Returns at least the first `count` bytes, or all if there are fewer, and an iterator of all bytes. */
export async function peek(bytes: AsyncGenerator<Buffer>, count: number): Promise<Peeked> {
  let head = Buffer.alloc(0);
  while (head.length < count) {
    const next = await bytes.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  return { head, bytes: startingWith(head, bytes) };
}

export async function* startingWith<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first;
  yield* rest;
}

function startsWith(bytes: Buffer, mark: Buffer): boolean {
  return bytes.subarray(0, mark.length).equals(mark);
}

function unpacked({ head, bytes }: Peeked): AsyncGenerator<Buffer> {
  if (startsWith(head, gzipMagic)) return gunzip(bytes);
  return isZstd(head) ? unzstd(bytes) : bytes;
}

async function* unzstd(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  // Loads the decompressor only if it is needed, because most lists are not packed with zstd.
  const { unpackZstd } = await import('./unpack-zstd.ts');
  yield* unpackZstd(bytes);
}

async function* gunzip(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  // The iteration below throws every error of the pipeline, so the callback has nothing to do.
  yield* buffersOf(pipeline(Readable.from(bytes), createGunzip({ chunkSize: chunkBytes }), () => {}));
}

async function* explained(shown: string, bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* bytes;
  } catch (error) {
    throw explain(shown, error);
  }
}

const reasons: Record<string, string> = {
  ENOTDIR: 'does not exist: part of its path is a file, not a folder',
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  EISDIR: 'is a folder, not a file',
};

/** Returns the error in words for a person. An error that is not the system's is a bug, and returned unchanged. */
export function explain(shown: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ManifestError) return error;
  if (error instanceof EncodingProblem) return new ManifestError(shown, error.message);
  if (error instanceof ZstdProblem) return new ManifestError(shown, `is a zstd file that ${error.message}`);
  const code = 'code' in error ? String(error.code) : '';
  if (code.startsWith('Z_')) {
    return new ManifestError(shown, `is a gzip file that is damaged or truncated (${error.message})`);
  }
  if (code === 'ENOENT')
    return new ManifestError(shown, isGlob(shown) ? noMatch(shown) : `does not exist${similarFile(shown)}`);
  if (reasons[code] !== undefined) return new ManifestError(shown, reasons[code]);
  return 'syscall' in error ? new ManifestError(shown, `cannot be read (${code})`) : error;
}

const hashChunkBytes = 1024 * 1024;

/** Returns the sha256; undefined if it is not a regular file. Throws the `AbortError` and system errors. */
export async function hashManifest(path: string, signal: AbortSignal): Promise<string | undefined> {
  if (!(await stat(path)).isFile()) return undefined;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: hashChunkBytes, signal }))
    hash.update(chunk as Buffer);
  return hash.digest('hex');
}

const utf8Mark = Buffer.from([0xef, 0xbb, 0xbf]);
const utf16Marks = { 'utf-16le': Buffer.from([0xff, 0xfe]), 'utf-16be': Buffer.from([0xfe, 0xff]) };

/** Number of first bytes that `asUtf8` needs to see before the others. */
const headBytes = 4;

/** Thrown if a text cannot be decoded. The message follows the name of the text. */
export class EncodingProblem extends Error {}

/** Decodes a text that begins with `head`, without its byte order mark. Throws `EncodingProblem`. */
export async function* asUtf8(
  head: Buffer,
  bytes: AsyncIterable<Buffer>,
  encoding: ListReading['encoding'],
): AsyncGenerator<Buffer> {
  const begins = (mark: Buffer): boolean => head.subarray(0, mark.length).equals(mark);
  if (begins(utf8Mark)) yield* withoutStart(bytes, utf8Mark.length);
  else if (begins(utf16Marks['utf-16le'])) yield* fromUtf16(bytes, 'utf-16le');
  else if (begins(utf16Marks['utf-16be'])) yield* fromUtf16(bytes, 'utf-16be');
  else if (/^(?:\0[^\0]){2}|^(?:[^\0]\0){2}/.test(head.toString('latin1')))
    throw new EncodingProblem('is in UTF-16 without a byte order mark; save it as UTF-8');
  else if (encoding === undefined) yield* bytes;
  else yield* windows1252ToUtf8(bytes);
}

/** Converts Windows-1252 to UTF-8. Refuses valid UTF-8 with characters beyond ASCII, whose prompts it would garble. */
async function* windows1252ToUtf8(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let [isUtf8, example] = [true, ''];
  const look = (piece: Buffer | undefined): void => {
    try {
      const text = decoder.decode(piece, { stream: piece !== undefined });
      example ||= wordsBeyondAscii(text)[0] ?? '';
    } catch {
      isUtf8 = false;
    }
  };
  for await (const chunk of bytes) {
    if (isUtf8) look(chunk);
    yield Buffer.from(fromWindows1252(chunk));
  }
  if (isUtf8) look(undefined);
  if (isUtf8 && example !== '')
    throw new EncodingProblem(
      `is in UTF-8, and not in Windows-1252, which would read ${example} as "${fromWindows1252(Buffer.from(example.slice(1, -1)))}"; save it in Windows-1252 as well, or leave out encoding`,
    );
}

async function* withoutStart(bytes: AsyncIterable<Buffer>, count: number): AsyncGenerator<Buffer> {
  let skipped = count;
  for await (const chunk of bytes) {
    yield chunk.subarray(skipped);
    skipped = 0;
  }
}

async function* fromUtf16(
  bytes: AsyncIterable<Buffer>,
  encoding: 'utf-16le' | 'utf-16be',
): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  try {
    for await (const chunk of bytes) yield Buffer.from(decoder.decode(chunk, { stream: true }));
    yield Buffer.from(decoder.decode());
  } catch (error) {
    const isDamage = error instanceof TypeError && 'code' in error;
    throw isDamage ? new EncodingProblem('is in UTF-16 and damaged or truncated; save it as UTF-8') : error;
  }
}

/** Explains why a line or an element is not UTF-8, in words that follow its place. */
export function notUtf8(bytes: Buffer): string {
  const examples = wordsBeyondAscii(fromWindows1252(bytes));
  if (examples.length === 0) return 'is not valid UTF-8; save the list as UTF-8';
  return `is not valid UTF-8; as Windows-1252 it reads ${examples.slice(0, 3).join(', ')}: if that is right, add encoding: windows-1252 to pipeline.yaml`;
}

/** Returns the words with characters beyond ASCII, in quotation marks. */
function wordsBeyondAscii(text: string): string[] {
  const words = text.split(/[\s\p{C},;"]+/u).filter((word) => /[^\0-\x7f]/.test(word));
  return words.map((word) => `"${word.slice(0, 40)}"`);
}

/** Characters of the bytes 0x80 to 0x9f. In Node 20.20, `TextDecoder` returns control characters for them. */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

function fromWindows1252(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  return text.replaceAll(/[\x80-\x9f]/g, (control) => windows1252[control.charCodeAt(0) - 0x80] ?? control);
}

function isZstd(start: Buffer): boolean {
  return isFrame(start) || isSkippable(start);
}
