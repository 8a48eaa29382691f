/** A server's response, HTML pages among them, and how it is sent: no faster than it is read. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
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
import { packageFile } from '../files/package-file.ts';

export interface HttpResponse {
  status: number;
  /** JSON text, unless `headers` has another `Content-Type`. Whoever takes the response closes its files. */
  body: Text | FiledText;
  /** Sent instead of `body`, one piece at a time, if the length is known only at the end. */
  pieces?: AsyncIterable<Buffer>;
  headers?: Record<string, string | string[]>;
  /** Set if the request's body is longer than allowed. */
  isTooLarge?: true;
}

export function refusal(status: number, error: string, headers: Record<string, string> = {}): HttpResponse {
  return { status, headers, body: errorBody(error) };
}

export function errorBody(error: string): string {
  return JSON.stringify({ error });
}

export function tooMany(error: string, waitMs: number): HttpResponse {
  return refusal(429, error, { 'Retry-After': String(Math.ceil(waitMs / 1_000)) });
}

export function jsonResponse(body: object, status = 200): HttpResponse {
  return { status, body: JSON.stringify(body) };
}

export const emptyResponse: HttpResponse = { status: 204, body: '' };

type ReadingLimits = Pick<ClientLimits, 'readingMs' | 'bytesReadPerSecond' | 'drainMs'>;

/** Sends a response, no faster than it is read. Rejects if its file could not be read to the end. */
export async function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: HttpResponse,
  limits: ReadingLimits,
): Promise<void> {
  const { status, headers, body, pieces } = answer;
  if (response.destroyed) return await closeFilesOf(body);
  // The rest of the request is of no use.
  const isBodyUnread = !request.complete;
  if (isBodyUnread) response.shouldKeepAlive = false;
  const byteCount = byteCountOf(body);
  response.writeHead(status, {
    ...(status !== 204 && status !== 304 && { 'Content-Type': 'application/json' }),
    ...(status !== 204 && status !== 304 && pieces === undefined && { 'Content-Length': byteCount }),
    'Cache-Control': 'no-store',
    ...headers,
  });
  if ((isFiled(body) || pieces !== undefined) && request.method === 'HEAD') {
    await closeFilesOf(body);
    response.end();
    return;
  }
  if (pieces !== undefined) return await sendPieces(response, unlessSlow(response, pieces, limits), body);
  if (isFiled(body)) {
    cutWhenSlow(response, byteCount, limits);
    return await sendPieces(response, piecesOf(body), body);
  }
  if (isBodyUnread) sendWhileDraining(request, response, body, limits);
  else response.end(body);
  // Only bytes that the system has not taken yet need memory here.
  if (response.writableLength > 0) cutWhenSlow(response, byteCount, limits);
}

/** Cuts the connection after a time limit, because a slow client would hold it and the unread bytes. */
function cutWhenSlow(
  response: ServerResponse,
  byteCount: number,
  { readingMs, bytesReadPerSecond }: ReadingLimits,
): void {
  const patienceMs = readingMs + (byteCount / bytesReadPerSecond) * 1_000;
  const timer = setTimeout(() => response.destroy(), patienceMs).unref();
  response.once('close', () => clearTimeout(timer));
}

/** Yields the pieces, and cuts the connection like `cutWhenSlow`. The time in which pieces are made does not count. */
async function* unlessSlow(
  response: ServerResponse,
  pieces: AsyncIterable<Buffer>,
  { readingMs, bytesReadPerSecond }: ReadingLimits,
): AsyncGenerator<Buffer> {
  let patienceMs = readingMs;
  for await (const piece of pieces) {
    patienceMs += (piece.length / bytesReadPerSecond) * 1_000;
    const sentAt = performance.now();
    // A reader of a byte now and then would keep one large piece for days.
    const timer = setTimeout(() => response.destroy(), patienceMs).unref();
    try {
      yield piece;
    } finally {
      clearTimeout(timer);
    }
    patienceMs -= performance.now() - sentAt;
  }
}

/** Sends pieces. If they end early, breaks the connection as a sign. */
async function sendPieces(
  response: ServerResponse,
  pieces: AsyncIterable<Text>,
  body: Text | FiledText,
): Promise<void> {
  try {
    await pipeline(pieces, response);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  } finally {
    await closeFilesOf(body);
  }
}

/**
 * Sends the response at once, and discards the rest of the request until the client is done or its time is
 * up. Closing a connection with unread bytes would reset it, and the client might never read the response.
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
  /** Time for the head of a request, from the beginning of the connection or the response before. */
  headMs: number;
  /** A connection without any traffic is closed after this time. */
  idleMs: number;
  /** Time between two requests. Longer than clients keep idle connections, so that clients close them. */
  keepAliveMs: number;
  /** Time to read a response, in addition to the time that it takes at `bytesReadPerSecond`. */
  readingMs: number;
  bytesReadPerSecond: number;
  /** Minimum speed of a body, that of a slow modem. A faster body may take as long as it needs. */
  bytesSentPerSecond: number;
  /** A body that takes longer counts as slow, and the number of slow bodies is limited. */
  slowMs: number;
  /** How long a refused client may go on sending, so that it gets to read the reason. */
  drainMs: number;
  /** How long responses on their way may take when the service ends. */
  closingMs: number;
  /** Interval at which requests are checked for time limits. */
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

export interface Page {
  html: string;
  /** Headers of every response. */
  headers: Record<string, string>;
}

/** Makes a page that may run only its own script and style. `withoutScript`: HTML for other browsers. */
export function builtPage(name: 'console' | 'gallery', withoutScript: string): Page {
  const script = readFileSync(packageFile(`dist/web/${name}.js`), 'utf8');
  const style = readFileSync(packageFile(`dist/web/${name}.css`), 'utf8');
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>nightrender</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript>${withoutScript}</noscript>
<script>${script}</script>
</body>
</html>
`;
  const policy = [
    "default-src 'none'",
    `script-src '${digestOf(script)}'`,
    `style-src '${digestOf(style)}'`,
    "img-src 'self' data: blob:",
    "media-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    html,
    headers: {
      'Content-Security-Policy': policy.join('; '),
      'X-Content-Type-Options': 'nosniff',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Referrer-Policy': 'no-referrer',
    },
  };
}

export function pageResponse({ html, headers }: Page): HttpResponse {
  return { status: 200, body: html, headers: { ...headers, 'Content-Type': 'text/html; charset=utf-8' } };
}

function digestOf(text: string): string {
  return `sha256-${hash('sha256', text, 'base64')}`;
}
