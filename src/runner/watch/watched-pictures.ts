/** The pictures and clips of the watched batch and their thumbnails, from the folders or from the bucket, and nothing else. */
import type { IncomingMessage } from 'node:http';
import { constants } from 'node:fs';
import { open, realpath, type FileHandle } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { type FiledText, OpenFile, type OpenText } from '../../lib/files/filed-text.ts';
import type { HttpResponse } from '../../lib/http/http-response.ts';
import { decodedPart } from '../../lib/text/format.ts';
import { earlierThumbnail, isClipFile } from '../core/picture.ts';
import type { ClipElsewhere, WatchedBatch } from './broadcast.ts';

export class WatchedPictures {
  readonly #of: WatchedBatch;

  constructor(batch: WatchedBatch) {
    this.#of = batch;
  }

  /** Returns undefined if there is no such picture. `of` names the picture that is sent if its thumbnail is missing. */
  async answer(
    request: IncomingMessage,
    asked: string,
    query: URLSearchParams,
  ): Promise<HttpResponse | undefined> {
    const { imagesDir, thumbnailsDir, readElsewhere } = this.#of;
    const [, folder, path = ''] = /^(images|thumbnails)\/(.+)$/.exec(decodedPart(asked)) ?? [];
    if (folder === undefined) return undefined;
    const fromImages = async (name: string, isPinned: boolean) => {
      const clip = await this.#clipElsewhere(name);
      if (clip !== undefined) return clip === null ? undefined : await elsewhereAnswer(request, clip);
      const elsewhere = await readElsewhere?.('picture', name);
      // The folder may still have pictures from before they were moved.
      if (elsewhere !== undefined) return objectAnswer(elsewhere);
      return await fileAnswer(request, { dir: imagesDir, path: name, isPinned });
    };
    if (folder === 'images') return await fromImages(path, query.has('v'));
    for (const name of [path, earlierThumbnail(path)]) {
      const thumbnail = await fileAnswer(request, { dir: thumbnailsDir, path: name, isPinned: true });
      if (thumbnail !== undefined) return thumbnail;
    }
    const thumbnail = objectAnswer(await readElsewhere?.('thumbnail', path));
    const of = query.get('of') ?? '';
    // A clip cannot be shown in place of its poster.
    return thumbnail ?? (isClipFile(of) ? undefined : await fromImages(of, false));
  }

  async #clipElsewhere(file: string): Promise<ClipElsewhere | null | undefined> {
    return isClipFile(file) ? await this.#of.openElsewhere?.(file) : undefined;
  }

  /**
   * Returns a picture or clip, which the caller closes, or why it cannot be sent. Rejects if the bucket cannot be read,
   * because then all other pictures would be missing too.
   */
  async read(path: string): Promise<Buffer | OpenText | { problem: string }> {
    const clip = await this.#clipElsewhere(path);
    if (clip) return new TextElsewhere(clip, 0, clip.length);
    const elsewhere = clip === null ? null : await this.#of.readElsewhere?.('picture', path);
    if (elsewhere === null) return { problem: 'the file is gone' };
    if (elsewhere === undefined) return await readWithin(this.#of.imagesDir, path);
    return mediaType(elsewhere.subarray(0, 48)) === undefined ? noMedia : elsewhere;
  }
}

/** A clip in a bucket, read while it is sent. */
class TextElsewhere implements OpenText {
  readonly byteCount: number;
  readonly #clip: ClipElsewhere;
  readonly #from: number;

  constructor(clip: ClipElsewhere, from: number, byteCount: number) {
    this.#clip = clip;
    this.#from = from;
    this.byteCount = byteCount;
  }

  async *pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < this.byteCount;) {
      const piece = await this.#clip.read(this.#from + at, Math.min(pieceBytes, this.byteCount - at));
      if (piece.length === 0) throw new Error('the object is shorter than it was');
      at += piece.length;
      yield piece;
    }
  }

  async close(): Promise<void> {
    // Nothing is open between two reads.
  }
}

/** Size of the pieces in which a clip is read from a bucket, in bytes. Each piece is one request. */
const pieceBytes = 1024 * 1024;

const noMedia = { problem: 'the file is no picture or clip' };

async function readWithin(dir: string, path: string): Promise<OpenText | { problem: string }> {
  let file: FileHandle | undefined;
  let read: OpenText | undefined;
  try {
    file = await openWithin(dir, path.split('/'));
    const stats = await file?.stat();
    if (file === undefined || stats?.isFile() !== true) return { problem: 'the file is gone' };
    if ((await typeOf(file)) === undefined) return noMedia;
    read = new OpenFile(file, stats.size);
    return read;
  } catch (error) {
    return { problem: `the file cannot be read (${(error as NodeJS.ErrnoException).code})` };
  } finally {
    if (read === undefined) await file?.close();
  }
}

/** Names of objects say what they hold, so browsers need not ask again. Returns undefined if this is no picture or clip. */
function objectAnswer(bytes: Buffer | null | undefined): HttpResponse | undefined {
  const type = bytes && mediaType(bytes.subarray(0, 48));
  if (!bytes || !type) return undefined;
  const headers = { 'Cache-Control': 'private, max-age=86400, immutable', 'Content-Type': type };
  return { status: 200, body: bytes, headers };
}

/**
 * Returns a picture or clip of `dir`, or the range of it that was asked for, or 304 if the browser has it already. Returns
 * undefined if the file is missing, or is neither a picture nor a clip. `path` is relative to `dir`, with `/` as separator. `isPinned` is true if the URL names the content as well, so that browsers
 * need not ask again. Rejects if the system cannot read the file.
 */
async function fileAnswer(
  request: IncomingMessage,
  { dir, path, isPinned }: { dir: string; path: string; isPinned: boolean },
): Promise<HttpResponse | undefined> {
  const file = await openWithin(dir, path.split('/'));
  let body: FiledText | undefined;
  try {
    const stats = await file?.stat();
    const type = file && stats?.isFile() ? await typeOf(file) : undefined;
    if (file === undefined || stats === undefined || type === undefined) return undefined;
    const parts = [stats.size, Math.round(stats.mtimeMs), stats.ino];
    const etag = `"${parts.map((part) => part.toString(36)).join('-')}"`;
    const caching = isPinned ? 'private, max-age=86400, immutable' : 'private, no-cache';
    const headers = { 'Cache-Control': caching, ETag: etag, 'Accept-Ranges': 'bytes' };
    if (request.headers['if-none-match'] === etag) return { status: 304, body: '', headers };
    const asked = rangeOf(request, stats.size, etag);
    if (asked === 'none') return noSuchRange(stats.size, headers);
    const { from, to } = asked;
    body = [new OpenFile(file, to - from, from)];
    return rangedAnswer(asked, stats.size, body, { ...headers, 'Content-Type': type });
  } finally {
    if (body === undefined) await file?.close();
  }
}

/** Returns a clip of a bucket, or a range of it. Undefined if it is no clip. */
async function elsewhereAnswer(
  request: IncomingMessage,
  clip: ClipElsewhere,
): Promise<HttpResponse | undefined> {
  const type = mediaType(await clip.read(0, 48));
  if (type === undefined) return undefined;
  // The content of a name never changes in a bucket.
  const etag = `"${clip.length.toString(36)}"`;
  const headers = {
    'Cache-Control': 'private, max-age=86400, immutable',
    ETag: etag,
    'Accept-Ranges': 'bytes',
  };
  const asked = rangeOf(request, clip.length, etag);
  if (asked === 'none') return noSuchRange(clip.length, headers);
  const body = [new TextElsewhere(clip, asked.from, asked.to - asked.from)];
  return rangedAnswer(asked, clip.length, body, { ...headers, 'Content-Type': type });
}

interface ByteRange {
  from: number;
  /** End of the range, exclusive. */
  to: number;
  isWhole?: true;
}

function noSuchRange(size: number, headers: Record<string, string>): HttpResponse {
  return { status: 416, body: '', headers: { ...headers, 'Content-Range': `bytes */${size}` } };
}

function rangedAnswer(
  { from, to, isWhole }: ByteRange,
  size: number,
  body: FiledText,
  headers: Record<string, string>,
): HttpResponse {
  if (isWhole) return { status: 200, body, headers };
  return { status: 206, body, headers: { ...headers, 'Content-Range': `bytes ${from}-${to - 1}/${size}` } };
}

/**
 * Returns the range of the file that a player asks for (RFC 9110, 14.2), or `none` if the file has no such bytes. The range is
 * the whole file if there is none in the request, or several, or if the file is no longer the one that `If-Range` names.
 */
function rangeOf({ method, headers }: IncomingMessage, size: number, etag: string): ByteRange | 'none' {
  const whole: ByteRange = { from: 0, to: size, isWhole: true };
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.range ?? '') ?? [];
  if (method !== 'GET' || first === undefined || last === undefined || first + last === '') return whole;
  if ((headers['if-range'] ?? etag) !== etag) return whole;
  if (first === '')
    return Number(last) === 0 || size === 0 ? 'none' : { from: Math.max(0, size - Number(last)), to: size };
  const from = Number(first);
  if (last !== '' && Number(last) < from) return whole;
  return from >= size ? 'none' : { from, to: last === '' ? size : Math.min(size, Number(last) + 1) };
}

/** Opens a file of the folder. Follows links only within the folder, which may be a link itself. */
async function openWithin(dir: string, parts: string[]): Promise<FileHandle | undefined> {
  if (parts.some((part) => /^\.{0,2}$|[/\\\0]/.test(part))) return undefined;
  try {
    const root = await realpath(dir);
    const real = await realpath(join(root, ...parts));
    if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined;
    // Opening a named pipe would wait for its other end.
    return await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

function isGone(error: unknown): boolean {
  const code = String((error as NodeJS.ErrnoException).code);
  return ['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO', 'EINVAL'].includes(code);
}

async function typeOf(file: FileHandle): Promise<string | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(48), 0, 48, 0);
  return mediaType(buffer.subarray(0, bytesRead));
}

/** Detects the type from the first bytes, so that no file name can turn a picture or clip into a script. */
function mediaType(start: Buffer): string | undefined {
  const head = start.toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1A\n')) return 'image/png';
  if (head.startsWith('\xFF\xD8\xFF')) return 'image/jpeg';
  if (/^RIFF[^]{4}WEBP/.test(head)) return 'image/webp';
  if (/^[^]{4}ftyp(?:mif1[^]{4}(?:[^]{4})*?)?avi[fs]/.test(head)) return 'image/avif';
  if (head.startsWith('\x1A\x45\xDF\xA3')) return 'video/webm';
  return clipTypes.find(([beginning]) => beginning.test(head))?.[1];
}

const clipTypes: readonly (readonly [beginning: RegExp, type: string])[] = [
  // Earlier QuickTime files have no `ftyp`.
  [/^[^]{4}(?:ftypqt {2}|moov|mdat|wide|free|skip)/, 'video/quicktime'],
  [/^[^]{4}ftyp/, 'video/mp4'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^(?:RIFF|RF64)[^]{4}WAVE/, 'audio/wav'],
  [/^fLaC/, 'audio/flac'],
  [/^OggS/, 'audio/ogg'],
  // Layer III of MPEG 1, 2 and 2.5.
  [/^(?:ID3|\xFF[\xE2\xE3\xF2\xF3\xFA\xFB])/, 'audio/mpeg'],
];
