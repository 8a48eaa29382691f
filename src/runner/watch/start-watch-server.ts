/** The server of the page that watches a batch: it sends the gallery, and takes marks from those who know a password. */
import type { IncomingMessage } from 'node:http';
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
import { startHttpServer, KnownNames } from '../../lib/http/http-server.ts';
import { type ArrivingBody, readBody } from '../../lib/http/request-body.ts';
import type { TlsFiles } from '../../lib/http/tls-files.ts';
import { isLoopback } from '../../lib/net/addresses.ts';
import { type WatchSession, isMark, type MarkChange } from '../core/gallery-data.ts';
import { portableSegment } from '../core/naming.ts';
import { startBroadcast, type Broadcast, type WatchedBatch } from './broadcast.ts';
import { isOwnPage, marksOf, type Role, type SignIn } from './sign-in.ts';
import { StarredArchive } from './starred-archive.ts';
import { WatchedPictures } from './watched-pictures.ts';

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

/** Maximum size of a request with marks, in bytes: a thousand marks, each with a long id. */
const maxMarksBytes = 1024 * 1024;
/** Maximum size of a request that signs in, in bytes. It is small, because it comes from anybody. */
const maxPasswordBytes = 4096;

/** Address of the page, and who may open it. */
export interface WatchAccess {
  host: string;
  /** Names under which browsers may ask, besides those of the certificate. On loopback, only `localhost`. */
  names: readonly string[];
  tls: TlsFiles | undefined;
  signIn: SignIn;
  /** True if nobody sees the batch without a password. */
  isPrivate: boolean;
}

/** Starts the server. Rejects with the system's error if the port is taken, and with `TlsProblem` for a bad certificate. */
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
  const pictures = new WatchedPictures(batch);
  const served: Served = { batch, pictures, page, access, names, broadcast, downloads: new Set() };
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
  pictures: WatchedPictures;
  broadcast: Broadcast;
  page: Page;
  access: WatchAccess;
  names: KnownNames;
  /** Downloads that are under way. */
  downloads: Set<StarredArchive>;
}

/** Returns undefined if the client has gone. Rejects only for errors of the machine, and bugs. */
async function answer(asked: ArrivingBody, served: Served): Promise<HttpResponse | undefined> {
  const { request, gone } = asked;
  const { batch, pictures, broadcast, page, access } = served;
  if (!served.names.has(request.headers.host)) return misdirected;
  const [, path = '', query = ''] = /^\/?([^?]*)\??(.*)$/.exec(request.url ?? '') ?? [];
  if (path === 'session') return await sessionAnswer(asked, served);
  if (path === 'marks' && request.method === 'POST') return await marksAnswer(asked, served);
  if (path === 'download' && request.method === 'POST') return ticketAnswer(request, served);
  if (request.method !== 'GET' && request.method !== 'HEAD') return readOnly;
  if (path === '') return pageResponse(page);
  const terms = new URLSearchParams(query);
  if (path === archivePath) return archiveAnswer(request, terms.get('ticket') ?? '', served);
  const isPicture = /^(images|thumbnails)\//.test(path);
  if (access.isPrivate && access.signIn.roleOf(request, isPicture, Date.now()) === undefined)
    return signedOut;
  if (path === 'data.json') return newsAnswer(terms, broadcast, gone);
  const [, piece] = /^rows\/\w{1,12}\/([1-9]\d{0,6})\.json$/.exec(path) ?? [];
  const rows = piece === undefined ? undefined : batch.rows(Number(piece) - 1);
  if (rows !== undefined) return jsonResponse(rows);
  return (await pictures.answer(request, path, terms)) ?? textResponse(404, 'Not found.');
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
  const by = role === 'viewer' ? role : undefined;
  const isOwners = (id: string): boolean => before.has(id) && before.get(id)?.by !== by;
  if (by !== undefined && changes.some(({ id, mark }) => mark === null && isOwners(id)))
    return refusal(403, 'this star was set with the other password, and this one cannot remove it');
  const problem = batch.setMarks(changes, by);
  if (problem !== undefined) return refusal(507, problem);
  await broadcast.readAgain();
  return emptyResponse;
}

const archivePath = 'starred.zip';

/** Maximum number of simultaneous downloads of the starred pictures. Each has a picture in memory. */
const maxDownloads = 8;

const tooManyDownloads = refusal(503, 'other downloads are under way; try again when one has ended', {
  'Retry-After': '60',
});

/** Returns the address of the starred pictures as one file, for a minute and for this session alone. */
function ticketAnswer(request: IncomingMessage, { access: { signIn }, downloads }: Served): HttpResponse {
  const now = Date.now();
  if (!isOwnPage(request)) return ownPageOnly;
  const isSignedIn = signIn.roleOf(request, false, now) !== undefined;
  // A new ticket ends the one before it, with which a download may be about to begin.
  if (isSignedIn && downloads.size >= maxDownloads) return tooManyDownloads;
  const ticket = signIn.ticketFor(request, now);
  return ticket === undefined ? signedOut : jsonResponse({ path: `${archivePath}?ticket=${ticket}` });
}

function archiveAnswer(
  request: IncomingMessage,
  ticket: string,
  { batch, pictures, access, downloads }: Served,
): HttpResponse {
  const now = Date.now();
  if (!access.signIn.hasTicket(request, ticket, now)) return signedOut;
  if (downloads.size >= maxDownloads) return tooManyDownloads;
  const archive = new StarredArchive(batch, pictures, new Date(now));
  const name = portableSegment(`${batch.name.replaceAll('/', '-')}-${archivePath}`);
  const disposition = `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"; filename*=UTF-8''${headerText(name)}`;
  return {
    status: 200,
    body: '',
    pieces: counted(archive, downloads),
    headers: { 'Content-Type': 'application/zip', 'Content-Disposition': disposition },
  };
}

/** Returns a text for a header with an asterisk (RFC 8187). */
function headerText(text: string): string {
  return encodeURIComponent(text).replaceAll(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
}

async function* counted(archive: StarredArchive, downloads: Set<StarredArchive>): AsyncGenerator<Buffer> {
  downloads.add(archive);
  try {
    yield* archive.pieces();
  } finally {
    downloads.delete(archive);
  }
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

function textResponse(status: number, text: string, headers: Record<string, string> = {}): HttpResponse {
  return { status, body: `${text}\n`, headers: { 'Content-Type': 'text/plain; charset=utf-8', ...headers } };
}

const unavailable = textResponse(503, 'Temporarily unavailable.', { 'Retry-After': '5' });

const misdirected = textResponse(
  421,
  'This page is not served under this name. Name it with --name, or have a reverse proxy send "Host: 127.0.0.1".',
);

const readOnly = refusal(405, 'this can only be read', { Allow: 'GET, HEAD' });
