/** The console: its page, and what the page asks for and has done. */
import type { IncomingMessage } from 'node:http';
import type { Page } from '../../http/page-shell.ts';
import type { EndpointForm, EndpointView, Overview } from '../../pages/console-data.ts';
import { type Answer, emptyAnswer, jsonAnswer, refusal } from '../answer.ts';
import { bodyOf } from '../asked.ts';
import { EndpointOfFile, type Endpoints } from '../endpoints.ts';
import type { Endpoint } from '../endpoint.ts';
import type { EndpointSettings, FieldProblem } from '../endpoint-settings.ts';
import type { JobBook } from '../job-book.ts';
import type { JobOperations } from '../job-operations.ts';
import type { KeyHolder } from '../keys/key.ts';
import { type KeyBook, KeyBookBusy, KeyRefused } from '../keys/key-book.ts';
import type { ResultFiles } from '../result-files.ts';
import { JobViews } from './job-views.ts';
import { KeyViews } from './key-views.ts';
import { LogShare } from './log-share.ts';
import { Sessions } from './sessions.ts';

export interface ConsoleParts {
  page: Page;
  keys: KeyBook;
  book: JobBook;
  files: ResultFiles;
  endpoints: Endpoints;
  jobs: JobOperations;
  forms: EndpointForms;
  /** What stays the same while the service runs. */
  about: Pick<Overview, 'program' | 'url' | 'retentionMs' | 'faults'>;
  /** What the owner should know. */
  notices: () => string[];
  now: () => number;
}

/** Between the settings of an endpoint and what people write. */
export interface EndpointForms {
  /** `others`: the endpoints there are beside it. */
  check(
    raw: unknown,
    others: EndpointSettings[],
  ): { settings: EndpointSettings } | { problems: FieldProblem[] };
  show(settings: EndpointSettings): EndpointForm;
}

/** A request of the page, from somebody who is signed in. */
interface Request {
  request: IncomingMessage;
  askForBody: () => void;
  gone: AbortSignal;
  holder: KeyHolder;
  query: URLSearchParams;
  /** What the path says in the place of ids. */
  id: string;
}

type Operation = (asked: Request) => Promise<Answer | undefined> | Answer | undefined;

const prefix = '/console/api/';

/** Forms and keys are small; the inputs of jobs have the bound of submissions. */
const maxFormBytes = 256 * 1024;

export class Console {
  readonly #parts: ConsoleParts;
  readonly #sessions: Sessions;
  readonly #jobs: JobViews;
  readonly #keys: KeyViews;
  readonly #operations: [method: string, path: RegExp, operation: Operation][];

  constructor(parts: ConsoleParts) {
    this.#parts = parts;
    this.#sessions = new Sessions(parts.keys);
    this.#jobs = new JobViews(parts.book, parts.files);
    this.#keys = new KeyViews(parts.book);
    this.#operations = [
      ['GET', /^overview$/, () => jsonAnswer(this.#overview())],
      ['POST', /^endpoints$/, (asked) => this.#addEndpoint(asked)],
      ['PUT', /^endpoints\/([^/]+)$/, (asked) => this.#changeEndpoint(asked)],
      ['DELETE', /^endpoints\/([^/]+)$/, (asked) => this.#removeEndpoint(asked)],
      ['POST', /^endpoints\/([^/]+)\/jobs$/, (asked) => this.#submit(asked)],
      ['POST', /^endpoints\/([^/]+)\/purge-queue$/, (asked) => this.#purge(asked)],
      ['GET', /^jobs$/, (asked) => this.#listJobs(asked)],
      ['GET', /^jobs\/([^/]+)$/, (asked) => this.#showJob(asked)],
      ['POST', /^jobs\/([^/]+)\/cancel$/, (asked) => this.#onJob('cancel', asked)],
      ['POST', /^jobs\/([^/]+)\/retry$/, (asked) => this.#onJob('retry', asked)],
      ['GET', /^keys$/, () => jsonAnswer(parts.keys.list().map((record) => this.#keys.of(record)))],
      ['POST', /^keys$/, (asked) => this.#addKey(asked)],
      ['POST', /^keys\/([^/]+)\/revoke$/, (asked) => this.#revokeKey(asked)],
    ];
  }

  /** Whether a request is for the console. */
  static isAsked(target: string): boolean {
    return /^\/(console(\/|\?|$)|\?|$)/.test(target);
  }

  async answer(
    request: IncomingMessage,
    askForBody: () => void,
    gone: AbortSignal,
  ): Promise<Answer | undefined> {
    const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://console');
    if (!pathname.startsWith(prefix)) return this.#pageAt(pathname, request);
    const changes = request.method !== 'GET' && request.method !== 'HEAD';
    if (changes && !isOwnPage(request)) return refusal(403, 'this is for the console’s own page only');
    const path = pathname.slice(prefix.length);
    if (path === 'session') return await this.#session(request, askForBody);
    const holder = this.#sessions.find(request.headers.cookie, this.#parts.now());
    if (holder === undefined) return refusal(401, 'sign in with an admin key');
    const matching = this.#operations.filter(([, pattern]) => pattern.test(path));
    const found = matching.find(([method]) => method === request.method);
    if (found === undefined && matching.length > 0)
      return refusal(405, 'not done in this way', { Allow: matching.map(([method]) => method).join(', ') });
    if (found === undefined) return refusal(404, 'not found');
    const [, pattern, operation] = found;
    const id = decode(pattern.exec(path)?.[1] ?? '');
    return await operation({ request, askForBody, gone, holder, query, id });
  }

  #pageAt(path: string, { method }: IncomingMessage): Answer {
    if (method !== 'GET' && method !== 'HEAD')
      return refusal(405, 'a page is only looked at', { Allow: 'GET, HEAD' });
    // What the page asks for is beside it.
    if (path === '/' || path === '/console')
      return { status: 303, body: '', headers: { Location: '/console/' } };
    if (path !== '/console/') return refusal(404, 'not found');
    const { html, headers } = this.#parts.page;
    return { status: 200, body: html, headers: { ...headers, 'Content-Type': 'text/html; charset=utf-8' } };
  }

  async #session(request: IncomingMessage, askForBody: () => void): Promise<Answer | undefined> {
    if (request.method === 'DELETE')
      return { ...emptyAnswer, headers: { 'Set-Cookie': this.#sessions.signOut(request.headers.cookie) } };
    if (request.method !== 'POST') return refusal(405, 'not done in this way', { Allow: 'POST, DELETE' });
    const body = await formOf({ request, askForBody });
    if (body === undefined || 'status' in body) return body;
    const { key } = body.form;
    if (typeof key !== 'string' || key.trim() === '') return refusal(401, 'enter a key');
    const signedIn = this.#sessions.signIn(key, this.#parts.now());
    if (signedIn === 'wait')
      return refusal(429, 'too many wrong keys: wait a minute', { 'Retry-After': '60' });
    if (signedIn === 'wrong') return refusal(401, 'this is no admin key of this service, or it was revoked');
    return { ...emptyAnswer, headers: { 'Set-Cookie': signedIn.cookie } };
  }

  #overview(): Overview {
    const { about, endpoints, notices, now } = this.#parts;
    const log = new LogShare();
    return {
      ...about,
      now: now(),
      notices: notices(),
      endpoints: endpoints.all.map((endpoint) => this.#viewOf(endpoint, log)),
    };
  }

  #viewOf(endpoint: Endpoint, log = new LogShare()): EndpointView {
    const { book, endpoints, forms } = this.#parts;
    const tally = book.tally(endpoint.id);
    const origin = endpoints.originOf(endpoint.id);
    const settings = forms.show(endpoint.settings);
    return {
      origin,
      settings: origin === 'file' ? withoutSecrets(settings) : settings,
      jobs: {
        completed: tally.COMPLETED ?? 0,
        failed: tally.FAILED ?? 0,
        cancelled: tally.CANCELLED ?? 0,
        timedOut: tally.TIMED_OUT ?? 0,
        inProgress: tally.IN_PROGRESS ?? 0,
        inQueue: tally.IN_QUEUE ?? 0,
        retried: tally.retried ?? 0,
      },
      workers: endpoint.workers.map((worker) => ({ ...worker, log: log.of(worker) })),
      trouble: endpoint.trouble,
    };
  }

  async #addEndpoint(asked: Request): Promise<Answer | undefined> {
    const { endpoints, forms } = this.#parts;
    const body = await formOf(asked);
    if (body === undefined || 'status' in body) return body;
    const checked = forms.check(
      body.form,
      endpoints.all.map(({ settings }) => settings),
    );
    if ('problems' in checked) return problemsAnswer(checked.problems);
    const made = await endpoints.add(checked.settings);
    return Array.isArray(made) ? problemsAnswer(made) : jsonAnswer(this.#viewOf(made), 201);
  }

  async #changeEndpoint(asked: Request): Promise<Answer | undefined> {
    const { endpoints, forms } = this.#parts;
    const body = await formOf(asked);
    if (body === undefined || 'status' in body) return body;
    const others = endpoints.all.filter(({ id }) => id !== asked.id).map(({ settings }) => settings);
    return await unlessOfFile(async () => {
      if (endpoints.changeable(asked.id) === undefined) return refusal(404, 'endpoint not found');
      const checked = forms.check(body.form, others);
      if ('problems' in checked) return problemsAnswer(checked.problems);
      const changed = await endpoints.change(asked.id, checked.settings);
      if (changed === undefined) return refusal(404, 'endpoint not found');
      return Array.isArray(changed) ? problemsAnswer(changed) : jsonAnswer(this.#viewOf(changed));
    });
  }

  async #removeEndpoint({ id }: Request): Promise<Answer> {
    return await unlessOfFile(async () =>
      (await this.#parts.endpoints.remove(id)) ? emptyAnswer : refusal(404, 'endpoint not found'),
    );
  }

  async #submit(asked: Request): Promise<Answer | undefined> {
    const endpoint = this.#parts.endpoints.find(asked.id);
    if (endpoint === undefined) return refusal(404, 'endpoint not found');
    const { request, askForBody, holder } = asked;
    const id = await this.#parts.jobs.submit({ request, askForBody, endpoint, keyId: holder.id });
    return typeof id === 'string' ? jsonAnswer({ id }, 201) : id;
  }

  async #purge({ id }: Request): Promise<Answer> {
    const { endpoints, book } = this.#parts;
    if (endpoints.find(id) === undefined) return refusal(404, 'endpoint not found');
    return jsonAnswer({ removed: await book.purgeQueue(id) });
  }

  #listJobs({ query }: Request): Answer {
    const asked = {
      endpoint: query.get('endpoint') || null,
      status: query.get('status') || null,
      before: query.get('before') || null,
    };
    return jsonAnswer(this.#jobs.list(asked, this.#keyNames()));
  }

  async #showJob({ id }: Request): Promise<Answer> {
    const { endpoints } = this.#parts;
    const job = await this.#jobs.find(
      id,
      this.#keyNames(),
      (row) => endpoints.find(row.endpointId)?.logOf(row.id) ?? [],
    );
    return job === undefined ? refusal(404, 'job not found') : jsonAnswer(job);
  }

  async #onJob(what: 'cancel' | 'retry', { id }: Request): Promise<Answer> {
    const endpointId = this.#jobs.endpointOf(id);
    if (endpointId === undefined) return refusal(404, 'job not found');
    if (this.#parts.endpoints.find(endpointId) === undefined)
      return refusal(409, `the endpoint ${endpointId} of this job is no more`);
    return await this.#parts.jobs[what](endpointId, id);
  }

  async #addKey(asked: Request): Promise<Answer | undefined> {
    const body = await formOf(asked);
    if (body === undefined || 'status' in body) return body;
    const { name, kind, endpoints = null } = body.form;
    const isList = Array.isArray(endpoints) && endpoints.every((id) => typeof id === 'string');
    if (typeof name !== 'string' || typeof kind !== 'string' || (endpoints !== null && !isList))
      return refusal(422, 'a key has a name, a kind and a list of endpoints or null');
    try {
      const { key, record } = this.#parts.keys.add({ name, kind, endpoints: isList ? endpoints : null });
      return jsonAnswer({ key, view: this.#keys.of(record) }, 201);
    } catch (error) {
      if (error instanceof KeyRefused) return problemsAnswer(error.problems);
      return orBusy(error);
    }
  }

  #revokeKey({ id }: Request): Answer {
    try {
      return this.#parts.keys.revoke(id) === undefined ? refusal(404, 'there is no such key') : emptyAnswer;
    } catch (error) {
      return orBusy(error);
    }
  }

  #keyNames(): (keyId: string) => string | null {
    const names = new Map(this.#parts.keys.list().map(({ id, name }) => [id, name]));
    return (keyId) => names.get(keyId) ?? (keyId === 'none' ? null : keyId);
  }
}

/** No form or script of another site can send the header without being asked first, which is not answered. */
function isOwnPage({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  return headers['x-nightrender-console'] === '1' && (site === undefined || site === 'same-origin');
}

async function formOf(
  asked: Pick<Request, 'request' | 'askForBody'>,
): Promise<{ form: Record<string, unknown> } | Answer | undefined> {
  const body = await bodyOf(asked, maxFormBytes);
  if (!Buffer.isBuffer(body)) return body;
  try {
    const form: unknown = JSON.parse(body.toString());
    if (typeof form === 'object' && form !== null && !Array.isArray(form))
      return { form: form as Record<string, unknown> };
  } catch {
    // Said below.
  }
  return refusal(400, 'the body is no JSON object');
}

function problemsAnswer(problems: FieldProblem[]): Answer {
  return jsonAnswer({ error: 'this cannot be done as it stands', problems }, 422);
}

/** In a file they may come from the environment, out of which nobody is to read them here. */
function withoutSecrets(form: EndpointForm): EndpointForm {
  const environment = Object.fromEntries(Object.keys(form.environment).map((name) => [name, '••••']));
  return { ...form, environment };
}

async function unlessOfFile(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof EndpointOfFile) return refusal(409, error.message);
    throw error;
  }
}

function orBusy(error: unknown): Answer {
  if (error instanceof KeyBookBusy) return refusal(503, error.message, { 'Retry-After': '2' });
  throw error;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
