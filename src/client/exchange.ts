/** One HTTP request and its whole answer or, where none came, whether the request can have left this machine. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { describeNetworkError } from './network-error.ts';
import { unpack } from './unpack.ts';

/** An answer with its body read. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface ExchangeLimits {
  /** Largest body of a 2xx answer, as it comes and unpacked. */
  maxBodyBytes: number;
  /** Longest time from sending to the end of the answer, however steadily it comes. */
  wholeAnswerMs: number;
}

/** The same before anything is made of its body. */
export interface BytesAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
}

export type Outcome = OutcomeWith<Answer>;
export type BytesOutcome = OutcomeWith<BytesAnswer>;

type OutcomeWith<Body> =
  | { kind: 'answered'; answer: Body }
  /** A 2xx answer with a larger body than is read. */
  | { kind: 'too-large' }
  /**
   * No answer that can be read, and why. `wasSent` is false only where surely nothing of the request was;
   * `beginning` is what came first of the body of a 2xx answer, `cause` what was thrown.
   */
  | { kind: 'broken'; wasSent: boolean; why: string; beginning: string; cause?: unknown };

/** Of a body that breaks off, this much is told. */
const longestBeginning = 64 * 1024;

/** Of the body of an answer that is not 2xx, this much is read: its words, for people. */
const maxRefusalBytes = 64 * 1024;

/** Never rejects. */
export async function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  limits: ExchangeLimits,
  signal: AbortSignal,
): Promise<Outcome> {
  const outcome = await exchangeBytes(dispatcher, request, limits, signal);
  if (outcome.kind !== 'answered') return outcome;
  const { bytes, ...rest } = outcome.answer;
  return { kind: 'answered', answer: { ...rest, body: textOf(bytes) } };
}

/** Never rejects. */
export async function exchangeBytes(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  limits: ExchangeLimits,
  signal: AbortSignal,
): Promise<BytesOutcome> {
  const received = await new Promise<Received | BytesOutcome>((resolve) => {
    const receiver = new Receiver(limits, signal, resolve);
    if (signal.aborted) receiver.giveUp(cutShort);
    else dispatcher.dispatch(request, receiver);
  });
  return received.kind === 'received' ? read(received, limits) : received;
}

type Received = BytesAnswer & { kind: 'received' };

const cutShort = 'the request was cut short, since the run is ending';

/**
 * Undici calls `onRequestStart` right before it writes to a connection that stands, and never before: what fails
 * earlier (look-up, connection, TLS, the wait for a free connection) was surely not sent, whatever its code.
 */
class Receiver implements Dispatcher.DispatchHandler {
  readonly #limits: ExchangeLimits;
  readonly #signal: AbortSignal;
  #resolve: ((outcome: Received | BytesOutcome) => void) | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(
    limits: ExchangeLimits,
    signal: AbortSignal,
    resolve: (outcome: Received | BytesOutcome) => void,
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
    const { wholeAnswerMs } = this.#limits;
    const seconds = Math.round(wholeAnswerMs / 1000);
    this.#timer = setTimeout(
      () => this.giveUp(`the answer was not complete after ${seconds} s`),
      wholeAnswerMs,
    );
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
    if (this.#isSuccess && Number(headers['content-length']) > this.#limits.maxBodyBytes) {
      this.#end({ kind: 'too-large' });
    }
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes <= (this.#isSuccess ? this.#limits.maxBodyBytes : maxRefusalBytes)) return;
    this.#end(this.#isSuccess ? { kind: 'too-large' } : this.#received());
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
    const beginning = this.#received().bytes.toString('utf8', 0, longestBeginning);
    this.#end({ kind: 'broken', wasSent, why, beginning, cause });
  }

  readonly #onAbort = (): void => this.giveUp(cutShort);

  get #isSuccess(): boolean {
    return this.#status >= 200 && this.#status <= 299;
  }

  #received(): Received {
    const [only = Buffer.alloc(0)] = this.#chunks;
    const bytes = this.#chunks.length <= 1 ? only : Buffer.concat(this.#chunks, this.#bytes);
    return { kind: 'received', status: this.#status, headers: this.#headers, bytes };
  }

  #end(outcome: Received | BytesOutcome): void {
    const resolve = this.#resolve;
    if (resolve === undefined) return;
    this.#resolve = undefined;
    this.#chunks = [];
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#onAbort);
    resolve(outcome);
    this.#controller?.abort(new Error(cutShort));
  }
}

async function read(
  { status, headers, bytes }: Received,
  { maxBodyBytes }: ExchangeLimits,
): Promise<BytesOutcome> {
  const isSuccess = status >= 200 && status <= 299;
  const unpacked = await unpack(
    bytes,
    headers['content-encoding'],
    isSuccess ? maxBodyBytes : maxRefusalBytes,
  );
  if (unpacked.kind === 'unpacked') {
    return { kind: 'answered', answer: { status, headers, bytes: unpacked.bytes } };
  }
  if (!isSuccess) return { kind: 'answered', answer: { status, headers, bytes: Buffer.alloc(0) } };
  if (unpacked.kind === 'too-large') return unpacked;
  return { kind: 'broken', wasSent: true, why: unpacked.why, beginning: '' };
}

/** Without the byte-order mark that JSON must not have and some have. */
function textOf(bytes: Buffer): string {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString('utf8', hasMark ? 3 : 0);
}
