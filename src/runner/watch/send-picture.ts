/** Sends a picture's file piece by piece, or only that it is still the same. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { openPicture, type OpenPicture } from './open-picture.ts';

export interface AskedPicture {
  /** The folder it is in; absolute. */
  dir: string;
  /** From there, with `/` between its parts. */
  path: string;
  /** Whether the address names the content as well, so that a browser need not ask again. */
  isPinned: boolean;
}

/** Resolves to false, with nothing sent, where there is no such picture. Rejects where the system cannot read it. */
export async function sendPicture(
  request: IncomingMessage,
  response: ServerResponse,
  { dir, path, isPinned }: AskedPicture,
): Promise<boolean> {
  const picture = await openPicture(dir, path);
  if (picture === undefined) return false;
  try {
    response.setHeader('Cache-Control', isPinned ? 'private, max-age=86400, immutable' : 'private, no-cache');
    await send(request, response, picture);
    return true;
  } finally {
    await picture.file.close();
  }
}

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { file, stats, type }: OpenPicture,
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
