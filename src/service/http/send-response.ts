/** Putting answers on the wire, no faster than they are read. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import {
  byteCountOf,
  closeFilesOf,
  type FiledText,
  isFiled,
  piecesOf,
  type Text,
} from '../jobs/filed-text.ts';
import type { HttpResponse } from './http-response.ts';
import type { ClientLimits } from './client-limits.ts';

type ReadingLimits = Pick<ClientLimits, 'readingMs' | 'bytesReadPerSecond' | 'drainMs'>;

/** Resolves when nothing of the answer is needed any more. Rejects where it broke off for lack of its file. */
export async function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: HttpResponse,
  limits: ReadingLimits,
): Promise<void> {
  const { status, headers, body, isBodyUnread } = answer;
  if (response.destroyed) return await closeFilesOf(body);
  if (isBodyUnread) response.shouldKeepAlive = false;
  const byteCount = byteCountOf(body);
  response.writeHead(status, {
    ...(status !== 204 && { 'Content-Type': 'application/json', 'Content-Length': byteCount }),
    'Cache-Control': 'no-store',
    ...headers,
  });
  if (isFiled(body)) {
    cutWhenSlow(response, byteCount, limits);
    return await sendPieces(response, body);
  }
  if (isBodyUnread) sendWhileDraining(request, response, body, limits);
  else response.end(body);
  // What the system has taken is no burden any more.
  if (response.writableLength > 0) cutWhenSlow(response, byteCount, limits);
}

/** Whoever reads in drops would hold the connection, and what it has not read, for as long as it likes. */
function cutWhenSlow(
  response: ServerResponse,
  byteCount: number,
  { readingMs, bytesReadPerSecond }: ReadingLimits,
): void {
  const patienceMs = readingMs + (byteCount / bytesReadPerSecond) * 1_000;
  const timer = setTimeout(() => response.destroy(), patienceMs).unref();
  response.once('close', () => clearTimeout(timer));
}

/** The length was told before: where the file cannot be read to its end the connection breaks, and the client knows. */
async function sendPieces(response: ServerResponse, body: FiledText): Promise<void> {
  try {
    await pipeline(piecesOf(body), response);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  } finally {
    await closeFilesOf(body);
  }
}

/**
 * Closing a connection with unread bytes in it resets it, and the client may never read the answer. So the answer goes
 * out at once, and what still comes is thrown away until the client is done or its time is up.
 */
function sendWhileDraining(
  request: IncomingMessage,
  response: ServerResponse,
  body: Text,
  { drainMs }: ReadingLimits,
): void {
  response.write(body);
  const finish = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(finish, drainMs).unref();
  request.once('end', finish).once('close', finish);
  request.resume();
}
