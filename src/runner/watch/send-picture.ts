/** Sends a picture's file piece by piece, or only that it is still the same. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { constants, type Stats } from 'node:fs';
import { open, realpath, type FileHandle } from 'node:fs/promises';
import { join, sep } from 'node:path';

/**
 * `path`: from the folder `dir`, with `/` between its parts. `isPinned`: the address names the content as well, so that a
 * browser need not ask again. Resolves to false, with nothing sent, if there is no such picture. Rejects if the system
 * cannot read it.
 */
export async function sendPicture(
  request: IncomingMessage,
  response: ServerResponse,
  { dir, path, isPinned }: { dir: string; path: string; isPinned: boolean },
): Promise<boolean> {
  const file = await openWithin(dir, path.split('/'));
  if (file === undefined) return false;
  try {
    const stats = await file.stat();
    const type = stats.isFile() ? await typeOf(file) : undefined;
    if (type === undefined) return false;
    response.setHeader('Cache-Control', isPinned ? 'private, max-age=86400, immutable' : 'private, no-cache');
    await send(request, response, { file, stats, type });
    return true;
  } finally {
    await file.close();
  }
}

/** Of a bucket, whose names say what they hold. Resolves to false, with nothing sent, where it is no picture. */
export function sendBytes(request: IncomingMessage, response: ServerResponse, bytes: Buffer): boolean {
  const type = pictureType(bytes.subarray(0, 12));
  if (type === undefined) return false;
  response.setHeader('Cache-Control', 'private, max-age=86400, immutable');
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': bytes.length });
  response.end(request.method === 'HEAD' ? undefined : bytes);
  return true;
}

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { file, stats, type }: { file: FileHandle; stats: Stats; type: string },
): Promise<void> {
  const etag = `"${[stats.size, Math.round(stats.mtimeMs), stats.ino].map((n) => n.toString(36)).join('-')}"`;
  response.setHeader('ETag', etag);
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304).end();
    return;
  }
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': stats.size });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  try {
    await pipeline(file.createReadStream({ start: 0, end: stats.size - 1, autoClose: false }), response);
  } catch (error) {
    // Whoever leaves before the end has seen enough.
    if (!hasLeft(error)) throw error;
  }
}

function hasLeft(error: unknown): boolean {
  const code = String((error as NodeJS.ErrnoException).code);
  return ['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE', 'EPIPE', 'ECONNRESET'].includes(code);
}

/** Links are followed only as far as they stay in the folder, which may be one itself. */
async function openWithin(dir: string, parts: string[]): Promise<FileHandle | undefined> {
  if (parts.some((part) => /^\.{0,2}$|[/\\\0]/.test(part))) return undefined;
  try {
    const root = await realpath(dir);
    const real = await realpath(join(root, ...parts));
    if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined;
    // A named pipe would be waited for.
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

/** Detected from the bytes: no file name turns a picture into a script. */
function pictureType(start: Buffer): string | undefined {
  const head = start.toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1A\n')) return 'image/png';
  if (head.startsWith('\xFF\xD8\xFF')) return 'image/jpeg';
  if (/^RIFF[^]{4}WEBP/.test(head)) return 'image/webp';
  if (/^[^]{4}ftyp(?:mif1[^]{4}(?:[^]{4})*?)?avi[fs]/.test(head)) return 'image/avif';
  return undefined;
}
