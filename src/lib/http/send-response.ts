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
} from '../files/filed-text.ts';
import type { HttpResponse } from './http-response.ts';

type ReadingLimits = Pick<ClientLimits, 'readingMs' | 'bytesReadPerSecond' | 'drainMs'>;

/** Resolves when nothing of the answer is needed any more. Rejects where it broke off for lack of its file. */
export async function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: HttpResponse,
  limits: ReadingLimits,
): Promise<void> {
  const { status, headers, body } = answer;
  if (response.destroyed) return await closeFilesOf(body);
  // What still comes of the request is nobody's.
  const isBodyUnread = !request.complete;
  if (isBodyUnread) response.shouldKeepAlive = false;
  const byteCount = byteCountOf(body);
  response.writeHead(status, {
    ...(status !== 204 &&
      status !== 304 && { 'Content-Type': 'application/json', 'Content-Length': byteCount }),
    'Cache-Control': 'no-store',
    ...headers,
  });
  if (isFiled(body) && request.method === 'HEAD') {
    await closeFilesOf(body);
    response.end();
    return;
  }
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

export interface ClientLimits {
  /** For the head of a request, from the connection's beginning or the answer before. */
  headMs: number;
  /** A connection on which nothing moves is closed, whoever should be sending. */
  idleMs: number;
  /** Between two requests: longer than clients keep an idle connection, so that they and not the service close it. */
  keepAliveMs: number;
  /** An answer is to be read within this, and in the time that it takes at the pace below. */
  readingMs: number;
  bytesReadPerSecond: number;
  /** A body may take as long as it needs, if it comes at this pace: that of a slow modem. */
  bytesSentPerSecond: number;
  /** A body that takes longer counts as a slow one, of which there may be so many. */
  slowMs: number;
  /** How long a client that is refused may go on sending, so that it comes to read why. */
  drainMs: number;
  /** How long answers on their way may go on when the service ends. */
  closingMs: number;
  /** How often requests are looked through for those that take too long. */
  checkEveryMs: number;
}

export const defaultClientLimits: ClientLimits = {
  headMs: 10_000,
  idleMs: 120_000,
  keepAliveMs: 60_000,
  readingMs: 120_000,
  bytesReadPerSecond: 20_000,
  bytesSentPerSecond: 1_000,
  slowMs: 10_000,
  drainMs: 2_000,
  closingMs: 5_000,
  checkEveryMs: 5_000,
};
