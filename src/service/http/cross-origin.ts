/** Pages of other sites that may use the job interface from a browser (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol). */
import type { IncomingMessage } from 'node:http';
import { idempotencyKeyHeader, idempotencyRetentionHeader } from '../../protocol/messages.ts';
import type { HttpResponse } from '../../lib/http/http-response.ts';

/** `origins`: those that may, such as `https://studio.example`; `*` is any. */
export class CrossOrigin {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** What a browser is told before it sends a request; undefined where this is no such question, or none of theirs. */
  preflight({ method, headers }: IncomingMessage): HttpResponse | undefined {
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return undefined;
    if (this.#allowed(headers.origin) === undefined) return undefined;
    return { status: 204, body: '', headers: preflightHeaders };
  }

  /** Lets the page read the answer. */
  allow(answer: HttpResponse, { headers }: IncomingMessage): HttpResponse {
    const origin = this.#allowed(headers.origin);
    if (origin === undefined) return answer;
    const allowing = { 'Access-Control-Allow-Origin': origin, Vary: 'Origin' };
    return { ...answer, headers: { ...answer.headers, ...allowing, ...exposing } };
  }

  /** No cookie is ever allowed: the console's would do for any site. */
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
