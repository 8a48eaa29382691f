/** Console of the service: serves its page, keeps its sessions, and routes its requests. */
import type { IncomingMessage } from 'node:http';
import {
  emptyResponse,
  type HttpResponse,
  jsonResponse,
  pageResponse,
  refusal,
  tooMany,
} from '../../lib/http/http-response.ts';
import { decodedPart } from '../../lib/text/format.ts';
import { createHash, randomBytes } from 'node:crypto';
import { type ConsoleService, formOf, type Operation } from './console-request.ts';
import { EndpointRequests, KeyRequests } from './admin-requests.ts';
import { JobRequests, WebhookRequests } from './job-requests.ts';
import { type KeyHolder, digestOf, permits } from '../model/key.ts';
import type { BodyContext } from '../api/request-context.ts';
import type { AuditLog } from '../keys/audit-log.ts';
import type { Admission } from '../keys/admission.ts';
import type { KeyStore } from '../keys/key-store.ts';

const prefix = '/console/api/';

export class Console {
  readonly #service: ConsoleService;
  readonly #sessions: Sessions;
  readonly #operations: [method: string, path: RegExp, operation: Operation][];

  constructor(service: ConsoleService) {
    this.#service = service;
    this.#sessions = new Sessions(service.keys, service.admission, service.audit, service.place);
    const endpoints = new EndpointRequests(service);
    const jobs = new JobRequests(service);
    const keys = new KeyRequests(service);
    const webhooks = new WebhookRequests(service);
    this.#operations = [
      ['GET', /^overview$/, (context) => jsonResponse(endpoints.overview(context))],
      ['GET', /^catalogue$/, () => jsonResponse(service.catalogue)],
      ['GET', /^endpoint-fields$/, () => jsonResponse(service.forms.fields())],
      ['GET', /^endpoints\/([^/]+)\/form$/, (context) => endpoints.form(context)],
      ['POST', /^endpoints$/, (context) => endpoints.add(context)],
      ['PUT', /^endpoints\/([^/]+)$/, (context) => endpoints.change(context)],
      ['DELETE', /^endpoints\/([^/]+)$/, (context) => endpoints.remove(context)],
      ['POST', /^endpoints\/([^/]+)\/workers\/([^/]+)\/drain$/, (context) => endpoints.drain(context)],
      ['POST', /^endpoints\/([^/]+)\/pause$/, (context) => endpoints.pause(context, true)],
      ['POST', /^endpoints\/([^/]+)\/resume$/, (context) => endpoints.pause(context, false)],
      ['POST', /^endpoints\/([^/]+)\/jobs$/, (context) => endpoints.submit(context)],
      ['GET', /^jobs$/, (context) => jobs.list(context)],
      ['GET', /^jobs\/(cancel|retry)$/, (context) => jobs.countReachable(context)],
      ['POST', /^jobs\/(cancel|retry)$/, (context) => jobs.actOnAll(context)],
      ['GET', /^jobs\/([^/]+)$/, (context) => jobs.show(context)],
      ['GET', /^jobs\/([^/]+)\/thumbnail$/, (context) => jobs.thumbnail(context)],
      ['POST', /^jobs\/([^/]+)\/cancel$/, (context) => jobs.act('cancel', context)],
      ['POST', /^jobs\/([^/]+)\/retry$/, (context) => jobs.act('retry', context)],
      ['GET', /^history$/, (context) => jobs.history(context)],
      ['GET', /^audit$/, () => jsonResponse(service.audit.latest())],
      ['GET', /^webhooks$/, () => webhooks.list()],
      ['POST', /^webhooks\/send$/, () => webhooks.sendAllAgain()],
      ['POST', /^webhooks\/([^/]+)\/send$/, (context) => webhooks.sendAgain(context)],
      ['GET', /^keys$/, () => keys.list()],
      ['POST', /^keys$/, (context) => keys.add(context)],
      ['POST', /^keys\/([^/]+)\/rotate$/, (context) => keys.rotate(context)],
      ['POST', /^keys\/([^/]+)\/revoke$/, (context) => keys.revoke(context)],
    ];
  }

  handles(target: string): boolean {
    return /^\/(console(\/|\?|$)|\?|$)/.test(target);
  }

  async answer(
    request: IncomingMessage,
    sendContinue: (maxBytes?: number) => void,
    gone: AbortSignal,
  ): Promise<HttpResponse | undefined> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://console');
    if (!pathname.startsWith(prefix)) return this.#pageAt(pathname, request);
    const path = pathname.slice(prefix.length);
    const answer = await this.#answerData({ request, sendContinue, gone }, searchParams, path);
    return answer && { ...answer, headers: { ...answer.headers, ...onlyData } };
  }

  async #answerData(
    asked: Omit<BodyContext, 'isKeyGood'>,
    query: URLSearchParams,
    path: string,
  ): Promise<HttpResponse | undefined> {
    const { request } = asked;
    if (!isOwnPage(request)) return refusal(403, 'only the console’s own page may do this');
    if (path === 'session') return await this.#session(asked);
    const holder = this.#holder(request);
    if (holder === undefined) return refusal(401, 'sign in with an admin key');
    const crowded = this.#service.connections.take(request, holder, false);
    if (crowded !== undefined) return crowded;
    const matching = this.#operations.filter(([, pattern]) => pattern.test(path));
    const found = matching.find(([method]) => method === request.method);
    if (found === undefined && matching.length > 0)
      return refusal(405, 'method not allowed', { Allow: matching.map(([method]) => method).join(', ') });
    if (found === undefined) return refusal(404, 'not found');
    if (holder.isReadOnly && request.method !== 'GET')
      return refusal(403, `the key ${holder.name} is read-only: it changes nothing`);
    const [, pattern, operation] = found;
    const [, id = '', workerId = ''] = pattern.exec(path) ?? [];
    const isKeyGood = (): boolean => this.#holder(request) !== undefined;
    const told: Record<string, string> = {};
    const context = { ...asked, isKeyGood, query, holder, told };
    const answer = await operation({ ...context, id: decodedPart(id), workerId: decodedPart(workerId) });
    if (request.method !== 'GET' && answer !== undefined && answer.status < 400) {
      const what = `${request.method} ${decodedPart(path)}${query.size === 0 ? '' : `?${query.toString()}`}`;
      const from = this.#service.proxies.addressOf(request);
      this.#service.audit.note({ event: 'change', key: holder.name, from, what, more: told });
    }
    return answer;
  }

  /** Returns the key of the user who is signed in; undefined if none is. */
  #holder(request: IncomingMessage): KeyHolder | undefined {
    return this.#sessions.find(
      proofIn(request),
      this.#service.now(),
      this.#service.proxies.addressOf(request),
    );
  }

  #pageAt(path: string, { method }: IncomingMessage): HttpResponse {
    if (method !== 'GET' && method !== 'HEAD')
      return refusal(405, 'method not allowed', { Allow: 'GET, HEAD' });
    // The page's relative addresses need the slash at the end.
    if (path === '/' || path === '/console')
      return { status: 303, body: '', headers: { Location: '/console/' } };
    const topic = /^\/console\/help\/([a-z-]+)$/.exec(path)?.[1];
    const manual = topic === undefined ? undefined : this.#service.manual(topic);
    if (manual !== undefined)
      return {
        status: 200,
        body: manual,
        headers: { ...onlyData, 'Content-Type': 'text/plain; charset=utf-8' },
      };
    if (path !== '/console/') return refusal(404, 'not found');
    return pageResponse(this.#service.page);
  }

  async #session(asked: Omit<BodyContext, 'isKeyGood'>): Promise<HttpResponse | undefined> {
    const { request } = asked;
    if (request.method === 'GET') return jsonResponse({ signedIn: this.#holder(request) !== undefined });
    if (request.method === 'DELETE')
      return { ...emptyResponse, headers: { 'Set-Cookie': this.#sessions.signOut(proofIn(request)) } };
    if (request.method !== 'POST') return refusal(405, 'method not allowed', { Allow: 'GET, POST, DELETE' });
    const body = await formOf({ ...asked, isKeyGood: () => true });
    if (body === undefined || 'status' in body) return body;
    const { key } = body.form;
    if (typeof key !== 'string' || key.trim() === '') return refusal(401, 'enter a key');
    const signedIn = this.#sessions.signIn(key, this.#service.proxies.addressOf(request), {
      now: this.#service.now(),
      isSecure: this.#service.proxies.isSecure(request),
    });
    if (signedIn === 'wrong') return refusal(401, 'this is not a valid admin key of this service');
    if ('waitMs' in signedIn)
      return tooMany('too many wrong keys from this address: wait a minute', signedIn.waitMs);
    const { cookie, token } = signedIn;
    return { ...jsonResponse({ token }), headers: { 'Set-Cookie': cookie } };
  }
}

/** Headers with which browsers never show data as a page or embed it. */
const onlyData = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
};

const tokenHeader = 'x-nightrender-console';

/** True if a request comes from the console's page: other sites cannot send the header without a preflight. */
function isOwnPage({ method, headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  const isLook = method === 'GET' || method === 'HEAD';
  return (isLook || headers[tokenHeader] !== undefined) && (site === undefined || site === 'same-origin');
}

function proofIn({ headers }: IncomingMessage): SessionProof {
  return { cookie: headers.cookie, token: headers[tokenHeader]?.toString() };
}

/** Maximum duration of a session. An open page polls forever, so idle time cannot end a session. */
const maxSessionMs = 12 * 60 * 60_000;
const maxSessions = 1_000;

/** Proof of a session, in two parts: browsers send the cookie to all ports of a host, but not the token. */
interface SessionProof {
  /** Header `Cookie` of the request. */
  cookie: string | undefined;
  token: string | undefined;
}

/** Sessions of the console. A session ends with its key, and after 12 hours at most. */
class Sessions {
  readonly #keys: KeyStore;
  readonly #admission: Admission;
  readonly #audit: AuditLog;
  readonly #cookieName: string;

  /** `place`: identifies the service (its machine and file, or its database). */
  constructor(keys: KeyStore, admission: Admission, audit: AuditLog, place: string) {
    this.#keys = keys;
    this.#admission = admission;
    this.#audit = audit;
    // Browsers share cookies between all ports of a host, so each service needs its own cookie name.
    const mark = createHash('sha256').update(place).digest('hex').slice(0, 12);
    this.#cookieName = `nightrender_console_${mark}`;
  }

  /** Starts a session and returns its cookie and token; `waitMs` after too many wrong keys from this address. */
  signIn(
    key: string,
    remoteAddress: string | undefined,
    { now, isSecure }: { now: number; isSecure: boolean },
  ): { cookie: string; token: string } | 'wrong' | { waitMs: number } {
    const authorization = `Bearer ${key.trim()}`;
    const admitted = this.#admission.admit(authorization, remoteAddress);
    if (admitted === 'wrong' || 'waitMs' in admitted) return admitted;
    const { name, kind } = admitted.holder;
    const told = { key: name, from: remoteAddress };
    if (!permits(admitted.holder, 'console')) {
      this.#audit.note({ ...told, event: 'wrong-key', what: `the console, with a ${kind} key` });
      return 'wrong';
    }
    this.#audit.note({ ...told, event: 'signed-in', what: null });
    const [value, token] = [secret(), secret()];
    const session = { id: idOf(value, token), keyDigest: digestOf(key.trim()), signedInAt: now };
    this.#keys.signIn(session, now - maxSessionMs, maxSessions);
    const cookie = this.#cookieOf(value, maxSessionMs / 1_000);
    // If the page was loaded over HTTPS, the cookie is never sent over plain HTTP.
    return { token, cookie: isSecure ? `${cookie}; Secure` : cookie };
  }

  /** Returns the key whose session a request belongs to; undefined if there is no valid session. */
  find(proof: SessionProof, now: number, from?: string): KeyHolder | undefined {
    const session = this.#keys.session(this.#idIn(proof));
    if (session === undefined || now - session.signedInAt > maxSessionMs) return undefined;
    // The key is looked up for every request, so that revoking it ends the session.
    const holder = this.#keys.ofDigest(session.keyDigest, from);
    return holder !== undefined && permits(holder, 'console') ? holder : undefined;
  }

  /** Ends a session. Returns the cookie that deletes the session's cookie. */
  signOut(proof: SessionProof): string {
    this.#keys.signOut(this.#idIn(proof));
    return this.#cookieOf('', 0);
  }

  /** Returns a cookie that scripts cannot read, and that browsers do not send with requests of other sites. */
  #cookieOf(value: string, maxAgeSeconds: number): string {
    return `${this.#cookieName}=${value}; Path=/console; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
  }

  #idIn({ cookie = '', token = '' }: SessionProof): Buffer {
    for (const pair of cookie.split(';')) {
      const [name, value = ''] = pair.split('=', 2);
      if (name?.trim() === this.#cookieName) return idOf(value.trim(), token);
    }
    return idOf('', token);
  }
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}

function idOf(value: string, token: string): Buffer {
  return digestOf(`${value}.${token}`);
}
