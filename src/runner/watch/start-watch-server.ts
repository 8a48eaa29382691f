/** The server of the page that watches a batch: on loopback, and read only. */
import type { IncomingMessage } from 'node:http';
import { constants } from 'node:fs';
import { open, realpath, type FileHandle } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { type FiledText, OpenFile } from '../../lib/files/filed-text.ts';
import {
  defaultClientLimits,
  type HttpResponse,
  jsonResponse,
  type Page,
  pageResponse,
} from '../../lib/http/http-response.ts';
import { startHttpServer } from '../../lib/http/http-server.ts';
import { KnownNames } from '../../lib/http/known-names.ts';
import { isLoopback } from '../../lib/net/addresses.ts';
import { earlierThumbnail } from '../core/picture.ts';
import { startBroadcast, type Broadcast, type WatchedBatch } from './broadcast.ts';

export interface WatchServer {
  /** URL of the page, with a slash at the end. */
  url: string;
  close(): Promise<void>;
}

const limits = {
  // Each connection takes a file, and one that fetches a picture takes two.
  maxConnections: 1_500,
  // Browsers do not send the next request before they have the answer.
  maxWaiting: 1,
  // No request has a body.
  maxBodiesBytes: 64 * 1024,
  requestTimeoutMs: 20_000,
  bodyTimeMs: 20_000,
  // Stopping the page does not wait for slow readers.
  clientLimits: { ...defaultClientLimits, closingMs: 0 },
};

/** Starts the server on loopback. Rejects with the system's error if the port is taken. */
export async function startWatchServer(options: {
  batch: WatchedBatch;
  page: Page;
  /** 0 for any free port. */
  port: number;
  onProblem: (text: string) => void;
  /** Minimum time between two readings of the batch; 1 s by default. */
  readEveryMs?: number;
}): Promise<WatchServer> {
  const { batch, page, port, onProblem, readEveryMs } = options;
  const broadcast = startBroadcast(batch, readEveryMs);
  const served: Served = { batch, page, broadcast };
  const withHeaders = (response: HttpResponse): HttpResponse => ({
    ...response,
    headers: { ...page.headers, ...response.headers },
  });
  const server = await startHttpServer({
    ...limits,
    host: '127.0.0.1',
    port,
    tls: undefined,
    now: Date.now,
    elapsed: () => performance.now(),
    onProblem,
    answerRequest: async (request, _, gone) => {
      const answered = await answer(request, served, gone);
      return answered && withHeaders(answered);
    },
    answerError: () => withHeaders(unavailable),
  });
  return {
    url: `${server.url}/`,
    close: () => {
      broadcast.close();
      return server.close();
    },
  };
}

interface Served {
  batch: WatchedBatch;
  broadcast: Broadcast;
  page: Page;
}

/** Returns undefined if the client has gone. Rejects only for errors of the machine, and bugs. */
async function answer(
  request: IncomingMessage,
  { batch, broadcast, page }: Served,
  gone: AbortSignal,
): Promise<HttpResponse | undefined> {
  const refused = refusalOf(request);
  if (refused !== undefined) return refused;
  const [, path = '', query = ''] = /^\/?([^?]*)\??(.*)$/.exec(request.url ?? '') ?? [];
  const asked = new URLSearchParams(query);
  if (path === '') return pageResponse(page);
  if (path === 'data.json') return newsAnswer(asked, broadcast, gone);
  const [, piece] = /^rows\/\w{1,12}\/([1-9]\d{0,6})\.json$/.exec(path) ?? [];
  const rows = piece === undefined ? undefined : batch.rows(Number(piece) - 1);
  if (rows !== undefined) return jsonResponse(rows);
  return (await pictureAnswer(request, batch, path, asked)) ?? textResponse(404, 'Not found.');
}

/** Returns the state of the batch. With `since`, waits for a newer revision and returns only the changes. */
async function newsAnswer(
  asked: URLSearchParams,
  broadcast: Broadcast,
  gone: AbortSignal,
): Promise<HttpResponse | undefined> {
  const text = asked.get('since') ?? '';
  const revision = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  const news = await broadcast.newsSince(revision, (wake) => gone.addEventListener('abort', wake));
  return gone.aborted ? undefined : jsonResponse(news);
}

/** Returns undefined if there is no such picture. `of` names the picture that is sent if its thumbnail is missing. */
async function pictureAnswer(
  request: IncomingMessage,
  { imagesDir, thumbnailsDir, readElsewhere }: WatchedBatch,
  asked: string,
  query: URLSearchParams,
): Promise<HttpResponse | undefined> {
  const [, folder, path = ''] = /^(images|thumbnails)\/(.+)$/.exec(decoded(asked)) ?? [];
  if (folder === undefined) return undefined;
  const fromElsewhere = async (kind: 'picture' | 'thumbnail', file: string) =>
    objectAnswer(await readElsewhere?.(kind, file));
  const fromImages = async (name: string, isPinned: boolean) =>
    (await fromElsewhere('picture', name)) ??
    (await fileAnswer(request, { dir: imagesDir, path: name, isPinned }));
  if (folder === 'images') return await fromImages(path, query.has('v'));
  for (const name of [path, earlierThumbnail(path)]) {
    const thumbnail = await fileAnswer(request, { dir: thumbnailsDir, path: name, isPinned: true });
    if (thumbnail !== undefined) return thumbnail;
  }
  return (await fromElsewhere('thumbnail', path)) ?? (await fromImages(query.get('of') ?? '', false));
}

/** Returns an empty text if the path is not valid. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return '';
  }
}

function textResponse(status: number, text: string, headers: Record<string, string> = {}): HttpResponse {
  return { status, body: `${text}\n`, headers: { 'Content-Type': 'text/plain; charset=utf-8', ...headers } };
}

const unavailable = textResponse(503, 'Temporarily unavailable.', { 'Retry-After': '5' });

/** Any port is accepted, because a tunnel has its own. */
const names = new KnownNames([], { isKnownAddress: isLoopback });

const misdirected = textResponse(
  421,
  'This page is served as 127.0.0.1 and localhost only. Behind a reverse proxy, have it send "Host: 127.0.0.1".',
);

const readOnly = textResponse(405, 'This page is read-only.', { Allow: 'GET, HEAD' });

/** Returns undefined if the request may be answered. */
function refusalOf({ headers, method }: IncomingMessage): HttpResponse | undefined {
  if (!names.has(headers.host)) return misdirected;
  return method === 'GET' || method === 'HEAD' ? undefined : readOnly;
}

/** Names of objects say what they hold, so browsers need not ask again. Returns undefined if this is no picture. */
function objectAnswer(bytes: Buffer | undefined): HttpResponse | undefined {
  const type = bytes && pictureType(bytes.subarray(0, 12));
  if (bytes === undefined || type === undefined) return undefined;
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
