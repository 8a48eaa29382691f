/** Requests to one service over HTTP with undici, of any interface: connections, limits and the key. */
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';
import { Agent, errors, type Dispatcher } from 'undici';
import type { ByteSemaphore } from '../../lib/limits/byte-semaphore.ts';
import type { Hold, WriteChunk } from '../pipeline/ports.ts';
import { exchange, inText, redirectOf, redirectTarget, type HttpResponse, type Outcome } from './exchange.ts';
import type { NotReceived } from './receiver.ts';
import { Reservation } from './reservation.ts';

export interface RequestOptions {
  /** Longest wait for a connection, and then for the whole answer, which has more time only for how much is sent and how much of it came. */
  requestTimeoutMs: number;
  /** For the whole answer, where that is to be another. */
  wholeAnswerMs?: number;
  /** Largest answer that is read. */
  maxBodyBytes: number;
  /** What large answers share. */
  memory: ByteSemaphore;
}

export interface Request {
  method: string;
  /** http(s), with whatever query it has. */
  url: string;
  headers?: Record<string, string>;
  /** JSON. */
  body?: string;
}

export type TextOutcome = { kind: 'answered'; answer: HttpResponse } | NotReceived;

/** Connections to one service, of either kind; more bring nothing (40,000 requests a second with 64). */
const connections = 64;

/** Of one GET, each to the origin that it was sent to. */
const maxRedirects = 3;

/** Of inputs with files in them, sixteen that share a line of 512 kbit/s each go so fast: one given up may run, and bill. */
const minSentBytesPerMs = 4;

export class HttpRequests {
  readonly #options: RequestOptions;
  readonly #agent: Agent;
  /** Of the answers that brought pictures so far. */
  #largestBytes = 0;

  constructor(options: RequestOptions) {
    this.#options = options;
    const { requestTimeoutMs: timeout } = options;
    const times = { headersTimeout: timeout, bodyTimeout: timeout, connect: { timeout } };
    this.#agent = new Agent({ ...times, connections, pipelining: 1 });
  }

  /** `onWait` is called where something has to be waited for. */
  reserve(onWait?: () => void): Reservation {
    return new Reservation(this.#options.memory, onWait);
  }

  /** For an answer that brings no pictures. */
  async exchangeText(request: Request, signal: AbortSignal): Promise<TextOutcome> {
    const outcome = await this.exchange(request, signal);
    return outcome.kind === 'answered' ? { ...outcome, answer: inText(outcome.answer) } : outcome;
  }

  /**
   * For one that may: what it takes is held by `hold`, for `bodies` of this size. Only a GET follows redirects, and only within
   * its origin, so that the key goes nowhere else and nothing is submitted twice.
   */
  async exchange(request: Request, signal: AbortSignal, hold?: Hold, bodies?: number): Promise<Outcome> {
    for (let { url } = request, hops = 0; ; hops++) {
      const outcome = await this.#exchange({ ...request, url }, signal, hold, bodies);
      const next = request.method === 'GET' && hops < maxRedirects ? redirectOf(outcome, url) : undefined;
      if (next === undefined || !isSameOrigin(next, url)) return outcome;
      url = next;
    }
  }

  async #exchange(
    { method, url, headers, body }: Request,
    signal: AbortSignal,
    hold?: Hold,
    bodies?: number,
  ): Promise<Outcome> {
    const { requestTimeoutMs, maxBodyBytes, wholeAnswerMs = requestTimeoutMs } = this.#options;
    const target = httpUrl(url);
    // Some addresses are the service's own words.
    if (target === undefined)
      return { kind: 'broken', wasSent: false, why: 'it is no http(s) URL', beginning: '' };
    const uploadMs = Buffer.byteLength(body ?? '') / minSentBytesPerMs;
    const { origin, pathname, search } = target;
    const request = {
      origin,
      path: pathname + search,
      method: method as 'GET',
      headers: {
        ...headers,
        accept: 'application/json',
        'accept-encoding': 'identity',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body ?? null,
      headersTimeout: requestTimeoutMs + uploadMs,
    };
    const limits = {
      maxBodyBytes,
      wholeAnswerMs: wholeAnswerMs + uploadMs,
      hold,
      bodies,
      likelyBytes: this.#largestBytes,
    };
    const outcome = await exchange(this.#agent, request, limits, signal);
    this.#largestBytes = Math.max(this.#largestBytes, (hold?.bytes ?? 0) / (bodies ?? 1));
    return outcome;
  }

  /** Passes the body of a 2xx answer on as it comes, of any size; false if it did not come whole. */
  async copy(request: Request, write: WriteChunk, signal: AbortSignal): Promise<boolean> {
    try {
      const answer = await this.#answerOf(request, signal);
      if (answer === undefined) return false;
      const chunks =
        answer.statusCode >= 200 && answer.statusCode <= 299
          ? plainBody(answer.body, answer.headers['content-encoding'])
          : undefined;
      if (chunks === undefined) {
        await answer.body.dump();
        return false;
      }
      for await (const chunk of chunks) await write(chunk);
      await write(new Uint8Array());
      return true;
    } catch (error) {
      // What goes wrong with the file is for whoever writes it.
      if (isOfConnection(error)) return false;
      throw error;
    }
  }

  /** Follows redirects as `exchange` does. */
  async #answerOf(
    { method, url, headers }: Request,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData | undefined> {
    for (let [at, hops] = [url, 0]; ; hops++) {
      const target = httpUrl(at);
      if (target === undefined) return undefined;
      const answer = await this.#agent.request({
        origin: target.origin,
        path: target.pathname + target.search,
        method,
        headers: { ...headers, accept: 'application/json', 'accept-encoding': 'identity' },
        signal,
      });
      const next =
        method === 'GET' && hops < maxRedirects
          ? redirectTarget(answer.statusCode, answer.headers, at)
          : undefined;
      if (next === undefined || !isSameOrigin(next, at)) return answer;
      await answer.body.dump();
      at = next;
    }
  }

  /** `64 MB`, for people. */
  get limit(): string {
    const { maxBodyBytes } = this.#options;
    return maxBodyBytes < 1e6 ? `${maxBodyBytes} bytes` : `${Math.round(maxBodyBytes / 1e6)} MB`;
  }

  /** Requests in progress are cut. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** Scheme, host and port. */
export function isSameOrigin(one: string, other: string): boolean {
  return URL.canParse(one) && new URL(one).origin === new URL(other).origin;
}

function httpUrl(text: string): URL | undefined {
  try {
    const url = new URL(text);
    return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined;
  } catch {
    return undefined;
  }
}

/** Some proxies pack whatever they are asked for. Undefined if nobody knows how to unpack it. */
function plainBody(body: Readable, encoding: unknown = 'identity'): AsyncIterable<Uint8Array> | undefined {
  const name = String(encoding).trim().toLowerCase();
  if (name === '' || name === 'identity') return body;
  if (!/^(?:br|deflate|(?:x-)?gzip)$/.test(name)) return undefined;
  const unpacking = name === 'br' ? createBrotliDecompress() : createUnzip();
  // What went wrong is thrown to whoever reads.
  return pipeline(body, unpacking, () => undefined);
}

function isOfConnection(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return (
    error instanceof errors.UndiciError ||
    /^(?:E(?:CONN|PIPE|TIMEDOUT|HOST|NET|NOTFOUND|AI_)|ERR_STREAM_PREMATURE_CLOSE|Z_|ERR_(?:_ERROR_)?BROTLI)/.test(
      code,
    ) ||
    (error as Error).name === 'AbortError'
  );
}
