/** Hands a request on to the process that leads, and its answer back. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { Agent, errors, type Dispatcher } from 'undici';
import type { TrustedProxies } from '../../lib/net/trusted-proxies.ts';
import { type HttpResponse, refusal } from '../http/http-response.ts';
import { findRoute } from '../routes.ts';

/** What became of it: answered, surely not done (`again`), or nobody knows. */
export type Relayed = HttpResponse | 'again' | 'unknown';

/** By these a process knows that another of its service asks, and for whom. */
const relayHeader = 'nightrender-relay';
const clientHeader = 'nightrender-client';
/** Of an answer: it does not lead, and nothing was done. */
export const notLeading = refusal(503, 'another process leads', { [relayHeader]: 'not leading' });

const connectMs = 2_000;
/** Longer ones are sent once. */
const maxKeptBytes = 256 * 1024;
/** Of one connection, or made anew by whoever sends. */
const ownHeaders =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|expect|nightrender-.*)$/;

export class Relay {
  readonly #proof: string;
  readonly #proxies: TrustedProxies;
  // Waiting requests wait as long as they like.
  readonly #agent = new Agent({ connect: { timeout: connectMs }, headersTimeout: 0, bodyTimeout: 0 });

  /** `secret`: all processes of the service have the same. */
  constructor(secret: Buffer, proxies: TrustedProxies) {
    this.#proof = createHmac('sha256', secret).update('relay').digest('base64url');
    this.#proxies = proxies;
  }

  /** Whether another process of the service asks; whom it names is believed from then on. */
  believe(request: IncomingMessage): boolean {
    const given = Buffer.from(String(request.headers[relayHeader] ?? ''));
    const proof = Buffer.from(this.#proof);
    if (given.length !== proof.length || !timingSafeEqual(given, proof)) return false;
    const [address, protocol] = String(request.headers[clientHeader]).split(' ');
    this.#proxies.believe(request, { address, isSecure: protocol === 'https' });
    return true;
  }

  /** To be asked for once for each request: `send` may be called until it is answered or nobody knows. */
  prepare(request: IncomingMessage, gone: AbortSignal): { send: (url: string) => Promise<Relayed> } {
    const { method = 'GET', headers, url: path = '/' } = request;
    const length = Number(headers['content-length'] ?? (headers['transfer-encoding'] ? Infinity : 0));
    const isKept = length <= maxKeptBytes;
    const isSafe = isKept && mayComeTwice(request);
    const address = this.#proxies.addressOf(request) ?? 'gone';
    const protocol = this.#proxies.isSecure(request) ? 'https' : 'http';
    const own = { [relayHeader]: this.#proof, [clientHeader]: `${address} ${protocol}` };
    const passed = Object.entries(headers).filter(([name]) => !ownHeaders.test(name));
    let body: Promise<Buffer> | undefined;
    return {
      send: async (url) => {
        try {
          const kept = isKept && length > 0 ? await (body ??= bytesOf(request)) : null;
          const answer = await this.#agent.request({
            origin: url,
            path,
            method,
            headers: { ...(Object.fromEntries(passed) as Record<string, string>), ...own },
            body: isKept ? kept : request.pipe(new PassThrough()),
            signal: gone,
          });
          if (answer.headers[relayHeader] === undefined) return await answerOf(answer, request);
          await answer.body.dump();
          return isKept ? 'again' : 'unknown';
        } catch (error) {
          return isSafe || (isKept && isNotConnected(error)) ? 'again' : 'unknown';
        }
      },
    };
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

/** Reading changes nothing but for workers, who are given jobs; a submission with a key makes one job however often it comes. */
export function mayComeTwice({ method, url = '', headers }: IncomingMessage): boolean {
  const operation = findRoute(url)?.operation;
  if (operation === 'job-take' || operation === 'job-take-batch' || operation === 'stream') return false;
  return method === 'GET' || headers['idempotency-key'] !== undefined;
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
    return { ...common, body: Buffer.from(await body.arrayBuffer()), isBodyUnread: true };
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
