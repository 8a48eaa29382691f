/** Authorises each request by its key, operation and endpoint, and routes it. */
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { type HttpResponse, refusal, tooMany } from '../../lib/http/http-response.ts';
import { type AnswerRequest, type KnownNames, nameIn } from '../../lib/http/http-server.ts';
import { isLoopback, type TrustedProxies } from '../../lib/net/addresses.ts';
import { idempotencyKeyHeader, idempotencyRetentionHeader } from '../../protocol/message-schemas.ts';
import {
  type OperationName,
  operations,
  type ServiceOperationName,
  serviceOperations,
} from '../../protocol/operations.ts';
import { findRoute, type Route } from '../../protocol/paths.ts';
import type { Metrics } from '../api/metrics.ts';
import type { Quotas, RateLimit } from '../api/quotas.ts';
import type { OperationHandlers, RequestContext, ServiceHandlers } from '../api/request-context.ts';
import type { Admission } from '../keys/admission.ts';
import type { AuditLog } from '../keys/audit-log.ts';
import { type KeyHolder, permits } from '../model/key.ts';
import type { Endpoints } from '../workers/endpoints.ts';
import type { Connections } from './connections.ts';

/** Port to the console, which answers requests of its own page. */
interface WebConsole {
  handles(target: string): boolean;
  answer: AnswerRequest;
}

export class ApiRouter {
  readonly #parts;

  constructor(parts: {
    admission: Admission;
    audit: AuditLog;
    quotas: Quotas;
    proxies: TrustedProxies;
    connections: Connections;
    endpoints: Endpoints;
    handlers: OperationHandlers<OperationName> & ServiceHandlers;
    /** Returns true if the service has accepted this submission before. */
    wasSubmitted: (context: RequestContext) => boolean;
    rates: RateLimit;
    metrics: Metrics;
    crossOrigin: CrossOrigin;
    names: KnownNames;
    mayBeBehindProxy: boolean;
    /** Console of the service; undefined if it is switched off. */
    webConsole: WebConsole | undefined;
    refusedTakeMs: number;
  }) {
    this.#parts = parts;
  }

  /** Answers a request. Returns undefined if the client has disconnected. Throws if the job store cannot be used. */
  async answer(
    request: IncomingMessage,
    sendContinue: (maxBytes?: number) => void,
    gone: AbortSignal,
  ): Promise<HttpResponse | undefined> {
    const { webConsole, crossOrigin, metrics, refusedTakeMs } = this.#parts;
    const route = findRoute(request.url ?? '');
    const isConsoles = webConsole?.handles(request.url ?? '') === true;
    const answering = () => this.#answer(request, route, sendContinue, gone);
    const answer = isConsoles
      ? this.#isKnown(request)
        ? await webConsole.answer(request, sendContinue, gone)
        : this.#misdirected(request)
      : (crossOrigin.preflight(request) ??
        (await (route?.operation.startsWith('job-take')
          ? unhurried(answering(), refusedTakeMs, gone)
          : answering())));
    if (answer === undefined) return undefined;
    metrics.count(route?.operation ?? 'other', answer.status);
    return isConsoles ? answer : crossOrigin.allow(answer, request);
  }

  async #answer(
    request: IncomingMessage,
    route: Route | undefined,
    sendContinue: (maxBytes?: number) => void,
    gone: AbortSignal,
  ): Promise<HttpResponse | undefined> {
    const { endpoints, handlers, proxies } = this.#parts;
    const address = proxies.addressOf(request);
    const ofService = serviceOperationOf(request);
    const isOpen =
      ofService !== undefined &&
      (serviceOperations[ofService].openTo === 'everyone' || this.#isOfThisMachine(request, address));
    if (isOpen && this.#isKnown(request)) return handlers[ofService]();
    const admitted = this.#parts.admission.admit(request.headers.authorization, address);
    if (admitted === 'wrong' && isOpen) return this.#misdirected(request);
    if (admitted === 'wrong')
      return refusal(401, 'the API key is missing or unknown', { 'WWW-Authenticate': 'Bearer' });
    if ('waitMs' in admitted) return tooMany('too many wrong keys from this address', admitted.waitMs);
    const key = admitted.holder;
    const crowded = this.#parts.connections.take(request, key, !isShort(route));
    if (crowded !== undefined) return crowded;
    const seesAll = permits(key, 'jobs') && !key.hasOwnJobsOnly;
    if (ofService !== undefined && (isOpen || seesAll)) return handlers[ofService]();
    if (route === undefined) return refusal(404, 'not found');
    const { methods: described, isAudited = false } = operations[route.operation];
    const methods = Object.keys(described);
    if (!methods.includes(request.method ?? ''))
      return refusal(405, `${route.operation} takes ${methods.join(' and ')}`, { Allow: methods.join(', ') });
    const endpoint = endpoints.find(route.endpointId);
    // Endpoints outside the key's scope look missing.
    if (endpoint === undefined || !isInScope(key, route.endpointId))
      return endpointNotFound(
        this.#parts.endpoints.all.map(({ id }) => id).filter((id) => isInScope(key, id)),
      );
    const isKeyGood = (): boolean => this.#parts.admission.isStillValid(request.headers.authorization);
    const { id: keyId, hasOwnJobsOnly } = key;
    const refuse = (bytes: number, askedMs?: number) => this.#parts.quotas.refusal(key, bytes, askedMs);
    const common = { keyId, hasOwnJobsOnly, isKeyGood, refuse };
    const context = { route, endpoint, ...common, request, sendContinue, gone };
    const refused = this.#tooFast(key, route) ?? wrongKind(key, route) ?? this.#overQuota(key, context);
    if (refused !== undefined) return refused;
    const { operation, endpointId, jobId } = route;
    const answer = await handlers[operation](context);
    // Only admin keys are audited here, because every job already records the key that submitted it.
    const isNoted = isAudited && key.kind === 'admin';
    if (isNoted && answer !== undefined && answer.status < 400) {
      const what = [operation, endpointId, jobId].filter(Boolean).join(' ');
      this.#parts.audit.note({ event: 'change', key: key.name, from: address, what });
    }
    return answer;
  }

  /** True if a request comes from this machine and not through a local proxy. By default, nginx forwards with HTTP/1.0. */
  #isOfThisMachine({ headers, httpVersion }: IncomingMessage, address = ''): boolean {
    const isForwarded =
      this.#parts.mayBeBehindProxy ||
      httpVersion === '1.0' ||
      ['forwarded', 'x-forwarded-for', 'via'].some((name) => headers[name] !== undefined);
    return !isForwarded && isLoopback(address.replace(/^::ffff:/, ''));
  }

  #isKnown(request: IncomingMessage): boolean {
    return this.#parts.names.has(this.#parts.proxies.hostOf(request));
  }

  #misdirected(request: IncomingMessage): HttpResponse {
    const name = JSON.stringify(nameIn(this.#parts.proxies.hostOf(request) ?? '').slice(0, 253));
    const text = `this service is not known as ${name}: ask for it by its address, or add the name to \`hosts\` in its service.yaml`;
    return refusal(421, text);
  }

  #tooFast(key: KeyHolder, { operation }: Route): HttpResponse | undefined {
    const { rates } = this.#parts;
    const now = performance.now();
    const { requestsPerSecond: requests } = key.limits;
    const ownMs = requests === null ? 0 : rates.take(key.id, now, { requests, withinMs: 1_000 });
    const waitMs = ownMs || rates.take(`${key.id} ${operation}`, now);
    return waitMs === 0 ? undefined : tooMany('too many requests', waitMs);
  }

  #overQuota(key: KeyHolder, context: RequestContext): HttpResponse | undefined {
    const { isQueueing = false } = operations[context.route.operation];
    const refused = isQueueing ? this.#parts.quotas.refusal(key) : undefined;
    return refused && !this.#parts.wasSubmitted(context) ? refused : undefined;
  }
}

/** Returns the operation of the service as a whole that a request names; undefined if it names none. */
function serviceOperationOf({ method, url = '' }: IncomingMessage): ServiceOperationName | undefined {
  const name = url.slice(1);
  const isNamed = method === 'GET' && url.startsWith('/') && Object.hasOwn(serviceOperations, name);
  return isNamed ? (name as ServiceOperationName) : undefined;
}

function isShort(route: Route | undefined): boolean {
  return route === undefined || operations[route.operation].isShort === true;
}

/** Delays refusals of requests for jobs, because workers repeat them without a pause. */
async function unhurried(
  answering: Promise<HttpResponse | undefined>,
  refusedTakeMs: number,
  gone: AbortSignal,
) {
  const isGiven = await answering.then(
    (answer) => answer === undefined || answer.status < 400,
    () => false,
  );
  if (!isGiven) await pause(refusedTakeMs, undefined, { signal: gone, ref: false }).catch(() => undefined);
  return await answering;
}

const maxNamed = 10;

/** `ids`: endpoints that the key may see. */
function endpointNotFound(ids: string[]): HttpResponse {
  const more = ids.length > maxNamed ? [`${ids.length - maxNamed} more`] : [];
  const named = [...ids.slice(0, maxNamed), ...more].join(', ');
  const known = named === '' ? '' : `; there ${ids.length === 1 ? 'is' : 'are'} ${named}`;
  return refusal(404, `endpoint not found${known}`);
}

function isInScope({ endpoints }: KeyHolder, endpointId: string): boolean {
  return endpoints === null || endpoints.includes(endpointId);
}

function wrongKind(key: KeyHolder, { operation, endpointId }: Route): HttpResponse | undefined {
  const { caller } = operations[operation];
  const right = caller === 'worker' ? 'work' : 'jobs';
  const isPermitted = permits(key, right, endpointId);
  if (isPermitted && key.isReadOnly && caller !== 'reader')
    return refusal(403, `the key ${key.name} is read-only, which does not permit ${operation}`);
  if (isPermitted) return undefined;
  const kind = key.kind === 'admin' ? 'an admin key' : `a ${key.kind} key`;
  return refusal(403, `the key ${key.name} is ${kind}, which does not permit ${operation}`);
}

/**
 * Lets pages of other sites use the job interface from a browser (CORS,
 * fetch.spec.whatwg.org/#http-cors-protocol). Adds CORS headers for allowed origins, such as
 * `https://studio.example`; `*` allows any origin.
 */
export class CrossOrigin {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** Returns the answer to a preflight request; undefined if it is none, or its origin is not allowed. */
  preflight({ method, headers }: IncomingMessage): HttpResponse | undefined {
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return undefined;
    if (this.#allowed(headers.origin) === undefined) return undefined;
    return { status: 204, body: '', headers: preflightHeaders };
  }

  allow(answer: HttpResponse, { headers }: IncomingMessage): HttpResponse {
    const origin = this.#allowed(headers.origin);
    if (origin === undefined) return answer;
    const allowing = { 'Access-Control-Allow-Origin': origin, Vary: 'Origin' };
    return { ...answer, headers: { ...answer.headers, ...allowing, ...exposing } };
  }

  /** Returns the allowed origin for the header. Cookies are never allowed: any site could use the console's session. */
  #allowed(origin: string | undefined): string | undefined {
    if (origin === undefined) return undefined;
    return this.#origins.has('*') ? '*' : this.#origins.has(origin) ? origin : undefined;
  }
}

const exposing = {
  'Access-Control-Expose-Headers': `Retry-After, ${idempotencyKeyHeader}, ${idempotencyRetentionHeader}`,
};

const preflightHeaders = {
  'Access-Control-Allow-Methods': 'GET, POST',
  'Access-Control-Allow-Headers': `Authorization, Content-Type, ${idempotencyKeyHeader}`,
  'Access-Control-Max-Age': '600',
};
