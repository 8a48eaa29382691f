/** The server of the page that watches a batch: it sends the gallery, and takes marks from those who know a password. */
import type { IncomingMessage } from 'node:http';
import { constants } from 'node:fs';
import { open, realpath, type FileHandle } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { type FiledText, OpenFile } from '../../lib/files/filed-text.ts';
import {
  defaultClientLimits,
  emptyResponse,
  type HttpResponse,
  jsonResponse,
  type Page,
  pageResponse,
  refusal,
  tooMany,
} from '../../lib/http/http-response.ts';
import { startHttpServer } from '../../lib/http/http-server.ts';
import { KnownNames } from '../../lib/http/known-names.ts';
import { type ArrivingBody, readBody } from '../../lib/http/request-body.ts';
import type { TlsFiles } from '../../lib/http/tls-files.ts';
import { isLoopback } from '../../lib/net/addresses.ts';
import type { WatchSession } from '../core/gallery-data.ts';
import { earlierThumbnail } from '../core/picture.ts';
import { isMark, type MarkChange } from '../core/marks.ts';
import { startBroadcast, type Broadcast, type WatchedBatch } from './broadcast.ts';
import { isOwnPage, marksOf, type Role, type SignIn } from './sign-in.ts';

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
  maxBodiesBytes: 16 * 1024 * 1024,
  requestTimeoutMs: 20_000,
  bodyTimeMs: 20_000,
  // Stopping the page does not wait for slow readers.
  clientLimits: { ...defaultClientLimits, closingMs: 0 },
};

/** A thousand marks, each with a long id. */
const maxMarksBytes = 1024 * 1024;
/** Nobody has to know a password to send one. */
const maxPasswordBytes = 4096;

/** Who reaches the page. */
export interface WatchAccess {
  host: string;
  /** Names under which browsers may ask, besides those of the certificate. On loopback, only `localhost`. */
  names: readonly string[];
  tls: TlsFiles | undefined;
  signIn: SignIn;
  /** True if nobody sees the batch without a password. */
  isPrivate: boolean;
}

/** Starts the server. Rejects with the system's error if the port is taken, and with `TlsProblem`. */
export async function startWatchServer(options: {
  batch: WatchedBatch;
  page: Page;
  access: WatchAccess;
  /** 0 for any free port. */
  port: number;
  onProblem: (text: string) => void;
  /** Minimum time between two readings of the batch; 1 s by default. */
  readEveryMs?: number;
}): Promise<WatchServer> {
  const { batch, page, access, port, onProblem, readEveryMs } = options;
  const { host, tls } = access;
  const broadcast = startBroadcast(batch, readEveryMs);
  const names = new KnownNames(access.names, {
    certified: () => server.certifiedNames(),
    // On loopback any port is accepted, because a tunnel has its own.
    isKnownAddress: (address) => !isLoopback(host) || isLoopback(address),
  });
  const served: Served = { batch, page, access, names, broadcast };
  const withHeaders = (response: HttpResponse): HttpResponse => ({
    ...response,
    headers: { ...page.headers, ...response.headers },
  });
  const server = await startHttpServer({
    ...limits,
    host,
    port,
    tls,
    now: Date.now,
    elapsed: () => performance.now(),
    onProblem,
    answerRequest: async (request, sendContinue, gone) => {
      const answered = await answer({ request, sendContinue, gone }, served);
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
  access: WatchAccess;
  names: KnownNames;
}

/** Returns undefined if the client has gone. Rejects only for errors of the machine, and bugs. */
async function answer(asked: ArrivingBody, served: Served): Promise<HttpResponse | undefined> {
  const { request, gone } = asked;
  const { batch, broadcast, page, access } = served;
  if (!served.names.has(request.headers.host)) return misdirected;
  const [, path = '', query = ''] = /^\/?([^?]*)\??(.*)$/.exec(request.url ?? '') ?? [];
  if (path === 'session') return await sessionAnswer(asked, served);
  if (path === 'marks' && request.method === 'POST') return await marksAnswer(asked, served);
  if (request.method !== 'GET' && request.method !== 'HEAD') return readOnly;
  if (path === '') return pageResponse(page);
  const isPicture = /^(images|thumbnails)\//.test(path);
  if (access.isPrivate && access.signIn.roleOf(request, isPicture, Date.now()) === undefined)
    return signedOut;
  const terms = new URLSearchParams(query);
  if (path === 'data.json') return newsAnswer(terms, broadcast, gone);
  const [, piece] = /^rows\/\w{1,12}\/([1-9]\d{0,6})\.json$/.exec(path) ?? [];
  const rows = piece === undefined ? undefined : batch.rows(Number(piece) - 1);
  if (rows !== undefined) return jsonResponse(rows);
  return (await pictureAnswer(request, batch, path, terms)) ?? textResponse(404, 'Not found.');
}

const signedOut = refusal(401, 'enter the password of this page');
const ownPageOnly = refusal(403, 'only the page itself may do this');

/** Says who is signed in, signs in with a password, or signs out. */
async function sessionAnswer(asked: ArrivingBody, { access }: Served): Promise<HttpResponse | undefined> {
  const { request } = asked;
  const { signIn, isPrivate, tls } = access;
  if (request.method === 'GET')
    return jsonResponse(sessionFacts(signIn.roleOf(request, false, Date.now()), isPrivate));
  if (request.method !== 'POST' && request.method !== 'DELETE')
    return refusal(405, 'method not allowed', { Allow: 'GET, POST, DELETE' });
  if (!isOwnPage(request)) return ownPageOnly;
  if (request.method === 'DELETE')
    return {
      ...emptyResponse,
      headers: { 'Set-Cookie': signIn.leave(request), 'Clear-Site-Data': '"cache"' },
    };
  const form = await formIn(asked, maxPasswordBytes);
  if (form === undefined || 'status' in form) return form;
  const { password } = form.value as { password?: unknown };
  if (typeof password !== 'string') return refusal(400, 'expected {"password": "…"}');
  const entered = signIn.enter(password.trim(), request, { now: Date.now(), isSecure: tls !== undefined });
  if (entered === 'wrong') return refusal(401, 'this is not the password');
  if ('waitMs' in entered) return tooMany('too many wrong passwords: wait a minute', entered.waitMs);
  const { role, token, cookie } = entered;
  return { ...jsonResponse({ ...sessionFacts(role, isPrivate), token }), headers: { 'Set-Cookie': cookie } };
}

function sessionFacts(role: Role | undefined, isPrivate: boolean): WatchSession {
  return { role: role ?? null, marks: role === undefined ? [] : [...marksOf[role]], isPrivate };
}

/** Keeps marks with the batch. */
async function marksAnswer(
  asked: ArrivingBody,
  { batch, broadcast, access }: Served,
): Promise<HttpResponse | undefined> {
  if (!isOwnPage(asked.request)) return ownPageOnly;
  const role = access.signIn.roleOf(asked.request, false, Date.now());
  if (role === undefined) return signedOut;
  const form = await formIn(asked, maxMarksBytes);
  if (form === undefined || 'status' in form) return form;
  const changes = changesIn(form.value);
  if (changes === undefined) return refusal(400, 'expected a list of {"id": "…", "mark": "star"}');
  const before = batch.marks();
  const isAllowed = (mark: unknown): boolean => marksOf[role].some((allowed) => allowed === mark);
  const refused = changes.find(
    ({ id, mark }) => !(mark === null || isAllowed(mark)) || !isAllowed(before.get(id)?.mark ?? 'star'),
  );
  if (refused !== undefined) return refusal(403, 'with this password, scenes can only be starred');
  const problem = batch.setMarks(changes);
  if (problem !== undefined) return refusal(507, problem);
  await broadcast.readAgain();
  return emptyResponse;
}

/** Marks of one request. */
const maxChanges = 1_000;
/** Longest id of a scene, in characters. */
const maxIdLength = 1_000;

function changesIn(value: unknown): MarkChange[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxChanges) return undefined;
  const isChange = (each: unknown): each is MarkChange => {
    const { id, mark } = (each ?? {}) as Partial<Record<keyof MarkChange, unknown>>;
    return typeof id === 'string' && id !== '' && id.length <= maxIdLength && (mark === null || isMark(mark));
  };
  return value.every(isChange) ? value.map(({ id, mark }) => ({ id, mark })) : undefined;
}

/** Reads a body of JSON. Forms of other sites cannot send this type without a preflight request. */
async function formIn(
  asked: ArrivingBody,
  maxBytes: number,
): Promise<{ value: unknown } | HttpResponse | undefined> {
  if (!/^application\/json\b/i.test(asked.request.headers['content-type'] ?? ''))
    return refusal(415, 'expected JSON');
  const body = await readBody(asked, maxBytes);
  if (!Buffer.isBuffer(body)) return body;
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null ? { value } : refusal(400, 'expected JSON');
  } catch {
    return refusal(400, 'expected JSON');
  }
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

const misdirected = textResponse(
  421,
  'This page is not served under this name. Name it with --name, or have a reverse proxy send "Host: 127.0.0.1".',
);

const readOnly = refusal(405, 'this can only be read', { Allow: 'GET, HEAD' });

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
