/** Forwards a request to the leading process of the service, and returns its answer. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, errors, type Dispatcher } from 'undici';
import type { TrustedProxies } from '../../lib/net/addresses.ts';
import { operations, type OperationName } from '../../protocol/operations.ts';
import { findRoute } from '../../protocol/paths.ts';
import { emptyResponse, type HttpResponse, refusal } from '../../lib/http/http-response.ts';

/** An answer, `again` (may be sent again), `not done` (surely, but its body is gone), or `unknown`. */
export type Relayed = HttpResponse | 'again' | 'not done' | 'unknown';

/** Headers that prove that another process of the service asks, and name its client. */
const relayHeader = 'nightrender-relay';
const clientHeader = 'nightrender-client';
/** Answer of a process that does not lead. Nothing was done. */
export const notLeading = refusal(503, 'another process leads', { [relayHeader]: 'not leading' });

/** Path that a process answers at once, to show that it is alive. */
const alivePath = '/alive';
const alive = { ...emptyResponse, headers: { [relayHeader]: 'alive' } };

const connectMs = 2_000;
/** Time within which the leader must answer that it is alive. */
const aliveMs = 6_000;
/** Maximum pause between two pieces of an answer. */
const pieceMs = 20_000;
/** Maximum size of bodies that are kept in memory. Longer bodies are streamed, so they can be sent only once. */
const maxKeptBytes = 256 * 1024;
/** Headers that are not forwarded: they belong to one connection, or every sender sets them itself. */
const ownHeaders =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|expect|nightrender-.*)$/;

export class Relay {
  readonly #proof: string;
  readonly #proxies: TrustedProxies;
  readonly #askEveryMs: number;
  // There is no timeout for headers, because requests may wait as long as the leader is alive.
  readonly #agent = new Agent({ connect: { timeout: connectMs }, headersTimeout: 0, bodyTimeout: pieceMs });
  /** Forwarded requests without an answer, and the address of the process that each was sent to. */
  readonly #handedOn = new Map<AbortController, string>();
  #isWatching = false;
  /** Address of the process whose connection broke last; undefined after it has answered again. */
  #lately: string | undefined;

  /** `secret`: the same in all processes. `askEveryMs`: how often the leader is asked while requests wait. */
  constructor(secret: Buffer, proxies: TrustedProxies, askEveryMs = 3_000) {
    this.#proof = createHmac('sha256', secret).update('relay').digest('base64url');
    this.#proxies = proxies;
    this.#askEveryMs = askEveryMs;
  }

  /** True if another process of the service asks. Its client's address is trusted from then on. */
  believe(request: IncomingMessage): boolean {
    const given = Buffer.from(String(request.headers[relayHeader] ?? ''));
    const proof = Buffer.from(this.#proof);
    if (given.length !== proof.length || !timingSafeEqual(given, proof)) return false;
    const [address, protocol, host] = String(request.headers[clientHeader]).split(' ');
    this.#proxies.believe(request, { address, isSecure: protocol === 'https', host });
    return true;
  }

  /** Returns the answer if another process asks if this one is alive; otherwise undefined. */
  answerAlive({ url }: IncomingMessage): HttpResponse | undefined {
    return url === alivePath ? alive : undefined;
  }

  /** Aborts forwarded requests: those sent to `url`, or all. */
  giveUp(url?: string): void {
    for (const [waiting, to] of this.#handedOn) if (url === undefined || to === url) waiting.abort();
  }

  /** Prepares a request for forwarding; call it once for each request. `send` may be repeated while it returns `again`. */
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
          // If the request has not arrived completely, no process can have acted on it.
          return request.complete ? 'unknown' : 'not done';
        } finally {
          gone.removeEventListener('abort', giveUp);
          this.#handedOn.delete(waiting);
        }
      },
    };
  }

  /** Asks the leaders of waiting requests if they are alive, because a stopped or cut-off process keeps connections open. */
  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    while (this.#handedOn.size > 0) {
      await delay(this.#askEveryMs, undefined, { ref: false });
      await Promise.all([...new Set(this.#handedOn.values())].map((url) => this.#ask(url)));
    }
    this.#isWatching = false;
  }

  /** True if a process is alive. Its other connections may break soon if it was killed, so unsafe requests check first. */
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
      // A live process may have too many connections. If it has ended, its open connections end by themselves.
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

/** True if a request may be sent twice: it only reads, has no further effect, or has an idempotency key. */
function mayComeTwice(request: IncomingMessage): boolean {
  const operation = operationOf(request);
  const isKeyed = request.headers['idempotency-key'] !== undefined;
  const byDefault = request.method === 'GET' || isKeyed;
  return (operation && operations[operation].isRepeatable) ?? byDefault;
}

/** True if a request only reads and its body is never read, so that it can be answered again. */
export function onlyReads(request: IncomingMessage): boolean {
  return mayComeTwice(request) && (request.method === 'GET' || operationOf(request) === 'status');
}

function operationOf({ url = '' }: IncomingMessage): OperationName | undefined {
  return findRoute(url)?.operation;
}

/** True if the machine answered but refused or reset the connection. */
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
    // The rest of the request's body is no longer forwarded.
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

/** Returns a header's name like `Content-Type`, as answers spell it. Two spellings would send a header twice. */
function named(header: string): string {
  return header.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());
}
