/** The pictures of the watched batch and their thumbnails, from the folders or from the bucket, and nothing else. */
import type { IncomingMessage } from 'node:http';
import { constants } from 'node:fs';
import { open, realpath, type FileHandle } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { type FiledText, OpenFile } from '../../lib/files/filed-text.ts';
import type { HttpResponse } from '../../lib/http/http-response.ts';
import { earlierThumbnail } from '../core/picture.ts';
import type { WatchedBatch } from './broadcast.ts';

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
    const [, folder, path = ''] = /^(images|thumbnails)\/(.+)$/.exec(decoded(asked)) ?? [];
    if (folder === undefined) return undefined;
    const fromImages = async (name: string, isPinned: boolean) => {
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
    return thumbnail ?? (await fromImages(query.get('of') ?? '', false));
  }

  /**
   * Returns the bytes of a picture, or why it cannot be sent. Rejects if the bucket cannot be read, because then all other
   * pictures would be missing too.
   */
  async read(path: string): Promise<Buffer | { problem: string }> {
    const elsewhere = await this.#of.readElsewhere?.('picture', path);
    const bytes = elsewhere === undefined ? await readWithin(this.#of.imagesDir, path) : elsewhere;
    if (bytes === undefined || bytes === null) return { problem: 'the file is gone' };
    if (!Buffer.isBuffer(bytes)) return bytes;
    return pictureType(bytes.subarray(0, 48)) === undefined ? { problem: 'the file is no picture' } : bytes;
  }
}

async function readWithin(dir: string, path: string): Promise<Buffer | { problem: string } | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await openWithin(dir, path.split('/'));
    return (await file?.stat())?.isFile() === true ? await file?.readFile() : undefined;
  } catch (error) {
    return { problem: `the file cannot be read (${(error as NodeJS.ErrnoException).code})` };
  } finally {
    await file?.close();
  }
}

/** Returns an empty text if the path is not valid. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return '';
  }
}

/** Names of objects say what they hold, so browsers need not ask again. Returns undefined if this is no picture. */
function objectAnswer(bytes: Buffer | null | undefined): HttpResponse | undefined {
  const type = bytes && pictureType(bytes.subarray(0, 12));
  if (!bytes || !type) return undefined;
  const headers = { 'Cache-Control': 'private, max-age=86400, immutable', 'Content-Type': type };
  return { status: 200, body: bytes, headers };
}

/**
 * Returns a picture of `dir`, or 304 if the browser has it already. Returns undefined if the file is missing or not a picture.
 * `path` is relative to `dir`, with `/` as separator. `isPinned` is true if the URL names the content as well, so that browsers
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
    const headers = { 'Cache-Control': caching, ETag: etag };
    if (request.headers['if-none-match'] === etag) return { status: 304, body: '', headers };
    body = [new OpenFile(file, stats.size)];
    return { status: 200, body, headers: { ...headers, 'Content-Type': type } };
  } finally {
    if (body === undefined) await file?.close();
  }
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
  return pictureType(buffer.subarray(0, bytesRead));
}

/** Detects the type from the first bytes, so that no file name can turn a picture into a script. */
function pictureType(start: Buffer): string | undefined {
  const head = start.toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1A\n')) return 'image/png';
  if (head.startsWith('\xFF\xD8\xFF')) return 'image/jpeg';
  if (/^RIFF[^]{4}WEBP/.test(head)) return 'image/webp';
  if (/^[^]{4}ftyp(?:mif1[^]{4}(?:[^]{4})*?)?avi[fs]/.test(head)) return 'image/avif';
  return undefined;
}
