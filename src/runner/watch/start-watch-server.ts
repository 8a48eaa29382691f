/** The server of the page that watches a batch: on loopback, and read only. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Page } from '../../lib/net/built-page.ts';
import { startBroadcast, type WatchedBatch, type Broadcast } from './broadcast.ts';
import { earlierThumbnail } from '../core/picture.ts';
import { pipeline } from 'node:stream/promises';
import { constants, type Stats } from 'node:fs';
import { open, realpath, type FileHandle } from 'node:fs/promises';
import { join, sep } from 'node:path';

export interface WatchServer {
  /** With a slash at the end. */
  url: string;
  close(): Promise<void>;
}

const limits = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  keepAliveTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 16 * 1024,
};

/** More are closed at once: each takes a file, and one that fetches a picture two. */
const maxConnections = 1_500;

/** A connection on which nothing moves is closed; who waits for news has an answer before. */
const idleMs = 60_000;

/** Rejects with the system's error where the port is not to be had. */
export async function startWatchServer(options: {
  batch: WatchedBatch;
  page: Page;
  /** 0 for a free one. */
  port: number;
  onProblem: (text: string) => void;
  /** Least time between two readings of the batch; 1 s if left out. */
  readEveryMs?: number;
}): Promise<WatchServer> {
  const { batch, page, port, onProblem, readEveryMs } = options;
  const broadcast = startBroadcast(batch, readEveryMs);
  const served: Served = { batch, page, broadcast };
  const answering = new WeakMap<Socket, ServerResponse>();
  const server = createServer(limits, (request, response) => {
    // No browser asks on before it has its answer, and answers to many requests at once would wait in memory.
    if (answering.get(request.socket)?.writableEnded === false) {
      request.socket.destroy();
      return;
    }
    answering.set(request.socket, response);
    void serve(request, response, served, onProblem);
  });
  server.maxConnections = maxConnections;
  server.timeout = idleMs;
  await listen(server, port);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => {
      broadcast.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  served: Served,
  onProblem: (text: string) => void,
): Promise<void> {
  try {
    await answer(request, response, served);
  } catch (error) {
    onProblem(`cannot answer ${request.method} ${JSON.stringify(request.url)}: ${String(error)}`);
    if (response.headersSent) response.destroy();
    else {
      response.writeHead(503, { 'Content-Type': 'text/plain; charset=utf-8', 'Retry-After': '5' });
      response.end('Temporarily unavailable.\n');
    }
  }
}

interface Served {
  batch: WatchedBatch;
  broadcast: Broadcast;
  page: Page;
}

/** Answers one request; rejects only where something is wrong with the machine or with us. */
async function answer(request: IncomingMessage, response: ServerResponse, served: Served): Promise<void> {
  for (const [name, value] of Object.entries(served.page.headers)) response.setHeader(name, value);
  const refusal = refusalOf(request);
  if (refusal !== undefined) return refuse(response, refusal);
  const [, path = '', query = ''] = /^\/?([^?]*)\??(.*)$/.exec(request.url ?? '') ?? [];
  const asked = new URLSearchParams(query);
  if (path === '') return send(response, 'text/html; charset=utf-8', served.page.html);
  if (path === 'data.json') return answerNews(response, asked, served.broadcast);
  const [, piece] = /^rows\/\w{1,12}\/([1-9]\d{0,6})\.json$/.exec(path) ?? [];
  const rows = piece === undefined ? undefined : served.batch.rows(Number(piece) - 1);
  if (rows !== undefined) return sendJson(response, rows);
  if (await answerPicture(request, response, served.batch, path, asked)) return;
  refuse(response, { status: 404, text: 'Not found.' });
}

/** All that is known of the batch; with `since`, what is newer than that, as soon as there is anything. */
async function answerNews(
  response: ServerResponse,
  asked: URLSearchParams,
  broadcast: Broadcast,
): Promise<void> {
  const text = asked.get('since') ?? '';
  const revision = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  const news = await broadcast.newsSince(revision, (gone) => response.once('close', gone));
  if (!response.destroyed) sendJson(response, news);
}

/** Resolves to whether there was one. `of` names the picture that is sent where its thumbnail is missing. */
async function answerPicture(
  request: IncomingMessage,
  response: ServerResponse,
  { imagesDir, thumbnailsDir, readElsewhere }: WatchedBatch,
  asked: string,
  query: URLSearchParams,
): Promise<boolean> {
  const [, folder, path = ''] = /^(images|thumbnails)\/(.+)$/.exec(decoded(asked)) ?? [];
  if (folder === undefined) return false;
  const fromElsewhere = async (kind: 'picture' | 'thumbnail', file: string): Promise<boolean> => {
    const bytes = await readElsewhere?.(kind, file);
    return bytes !== undefined && sendBytes(request, response, bytes);
  };
  if (folder === 'images' && (await fromElsewhere('picture', path))) return true;
  if (folder === 'images')
    return sendPicture(request, response, { dir: imagesDir, path, isPinned: query.has('v') });
  for (const name of [path, earlierThumbnail(path)])
    if (await sendPicture(request, response, { dir: thumbnailsDir, path: name, isPinned: true })) return true;
  const whole = query.get('of') ?? '';
  if ((await fromElsewhere('thumbnail', path)) || (await fromElsewhere('picture', whole))) return true;
  return sendPicture(request, response, { dir: imagesDir, path: whole, isPinned: false });
}

/** Empty where it cannot be. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return '';
  }
}

function sendJson(response: ServerResponse, value: object): void {
  send(response, 'application/json', JSON.stringify(value));
}

function refuse(response: ServerResponse, { status, text, headers = {} }: Refusal): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  send(response, 'text/plain; charset=utf-8', `${text}\n`);
}

function send(response: ServerResponse, type: string, text: string): void {
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.setHeader('Cache-Control', 'no-store');
  response.end(text);
}

interface Refusal {
  status: number;
  /** For people. */
  text: string;
  headers?: Record<string, string>;
}

/** Undefined where the request may be answered. */
function refusalOf(request: IncomingMessage): Refusal | undefined {
  if (!isLoopbackName(request.headers.host ?? '')) {
    return {
      status: 421,
      text: 'This page is served as 127.0.0.1 and localhost only. Behind a reverse proxy, have it send "Host: 127.0.0.1".',
    };
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return {
      status: 405,
      text: 'This page is read-only.',
      headers: { Allow: 'GET, HEAD' },
    };
  }
  return undefined;
}

/** A page of another site whose name is made to lead here (DNS rebinding) sends that name. Any port: a tunnel has its own. */
function isLoopbackName(host: string): boolean {
  return /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/i.test(host);
}

/**
 * Sends a file of `dir` if it is a picture. `path`: from the folder `dir`, with `/` between its parts. `isPinned`: the address names the content as well, so that a
 * browser need not ask again. Resolves to false, with nothing sent, if there is no such picture. Rejects if the system
 * cannot read it.
 */
async function sendPicture(
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
    await sendFile(request, response, { file, stats, type });
    return true;
  } finally {
    await file.close();
  }
}

/** Sends a picture from elsewhere, whose name never gets another content. Returns false, with nothing sent, if it is no picture. */
function sendBytes(request: IncomingMessage, response: ServerResponse, bytes: Buffer): boolean {
  const type = pictureType(bytes.subarray(0, 12));
  if (type === undefined) return false;
  response.setHeader('Cache-Control', 'private, max-age=86400, immutable');
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': bytes.length });
  response.end(request.method === 'HEAD' ? undefined : bytes);
  return true;
}

/** Sends the file in pieces, or only that it is still the same. */
async function sendFile(
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
