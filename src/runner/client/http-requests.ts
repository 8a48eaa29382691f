/** Requests to one service over HTTP with undici, of any interface: connections, limits and the key. */
import { Agent } from 'undici';
import type { ByteSemaphore } from '../../lib/limits/byte-semaphore.ts';
import type { Hold } from '../pipeline/ports.ts';
import { exchange, inText, type HttpResponse, type Outcome } from './exchange.ts';
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

  /** For one that may: what it takes is held by `hold`, for `bodies` of this size. Redirects are not followed. */
  async exchange(
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

function httpUrl(text: string): URL | undefined {
  try {
    const url = new URL(text);
    return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined;
  } catch {
    return undefined;
  }
}
