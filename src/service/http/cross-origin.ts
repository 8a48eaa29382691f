/** Lets pages of other sites use the job interface from a browser (CORS, fetch.spec.whatwg.org/#http-cors-protocol). */
import type { IncomingMessage } from 'node:http';
import { idempotencyKeyHeader, idempotencyRetentionHeader } from '../../protocol/messages.ts';
import type { HttpResponse } from '../../lib/http/http-response.ts';

/** Adds CORS headers for allowed origins, such as `https://studio.example`; `*` allows any origin. */
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

  /** Adds headers that let an allowed page read the answer. */
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
