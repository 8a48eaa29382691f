/** Hands a request on to the process that leads, and its answer back. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, errors, type Dispatcher } from 'undici';
import type { TrustedProxies } from '../../lib/net/addresses.ts';
import { operations, type OperationName } from '../../protocol/operations.ts';
import { findRoute } from '../../protocol/paths.ts';
import { emptyResponse, type HttpResponse, refusal } from '../../lib/http/http-response.ts';

/** What became of it: answered, to be asked again, surely not done and not to be sent again from here, or nobody knows. */
export type Relayed = HttpResponse | 'again' | 'not done' | 'unknown';

/** By these a process knows that another of its service asks, and for whom. */
const relayHeader = 'nightrender-relay';
const clientHeader = 'nightrender-client';
/** Of an answer: it does not lead, and nothing was done. */
export const notLeading = refusal(503, 'another process leads', { [relayHeader]: 'not leading' });

/** Asked of the one that leads, which answers at once. */
const alivePath = '/alive';
const alive = { ...emptyResponse, headers: { [relayHeader]: 'alive' } };

const connectMs = 2_000;
/** Time that the leader has to say that it lives. */
const aliveMs = 6_000;
/** An answer that has begun goes on within this. */
const pieceMs = 20_000;
/** Longer ones are sent once. */
const maxKeptBytes = 256 * 1024;
/** Of one connection, or made anew by whoever sends. */
const ownHeaders =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|expect|nightrender-.*)$/;

export class Relay {
  readonly #proof: string;
  readonly #proxies: TrustedProxies;
  readonly #askEveryMs: number;
  // Waiting requests wait as long as they like, while the leader lives.
  readonly #agent = new Agent({ connect: { timeout: connectMs }, headersTimeout: 0, bodyTimeout: pieceMs });
  /** What waits for an answer, and who is to give it. */
  readonly #handedOn = new Map<AbortController, string>();
  #isWatching = false;
  /** To whom a connection has broken last, until it is heard of again. */
  #lately: string | undefined;

  /**
   * All processes of the service have the same `secret`. While requests wait for the leader, it is asked every `askEveryMs`
   * if it lives.
   */
  constructor(secret: Buffer, proxies: TrustedProxies, askEveryMs = 3_000) {
    this.#proof = createHmac('sha256', secret).update('relay').digest('base64url');
    this.#proxies = proxies;
    this.#askEveryMs = askEveryMs;
  }

  /** Whether another process of the service asks; whom it names is believed from then on. */
  believe(request: IncomingMessage): boolean {
    const given = Buffer.from(String(request.headers[relayHeader] ?? ''));
    const proof = Buffer.from(this.#proof);
    if (given.length !== proof.length || !timingSafeEqual(given, proof)) return false;
    const [address, protocol, host] = String(request.headers[clientHeader]).split(' ');
    this.#proxies.believe(request, { address, isSecure: protocol === 'https', host });
    return true;
  }

  /** Of another process: whether this one lives. */
  answerAlive({ url }: IncomingMessage): HttpResponse | undefined {
    return url === alivePath ? alive : undefined;
  }

  /** Waits no more for what it has handed on, to this process or to all. */
  giveUp(url?: string): void {
    for (const [waiting, to] of this.#handedOn) if (url === undefined || to === url) waiting.abort();
  }

  /** To be asked for once for each request: `send` may be called until it is answered or nobody knows. */
  prepare(request: IncomingMessage, gone: AbortSignal): { send: (url: string) => Promise<Relayed> } {
    const { method = 'GET', headers, url: path = '/' } = request;
    const length = Number(headers['content-length'] ?? (headers['transfer-encoding'] ? Infinity : 0));
    const isKept = length <= maxKeptBytes;
    const isSafe = isKept && mayComeTwice(request);
    const address = this.#proxies.addressOf(request) ?? 'gone';
    const protocol = this.#proxies.isSecure(request) ? 'https' : 'http';
    const own = {
      [relayHeader]: this.#proof,
      [clientHeader]: `${address} ${protocol} ${headers.host ?? ''}`,
    };
    const passed = Object.entries(headers).filter(([name]) => !ownHeaders.test(name));
    let body: Promise<Buffer> | undefined;
    return {
      send: async (url) => {
        const waiting = new AbortController();
        const giveUp = (): void => waiting.abort();
        gone.addEventListener('abort', giveUp);
        this.#handedOn.set(waiting, url);
        void this.#watch();
        try {
          const kept = isKept && length > 0 ? await (body ??= bytesOf(request)) : null;
          if (waiting.signal.aborted) return 'again';
          if (!isSafe && this.#lately === url && !(await this.#isThere(url))) return 'again';
          const answer = await this.#agent.request({
            origin: url,
            path,
            method,
            headers: { ...(Object.fromEntries(passed) as Record<string, string>), ...own },
            body: isKept ? kept : request.pipe(new PassThrough()),
            signal: waiting.signal,
          });
          if (answer.headers[relayHeader] === undefined) return await answerOf(answer, request);
          await answer.body.dump();
          return isKept ? 'again' : 'not done';
        } catch (error) {
          if (isSafe) return 'again';
          if (isNotConnected(error)) return isKept ? 'again' : 'not done';
          this.#lately = url;
          // Nobody has had all of it.
          return request.complete ? 'unknown' : 'not done';
        } finally {
          gone.removeEventListener('abort', giveUp);
          this.#handedOn.delete(waiting);
        }
      },
    };
  }

  /** One that is stopped, or cut off, keeps its connections open. */
  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    while (this.#handedOn.size > 0) {
      await delay(this.#askEveryMs, undefined, { ref: false });
      await Promise.all([...new Set(this.#handedOn.values())].map((url) => this.#ask(url)));
    }
    this.#isWatching = false;
  }

  /** One that has been killed loses its connections one after the other: none is tried with what may be done once only. */
  async #isThere(origin: string): Promise<boolean> {
    try {
      await this.#greet(origin);
      this.#lately = undefined;
      return true;
    } catch {
      return false;
    }
  }

  async #greet(origin: string): Promise<void> {
    const headers = { [relayHeader]: this.#proof };
    const asked = { origin, path: alivePath, method: 'GET', headers, headersTimeout: aliveMs } as const;
    const { body } = await this.#agent.request(asked);
    await body.dump();
  }

  async #ask(origin: string): Promise<void> {
    try {
      await this.#greet(origin);
    } catch (error) {
      // It may have too many connections; where its process has ended, those that it had end by themselves.
      if (!isTurnedAway(error)) this.giveUp(origin);
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

/**
 * Reading changes nothing but for workers, who are given jobs; what is cancelled stays so, and a submission with a key
 * makes one job however often it comes.
 */
function mayComeTwice(request: IncomingMessage): boolean {
  const operation = operationOf(request);
  const isKeyed = request.headers['idempotency-key'] !== undefined;
  const byDefault = request.method === 'GET' || isKeyed;
  return (operation && operations[operation].isRepeatable) ?? byDefault;
}

/** Of these nobody has read a body either. */
export function onlyReads(request: IncomingMessage): boolean {
  return mayComeTwice(request) && (request.method === 'GET' || operationOf(request) === 'status');
}

function operationOf({ url = '' }: IncomingMessage): OperationName | undefined {
  return findRoute(url)?.operation;
}

/** By somebody who is there. */
function isTurnedAway(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'UND_ERR_SOCKET';
}

function isNotConnected(error: unknown): boolean {
  if (error instanceof errors.ConnectTimeoutError) return true;
  const { syscall } = error as { syscall?: unknown };
  return syscall === 'connect' || syscall === 'getaddrinfo';
}

async function answerOf(
  { statusCode: status, headers, body }: Dispatcher.ResponseData,
  request: IncomingMessage,
): Promise<HttpResponse> {
  const byteCount = Number(headers['content-length'] ?? 0);
  const passed = Object.entries(headers).flatMap(([name, value]) =>
    ownHeaders.test(name) || name === 'content-length' || name === 'date' || value === undefined
      ? []
      : [[named(name), value] as const],
  );
  const common = { status, headers: Object.fromEntries(passed) };
  if (!request.complete) {
    // What still comes is nobody's.
    request.unpipe();
    return { ...common, body: Buffer.from(await body.arrayBuffer()) };
  }
  const pieces = {
    byteCount,
    pieces: () => body as AsyncIterable<Buffer>,
    close: async () => void body.destroy(),
  };
  body.on('error', () => undefined);
  return { ...common, body: [pieces] };
}

/** `Content-Type`, as answers name their headers: of two that differ in that, both would be sent. */
function named(header: string): string {
  return header.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());
}
