/** The job service over HTTP: implements the road's `RenderService` port with undici. One call, one request. */
import { Agent } from 'undici';
import type { Endpoint } from '../core/attempt.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import type { ByteSemaphore } from '../../lib/limits/byte-semaphore.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type {
  CancelReply,
  HealthReply,
  Hold,
  RenderService,
  StatusReply,
  SubmitReply,
} from '../pipeline/ports.ts';
import { idempotencyKeyHeader } from '../../protocol/messages.ts';
import { cancelPath, healthPath, runPath, statusPath } from '../../protocol/paths.ts';
import { exchange, inText, type HttpResponse, type Outcome } from './exchange.ts';
import { readLargeStatusAnswer } from './read-large-status-answer.ts';
import type { NotReceived } from './receiver.ts';
import { readCancelAnswer, readHealthAnswer } from './read-side-answers.ts';
import {
  readStatusAnswer,
  jobIdAtBeginning,
  readSubmitAnswer,
  type OutputPlaces,
} from './read-job-answers.ts';
import { Reservation } from './reservation.ts';
import { repeatsKey, withoutKey } from './without-key.ts';

/** Where an endpoint's address leads at present, and the key for it. */
export interface Connection {
  /** http(s) URL without a trailing slash; may have a path. */
  url: string;
  apiKey: string;
}

export interface HttpOptions extends OutputPlaces {
  connectionOf: (endpoint: Endpoint) => Connection;
  /** Longest wait for a connection, and then for the whole answer, which has more time only for how much is sent and how much of it came. */
  requestTimeoutMs: number;
  /** For the whole answer, where that is to be another. */
  wholeAnswerMs?: number;
  /** Largest answer that is read. */
  maxBodyBytes: number;
  /** What large answers share. */
  memory: ByteSemaphore;
}

interface Request {
  method: 'GET' | 'POST';
  path: string;
  body?: string;
  idempotencyKey?: string | undefined;
}

type TextOutcome = { kind: 'answered'; answer: HttpResponse } | NotReceived;

/** Connections to one service, of either kind; more bring nothing (40,000 requests a second with 64). */
const connections = 64;

/** Of inputs with files in them, sixteen that share a line of 512 kbit/s each go so fast: one given up may run, and bill. */
const minSentBytesPerMs = 4;

export class HttpRenderService implements RenderService {
  readonly #options: HttpOptions;
  readonly #agent: Agent;
  /** Of the answers that brought pictures so far. */
  #largestBytes = 0;

  constructor(options: HttpOptions) {
    this.#options = options;
    const { requestTimeoutMs: timeout } = options;
    const times = { headersTimeout: timeout, bodyTimeout: timeout, connect: { timeout } };
    this.#agent = new Agent({ ...times, connections, pipelining: 1 });
  }

  async submit(
    endpoint: Endpoint,
    input: JsonObject,
    signal: AbortSignal,
    idempotencyKey?: string,
  ): Promise<SubmitReply> {
    const connection = this.#options.connectionOf(endpoint);
    const path = runPath(endpoint.version, endpoint.id);
    const request = { method: 'POST', path, body: JSON.stringify({ input }), idempotencyKey } as const;
    const outcome = await this.#exchange(connection, request, signal);
    const reply = this.#submitReply(outcome, connection.url + path, idempotencyKey);
    if (reply.kind === 'accepted' && repeatsKey(reply.jobId, connection.apiKey)) {
      return failure('unanswered', 'the service put the key into the job id, which must not be recorded');
    }
    return withoutKey(reply, connection.apiKey);
  }

  async status(
    endpoint: Endpoint,
    jobId: string,
    signal: AbortSignal,
    onHeldUp?: () => void,
  ): Promise<StatusReply> {
    const connection = this.#options.connectionOf(endpoint);
    const path = statusPath(endpoint.version, endpoint.id, jobId);
    const method = endpoint.version === 'dev' ? 'POST' : 'GET';
    const hold = new Reservation(this.#options.memory, onHeldUp);
    const outcome = await this.#receive(connection, { method, path }, signal, hold);
    this.#largestBytes = Math.max(this.#largestBytes, hold.bytes);
    const reply = this.#statusReply(outcome, jobId, connection.url + path);
    return withoutKey(withHold(reply, hold), connection.apiKey);
  }

  /** May be sent again: a job is stopped once. */
  async cancel(endpoint: Endpoint, jobId: string, signal: AbortSignal): Promise<CancelReply> {
    const connection = this.#options.connectionOf(endpoint);
    const path = cancelPath(endpoint.version, endpoint.id, jobId);
    const outcome = await this.#exchange(connection, { method: 'POST', path }, signal);
    return withoutKey(cancelReply(outcome, connection.url + path), connection.apiKey);
  }

  async health(endpoint: Endpoint, signal: AbortSignal): Promise<HealthReply> {
    const connection = this.#options.connectionOf(endpoint);
    const path = healthPath(endpoint.version, endpoint.id);
    const outcome = await this.#exchange(connection, { method: 'GET', path }, signal);
    return withoutKey(healthReply(outcome, connection.url + path), connection.apiKey);
  }

  /** Requests in progress are cut. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** Of an answer that brings no pictures. */
  async #exchange(connection: Connection, request: Request, signal: AbortSignal): Promise<TextOutcome> {
    const outcome = await this.#receive(connection, request, signal);
    return outcome.kind === 'answered' ? { ...outcome, answer: inText(outcome.answer) } : outcome;
  }

  #receive(
    { url, apiKey }: Connection,
    { method, path, body, idempotencyKey }: Request,
    signal: AbortSignal,
    hold?: Hold,
  ): Promise<Outcome> {
    const { requestTimeoutMs, maxBodyBytes, wholeAnswerMs = requestTimeoutMs } = this.#options;
    const uploadMs = Buffer.byteLength(body ?? '') / minSentBytesPerMs;
    const { origin, pathname } = new URL(url);
    const request = {
      origin,
      path: (pathname === '/' ? '' : pathname) + path,
      method,
      headers: {
        ...(apiKey !== '' && { authorization: `Bearer ${apiKey}` }),
        accept: 'application/json',
        'accept-encoding': 'identity',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { [idempotencyKeyHeader]: idempotencyKey }),
      },
      body: body ?? null,
      headersTimeout: requestTimeoutMs + uploadMs,
    };
    const limits = {
      maxBodyBytes,
      wholeAnswerMs: wholeAnswerMs + uploadMs,
      hold,
      likelyBytes: this.#largestBytes,
    };
    return exchange(this.#agent, request, limits, signal);
  }

  #submitReply(outcome: TextOutcome, place: string, idempotencyKey: string | undefined): SubmitReply {
    switch (outcome.kind) {
      case 'answered':
        return readSubmitAnswer(outcome.answer, idempotencyKey);
      case 'too-large':
        return failure('unanswered', `the answer is larger than ${this.#limit} (${place})`);
      case 'broken': {
        const jobId = jobIdAtBeginning(outcome.beginning);
        if (jobId !== undefined) return { kind: 'accepted', jobId, status: '' };
        return failure(outcome.wasSent ? 'unanswered' : 'not-reached', `${outcome.why} (${place})`);
      }
    }
  }

  #statusReply(outcome: Outcome, jobId: string, place: string): StatusReply {
    switch (outcome.kind) {
      case 'answered': {
        const reply = readLargeStatusAnswer(outcome.answer, jobId, this.#options);
        return reply ?? readStatusAnswer(inText(outcome.answer), jobId, this.#options);
      }
      case 'too-large': {
        const text = `the result is larger than ${this.#limit} (\`limits.body\`)`;
        return { kind: 'ended', status: 'COMPLETED', failure: { kind: 'result-too-large', text } };
      }
      case 'broken':
        return failure('poll-failed', `${outcome.why} (${place})`);
    }
  }

  get #limit(): string {
    const { maxBodyBytes } = this.#options;
    return maxBodyBytes < 1e6 ? `${maxBodyBytes} bytes` : `${Math.round(maxBodyBytes / 1e6)} MB`;
  }
}

/** What large pictures and those that are still to come take is held until they are saved. */
function withHold(reply: StatusReply, hold: Hold): StatusReply {
  const pictures = reply.kind === 'completed' ? reply.pictures : [];
  const isNamingAddresses = pictures.some((picture) => 'url' in picture);
  // Nothing of the answer itself is of use any more, and what comes from the addresses may have to wait.
  if (pictures.every((picture) => 'url' in picture)) hold.release();
  if (reply.kind !== 'completed' || (hold.bytes === 0 && !isNamingAddresses)) return reply;
  return { ...reply, hold };
}

function cancelReply(outcome: TextOutcome, place: string): CancelReply {
  switch (outcome.kind) {
    case 'answered':
      return readCancelAnswer(outcome.answer);
    case 'too-large':
      return { kind: 'cancelled' };
    case 'broken':
      return failure('poll-failed', `${outcome.why} (${place})`);
  }
}

function healthReply(outcome: TextOutcome, place: string): HealthReply {
  switch (outcome.kind) {
    case 'answered':
      return readHealthAnswer(outcome.answer);
    case 'too-large':
      return { kind: 'unknown', text: `the response is too large for the health of an endpoint (${place})` };
    case 'broken':
      return failure('poll-failed', `${outcome.why} (${place})`);
  }
}

function failure(kind: FailureKind, text: string): { kind: 'failure'; failure: Failure } {
  return { kind: 'failure', failure: { kind, text } };
}
