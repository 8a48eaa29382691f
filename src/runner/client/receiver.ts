/** Handles undici's callbacks of one request, until it has a response with its body or none. */
import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, errors } from 'undici';
import { oneLine } from '../../lib/text/format.ts';
import type { Hold } from '../pipeline/ports.ts';
import { smallBytes } from './reservation.ts';

export interface ReceiveLimits {
  /** Largest body of a 2xx answer, as it comes and unpacked. */
  maxBodyBytes: number;
  /**
   * Longest time from sending to the end of the answer, and a second more for every 16 kB of it that came.
   */
  wholeAnswerMs: number;
  /** Holds what a body takes, from before it is received; without it, nothing waits for room. */
  hold?: Hold | undefined;
  /** So many bodies of this size are to come for the same hold, this one included; 1 where left out. */
  bodies?: number | undefined;
  /** How long the body of an answer in chunks is likely to be; nothing is known of it where left out. */
  likelyBytes?: number;
}

/** An answer whose body is as it came. */
export interface Received {
  kind: 'received';
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
}

/** There is no room for the answer: `hold` has to hold so many bytes before it is asked for again. */
export interface NoRoom {
  kind: 'no-room';
  bytes: number;
}

export type NotReceived =
  /** A 2xx answer with a larger body than is read. */
  | { kind: 'too-large' }
  /**
   * No answer that can be read, and why. `wasSent` is false only where surely nothing of the request was;
   * `beginning` is what came first of the body of a 2xx answer, `cause` what was thrown.
   */
  | { kind: 'broken'; wasSent: boolean; why: string; beginning: string; cause?: unknown };

export const cutShort = 'the request was aborted because the run is ending';

/** Of many large answers that share a slow line each comes at least so fast; what is slower only drips. */
const minBytesPerMs = 16;

/** Of the body of an answer that is not 2xx, this much is read: its words, for people. */
export const maxRefusalBytes = 64 * 1024;

/** How much of a cut body is shown. */
const maxPrefixBytes = 64 * 1024;

/**
 * Undici calls `onRequestStart` right before it writes to a connection that stands, and never before: what fails
 * earlier (look-up, connection, TLS, the wait for a free connection) was surely not sent, whatever its code.
 */
export class Receiver implements Dispatcher.DispatchHandler {
  readonly #limits: ReceiveLimits;
  readonly #signal: AbortSignal;
  #resolve: ((outcome: Received | NotReceived | NoRoom) => void) | undefined;
  #parts: Buffer[] = [];
  #bytes = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #sentAt = 0;
  #status = 0;
  #headers: IncomingHttpHeaders = {};

  constructor(
    limits: ReceiveLimits,
    signal: AbortSignal,
    resolve: (outcome: Received | NotReceived | NoRoom) => void,
  ) {
    this.#limits = limits;
    this.#signal = signal;
    this.#resolve = resolve;
    signal.addEventListener('abort', this.#onAbort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const isUnwanted = this.#resolve === undefined;
    // A request that is written a second time could be paid twice.
    if (isUnwanted || this.#controller !== undefined) return controller.abort(new Error(cutShort));
    this.#controller = controller;
    this.#sentAt = performance.now();
    this.#startTimer();
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    // Of one that came twice the first counts, as it does for Node's own client.
    const first = Object.entries(headers).map(([name, value]) => [name, [value].flat()[0]]);
    this.#headers = Object.fromEntries(first) as IncomingHttpHeaders;
    const length = Number(headers['content-length'] ?? 0);
    if (this.#isSuccess && length > this.#limits.maxBodyBytes) return this.#end({ kind: 'too-large' });
    this.#makeRoom(length);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    const { maxBodyBytes } = this.#limits;
    if (this.#bytes > (this.#isSuccess ? maxBodyBytes : maxRefusalBytes)) {
      return this.#end(this.#isSuccess ? { kind: 'too-large' } : this.#received());
    }
    // Where nobody said how many come, room is made for twice as many at least, so that it is not for each part.
    const isLengthKnown = this.#headers['content-length'] !== undefined;
    const held = this.#limits.hold?.bytes ?? Infinity;
    if (!isLengthKnown && this.#bytes > Math.max(smallBytes, held / this.#bodies))
      this.#makeRoom(Math.min(Math.max(2 * this.#bytes, this.#limits.likelyBytes ?? 0), maxBodyBytes));
  }

  onResponseEnd(): void {
    // Nothing is left to abort.
    this.#controller = undefined;
    this.#end(this.#received());
  }

  onResponseError(_: Dispatcher.DispatchController, error: unknown): void {
    this.giveUp(describeNetworkError(error), error);
  }

  /** Where the status tells everything, the body may be cut. */
  giveUp(why: string, cause?: unknown): void {
    const wasSent = this.#controller !== undefined;
    if (this.#status >= 300) return this.#end(this.#received());
    const first = this.#parts.map((part) => part.subarray(0, maxPrefixBytes));
    const beginning = Buffer.concat(first).toString('utf8', 0, maxPrefixBytes);
    this.#end({ kind: 'broken', wasSent, why, beginning, cause });
  }

  readonly #onAbort = (): void => this.giveUp(cutShort);

  get #isSuccess(): boolean {
    return this.#status >= 200 && this.#status <= 299;
  }

  get #bodies(): number {
    return this.#limits.bodies ?? 1;
  }

  /** Where there is no room for so long a body, it is dropped. */
  #makeRoom(length: number): void {
    const { hold } = this.#limits;
    if (hold === undefined || !this.#isSuccess || length <= smallBytes) return;
    const bytes = length * this.#bodies;
    if (!hold.tryGrow(bytes)) this.#end({ kind: 'no-room', bytes });
  }

  #startTimer(): void {
    this.#timer = setTimeout(() => this.#onTimer(), this.#leftMs);
  }

  #onTimer(): void {
    if (this.#leftMs >= 1) return this.#startTimer();
    const seconds = Math.round((performance.now() - this.#sentAt) / 1000);
    this.giveUp(
      this.#status === 0 ? 'no answer came in time' : `the answer was not complete after ${seconds} s`,
    );
  }

  get #leftMs(): number {
    const spentMs = performance.now() - this.#sentAt;
    return this.#limits.wholeAnswerMs + this.#bytes / minBytesPerMs - spentMs;
  }

  #received(): Received {
    const bytes = Buffer.concat(this.#parts);
    return { kind: 'received', status: this.#status, headers: this.#headers, bytes };
  }

  #end(outcome: Received | NotReceived | NoRoom): void {
    const resolve = this.#resolve;
    if (resolve === undefined) return;
    this.#resolve = undefined;
    this.#parts = [];
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#onAbort);
    resolve(outcome);
    this.#controller?.abort(new Error(cutShort));
  }
}

const phrases = new Map([
  ['ECONNREFUSED', 'connection refused: nothing listens at the address'],
  ['ENOTFOUND', 'unknown host name'],
  ['EAI_AGAIN', 'the host name could not be resolved'],
  ['EHOSTUNREACH', 'the host cannot be reached'],
  ['ENETUNREACH', 'the network cannot be reached'],
  ['EADDRNOTAVAIL', 'no local address is free to connect from'],
  ['EMFILE', 'this process has too many files open to make a connection'],
  ['ENFILE', 'this machine has too many files open to make a connection'],
  ['UND_ERR_CONNECT_TIMEOUT', 'no connection was made in time'],
  ['ECONNRESET', 'the connection was reset'],
  ['ECONNABORTED', 'the connection was aborted'],
  ['EPIPE', 'the connection was closed while sending'],
  ['ETIMEDOUT', 'the connection timed out'],
  ['EPROTO', 'TLS failed; check that the URL serves https'],
  ['UND_ERR_SOCKET', 'the connection was closed before the answer was complete'],
  ['UND_ERR_HEADERS_TIMEOUT', 'no answer came in time'],
  ['UND_ERR_BODY_TIMEOUT', 'the answer stopped arriving'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'the answer is shorter or longer than its header says'],
  ['UND_ERR_HEADERS_OVERFLOW', 'the headers of the answer are too large'],
  ['UND_ERR_DESTROYED', 'the request was aborted because the run is ending'],
]);

/** One sentence without a full stop. */
function describeNetworkError(error: unknown): string {
  const code = codeOf(error);
  if (isCertificateCode(code)) return `the certificate is not accepted (${code})`;
  // Undici asserts that a status is one of HTTP; the message of an assertion has several lines.
  if (error instanceof errors.HTTPParserError || code === 'ERR_ASSERTION') return 'the response is not HTTP';
  const phrase = phrases.get(code.startsWith('ERR_SSL_') ? 'EPROTO' : code);
  if (phrase !== undefined) return `${phrase} (${code})`;
  return oneLine(error instanceof Error ? error.message : String(error)) ?? 'the connection failed';
}

/** Node tries every address of a host and then throws an `AggregateError` whose parts hold the codes. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : '';
}

function isCertificateCode(code: string): boolean {
  return /CERT|UNABLE_TO_VERIFY/.test(code);
}
