/** Receives the response to one request through undici's callbacks, in memory that is reserved for it. */
import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, errors } from 'undici';
import type { ByteSemaphore } from '../../lib/limits.ts';
import { refusalOfProxy } from '../../lib/net/proxied-agent.ts';
import { oneLine } from '../../lib/text/format.ts';
import type { MemoryShare } from '../pipeline/ports.ts';

export interface ReceiveLimits {
  /** Largest body of a 2xx answer, both as received and decompressed. */
  maxBodyBytes: number;
  /** Longest time from sending to the end of the answer. Every 16 kB received extend it by a second. */
  wholeAnswerMs: number;
  /** Reserves memory for a body before it is received. If it is absent, nothing waits for memory. */
  share?: MemoryShare | undefined;
  /** Number of bodies of this size that `share` covers, including this one. 1 if absent. */
  bodies?: number | undefined;
  /** Expected length of a body whose length is not announced. Absent if nothing is known. */
  likelyBytes?: number;
  /** Takes the body of a 2xx answer, of any size, in place of memory. */
  sink?: BodySink | undefined;
}

/** Takes the body of a 2xx answer as it comes. The connection waits for it. */
export interface BodySink {
  /** Called with the head of the answer. Returns false if the body is not wanted. */
  begin(status: number, headers: IncomingHttpHeaders): boolean;
  /** Resolves when the next chunk may come. Returns false if no more is wanted. Never rejects. */
  write(chunk: Buffer): Promise<boolean>;
}

/** An answer with its body as received, perhaps compressed. */
export interface Received {
  kind: 'received';
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
}

/** No memory for the answer: `share` has to reserve `bytes` before the request is repeated. */
export interface NoRoom {
  kind: 'no-room';
  bytes: number;
}

export type NotReceived =
  /** A 2xx answer whose body exceeds the limit. `bytes`: its size, if the answer states it. */
  | { kind: 'too-large'; bytes?: number | undefined }
  /** No readable answer. `wasSent`: part of the request may have been sent. `beginning`: of a 2xx body. */
  | { kind: 'broken'; wasSent: boolean; why: string; beginning: string; cause?: unknown };

export const cutShort = 'the request was aborted because the run is ending';

const unwanted = 'the rest of the answer is not wanted';

/** Slowest transfer that is waited for. Each of many large answers that share a slow line is faster. */
const minBytesPerMs = 16;

/** Bytes that are read of the body of an answer that is not 2xx. It only serves for messages. */
export const maxRefusalBytes = 64 * 1024;

/** Bytes of an incomplete body that are returned as `beginning`. */
const maxPrefixBytes = 64 * 1024;

/**
 * Receives one response. Undici calls `onRequestStart` right before it writes to an open connection. If a
 * request fails earlier (DNS, connection, TLS, wait for a free connection), it was not sent, whatever the
 * error code.
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
  /** Time that the connection has waited for the sink, in ms, and since when it waits now. */
  #pausedMs = 0;
  #pausedAt: number | undefined;
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
    // If a header came twice, the first counts, as in Node's own client.
    const first = Object.entries(headers).map(([name, value]) => [name, [value].flat()[0]]);
    this.#headers = Object.fromEntries(first) as IncomingHttpHeaders;
    if (this.#sink !== undefined && !this.#sink.begin(status, this.#headers)) return this.giveUp(unwanted);
    const length = Number(headers['content-length'] ?? 0);
    if (this.#sink === undefined && this.#isSuccess && length > this.#limits.maxBodyBytes)
      return this.#end({ kind: 'too-large', bytes: length });
    this.#makeRoom(length);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#sink !== undefined) {
      void this.#passOn(this.#sink, chunk, controller);
      return;
    }
    this.#parts.push(chunk);
    const { maxBodyBytes } = this.#limits;
    if (this.#bytes > (this.#isSuccess ? maxBodyBytes : maxRefusalBytes)) {
      return this.#end(this.#isSuccess ? { kind: 'too-large' } : this.#received());
    }
    // Without a content length, reserves at least twice the received size, so not every chunk does.
    const isLengthKnown = this.#headers['content-length'] !== undefined;
    const shareBytes = this.#limits.share?.bytes ?? Infinity;
    if (!isLengthKnown && this.#bytes > Math.max(smallBytes, shareBytes / this.#bodies))
      this.#makeRoom(Math.min(Math.max(2 * this.#bytes, this.#limits.likelyBytes ?? 0), maxBodyBytes));
  }

  onResponseEnd(): void {
    // Nothing is left to abort.
    this.#controller = undefined;
    this.#end(this.#received());
  }

  onResponseError(_: Dispatcher.DispatchController, error: unknown): void {
    // A proxy that wants a password has passed nothing on.
    if (refusalOfProxy(error)?.status === 407) this.#controller = undefined;
    this.giveUp(describeNetworkError(error), error);
  }

  /** Ends without a complete answer. A status of 300 or higher says enough. */
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

  get #sink(): BodySink | undefined {
    return this.#isSuccess ? this.#limits.sink : undefined;
  }

  async #passOn(sink: BodySink, chunk: Buffer, controller: Dispatcher.DispatchController): Promise<void> {
    // Undici resumes with an empty chunk. It would come again after each pause.
    if (chunk.length === 0) return;
    controller.pause();
    const pausedAt = performance.now();
    this.#pausedAt = pausedAt;
    const isMoreWanted = await sink.write(chunk);
    this.#pausedMs += performance.now() - pausedAt;
    this.#pausedAt = undefined;
    if (isMoreWanted) controller.resume();
    else this.giveUp(unwanted);
  }

  /** Reserves memory for a body of this length, or drops the answer if memory is short. */
  #makeRoom(length: number): void {
    const { share } = this.#limits;
    if (share === undefined || this.#sink !== undefined || !this.#isSuccess || length <= smallBytes) return;
    const bytes = length * this.#bodies;
    if (!share.tryGrow(bytes)) this.#end({ kind: 'no-room', bytes });
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
    const now = performance.now();
    const spentMs = now - this.#sentAt - this.#pausedMs - (now - (this.#pausedAt ?? now));
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

/** Returns one sentence without a full stop. */
function describeNetworkError(error: unknown): string {
  const code = codeOf(error);
  if (isCertificateCode(code)) return `the certificate is not accepted (${code})`;
  // Undici asserts that a status is valid, and the message of an assertion has several lines.
  if (error instanceof errors.HTTPParserError || code === 'ERR_ASSERTION') return 'the response is not HTTP';
  const refusal = refusalOfProxy(error);
  if (refusal !== undefined) return refusal.text;
  const phrase = phrases.get(code.startsWith('ERR_SSL_') ? 'EPROTO' : code);
  if (phrase !== undefined) return `${phrase} (${code})`;
  return oneLine(error instanceof Error ? error.message : String(error)) ?? 'the connection failed';
}

/** Returns the code of an error, also of the parts of an `AggregateError` for several addresses. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : '';
}

function isCertificateCode(code: string): boolean {
  return /CERT|UNABLE_TO_VERIFY/.test(code);
}

/** Answers up to this size reserve nothing: all of them together take a few megabytes. */
export const smallBytes = 64 * 1024;

/** Reserves memory for the large answers of one job. A holder never waits for more, so none deadlock. */
export class Reservation implements MemoryShare {
  readonly #memory: ByteSemaphore;
  readonly #onWait: (() => void) | undefined;
  #bytes = 0;

  /** Reserves nothing yet. `onWait` is called if memory has to be waited for. */
  constructor(memory: ByteSemaphore, onWait?: () => void) {
    this.#memory = memory;
    this.#onWait = onWait;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns true if this many bytes are reserved. Never waits. */
  tryGrow(bytes: number): boolean {
    const lack = bytes - this.#bytes;
    if (lack > 0 && !this.#memory.tryTake(lack)) return false;
    this.#bytes = Math.max(bytes, this.#bytes);
    return true;
  }

  /** Releases everything, and resolves once this many bytes are reserved or `signal` aborts. */
  async retake(bytes: number, signal: AbortSignal): Promise<void> {
    this.release();
    this.#onWait?.();
    if (await this.#memory.take(bytes, signal)) this.#bytes = bytes;
  }

  /** Releases everything beyond this many bytes. */
  shrink(bytes: number): void {
    if (bytes >= this.#bytes) return;
    this.#memory.giveBack(this.#bytes - bytes);
    this.#bytes = bytes;
  }

  release(): void {
    this.shrink(0);
  }
}
