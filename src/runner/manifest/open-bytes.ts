/** Reads the bytes of a manifest, decompressed and in UTF-8 without a byte order mark, and computes their hash. */
import { constants, createReadStream, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { createHash } from 'node:crypto';
import { isGlob, noMatch } from '../../lib/files/glob.ts';
import { similarFile } from '../../lib/files/similar-file.ts';
import { asUtf8, EncodingProblem, headBytes } from './encodings.ts';
import type { ListReading } from '../core/list-reading.ts';
import { ManifestError } from './manifest.ts';
import { isZstd, ZstdProblem } from './zstd-frame.ts';

const chunkBytes = 128 * 1024;
const gzipMagic = Buffer.from([0x1f, 0x8b]);
/** Number of bytes that show how a file is packed. */
const magicBytes = 4;
/** First bytes of a zip file, such as .xlsx, and of .xls or of .xlsx with a password. */
const workbookMagics = [Buffer.from('PK\x03\x04'), Buffer.from([0xd0, 0xcf, 0x11, 0xe0])];

/** True if the path is a folder. Throws `ManifestError` if nothing readable is there. */
export async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw explain(path, error);
  }
}

/** Opens the file. Errors occur now or when it is read. */
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

/**
 * Returns the decoded bytes of a text, or the bytes of a workbook unchanged. Passes all raw bytes to
 * `onBytes`. Throws `ManifestError`, now or while the bytes are read.
 */
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

/**
 * Returns the sha256 of the file's bytes; undefined if it is not a regular file, which could be read twice.
 * Throws the `AbortError` of `signal`, and the system's errors.
 */
export async function hashManifest(path: string, signal: AbortSignal): Promise<string | undefined> {
  if (!(await stat(path)).isFile()) return undefined;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: hashChunkBytes, signal }))
    hash.update(chunk as Buffer);
  return hash.digest('hex');
}
