/** Sends HTTP requests to one service: connections, timeouts, redirects and size limits. */
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';
import { type Agent, errors, type Dispatcher } from 'undici';
import type { ByteSemaphore } from '../../lib/limits.ts';
import { proxiedAgent } from '../../lib/net/proxied-agent.ts';
import { noProxies, proxyFor, type ProxyRules } from '../../lib/net/addresses.ts';
import type { ReceivedFile } from '../core/picture.ts';
import type { MemoryShare, ResultKey, WriteChunk } from '../pipeline/ports.ts';
import {
  exchange,
  withTextBody,
  redirectOf,
  redirectTarget,
  type HttpResponse,
  type Outcome,
} from './exchange.ts';
import type { ReceivedFiles } from './received-files.ts';
import { type BodySink, type NotReceived, Reservation } from './receiver.ts';

export interface RequestOptions {
  /** Longest wait for a connection, and again for the answer, which each sent or received byte extends. */
  requestTimeoutMs: number;
  /** Longest wait for the whole answer, if it differs from `requestTimeoutMs`. */
  wholeAnswerMs?: number;
  /** Largest answer that is read. */
  maxBodyBytes: number;
  /** Memory that large answers share. */
  memory: ByteSemaphore;
  /** Takes clips. Undefined if no results are collected. */
  received?: ReceivedFiles | undefined;
  proxies?: ProxyRules;
}

export interface Request {
  method: string;
  /** http(s) URL with its query. */
  url: string;
  headers?: Record<string, string>;
  /** JSON text. */
  body?: string;
  /** Body of another type than JSON. */
  form?: { type: string; bytes: Buffer };
}

export type TextOutcome = { kind: 'answered'; answer: HttpResponse } | NotReceived;

/** Largest number of connections. More do not help: 64 carry 40,000 requests a second. */
const connections = 64;

/** Redirects that are followed for one GET. */
const maxRedirects = 3;

/** Slowest upload that is waited for: one of 16 on a line of 512 kbit/s. A lost one may be billed. */
const minSentBytesPerMs = 4;

export class HttpRequests {
  readonly #options: RequestOptions;
  readonly #agent: Agent;
  /** Size of the largest answer with pictures so far. */
  #largestBytes = 0;

  constructor(options: RequestOptions) {
    this.#options = options;
    const { requestTimeoutMs: timeout } = options;
    const times = { headersTimeout: timeout, bodyTimeout: timeout, connect: { timeout } };
    this.#agent = proxiedAgent(options.proxies ?? noProxies, { ...times, connections, pipelining: 1 });
  }

  /** Returns a reservation that is still empty. `onWait` is called if memory has to be waited for. */
  reserve(onWait?: () => void): Reservation {
    return new Reservation(this.#options.memory, onWait);
  }

  /** Sends a request whose answer contains no pictures. */
  async exchangeText(request: Request, signal: AbortSignal): Promise<TextOutcome> {
    const outcome = await this.exchange(request, signal);
    return outcome.kind === 'answered' ? { ...outcome, answer: withTextBody(outcome.answer) } : outcome;
  }

  /**
   * Sends a request whose answer may contain pictures. `share` reserves memory for `bodies` answers of its
   * size. Only a GET follows redirects, and only within its origin, so that the key goes nowhere else and
   * nothing is submitted twice. With `sink`, the answer goes there and not into memory.
   */
  async exchange(
    request: Request,
    signal: AbortSignal,
    share?: MemoryShare,
    bodies?: number,
    sink?: BodySink,
  ): Promise<Outcome> {
    for (let { url } = request, hops = 0; ; hops++) {
      const outcome = await this.#exchange({ ...request, url }, signal, share, bodies, sink);
      const next = request.method === 'GET' && hops < maxRedirects ? redirectOf(outcome, url) : undefined;
      if (next === undefined || !isSameOrigin(next, url)) return outcome;
      url = next;
    }
  }

  /** Receives the answer into a file. Returns the outcome if none came, like `ReceivedFiles.receive`. */
  async receive(
    request: Request,
    key: ResultKey,
    signal: AbortSignal,
  ): Promise<{ received: ReceivedFile } | Outcome> {
    const { received } = this.#options;
    if (received === undefined) throw new Error('clips are received only by a run');
    const sent = await received.receive(key, request.url, async (range, sink) => {
      const headers = { ...request.headers, ...range };
      return { outcome: await this.exchange({ ...request, headers }, signal, undefined, undefined, sink) };
    });
    return 'received' in sent ? sent : sent.outcome;
  }

  async #exchange(
    { method, url, headers, body: json, form }: Request,
    signal: AbortSignal,
    share: MemoryShare | undefined,
    bodies: number | undefined,
    sink: BodySink | undefined,
  ): Promise<Outcome> {
    const {
      requestTimeoutMs,
      maxBodyBytes,
      wholeAnswerMs = requestTimeoutMs,
      proxies = noProxies,
    } = this.#options;
    const target = httpUrl(url);
    // The URL may come from the service.
    if (target === undefined)
      return { kind: 'broken', wasSent: false, why: 'it is not an http(s) URL', beginning: '' };
    const body = form?.bytes ?? json;
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
        ...(body !== undefined && { 'content-type': form?.type ?? 'application/json' }),
      },
      body: body ?? null,
      headersTimeout: requestTimeoutMs + uploadMs,
    };
    const limits = {
      maxBodyBytes,
      wholeAnswerMs: wholeAnswerMs + uploadMs,
      share,
      bodies,
      likelyBytes: this.#largestBytes,
      sink,
    };
    const proxy = proxyFor(target, proxies);
    const outcome = await exchange(this.#agent, request, limits, signal, proxy);
    this.#largestBytes = Math.max(this.#largestBytes, (share?.bytes ?? 0) / (bodies ?? 1));
    return outcome;
  }

  /** Writes the body of a 2xx answer in chunks, then an empty one. Returns false if it is incomplete. */
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
      if (isOfConnection(error)) return false;
      throw error;
    }
  }

  /** Sends a request and follows redirects as `exchange` does. Undefined if a URL is not http(s). */
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

  /** `maxBodyBytes` as text, such as `64 MB`. */
  get limit(): string {
    const { maxBodyBytes } = this.#options;
    return maxBodyBytes < 1e6 ? `${maxBodyBytes} bytes` : `${Math.round(maxBodyBytes / 1e6)} MB`;
  }

  /** Aborts requests in progress. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** Scheme, host and port of an address without user name, as written. */
const writtenOrigin = /^https?:\/\/[^/?#\\@\s]+(?=[/?#]|$)/;

/** True if scheme, host and port are the same. `other` is a valid URL. */
export function isSameOrigin(one: string, other: string): boolean {
  // Every request is compared so, and parsing takes ten times as long.
  const origin = writtenOrigin.exec(one)?.[0];
  if (origin !== undefined && writtenOrigin.exec(other)?.[0] === origin) return true;
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

/** Returns the decompressed body, as some proxies compress unasked; undefined if the encoding is unknown. */
function plainBody(body: Readable, encoding: unknown = 'identity'): AsyncIterable<Uint8Array> | undefined {
  const name = String(encoding).trim().toLowerCase();
  if (name === '' || name === 'identity') return body;
  if (!/^(?:br|deflate|(?:x-)?gzip)$/.test(name)) return undefined;
  const unpacking = name === 'br' ? createBrotliDecompress() : createUnzip();
  // Errors are thrown to the reader of the stream.
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
