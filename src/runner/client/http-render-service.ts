/** The job service over HTTP: implements the road's `RenderService` port with undici. One call, one request. */
import { versionOfJobs, type Endpoint, type EndpointVersion, type JobAtService } from '../core/attempt.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type {
  CancelReply,
  HealthReply,
  Hold,
  KeptAnswer,
  RenderService,
  StatusReply,
  SubmitReply,
  WriteChunk,
} from '../pipeline/ports.ts';
import { idempotencyKeyHeader } from '../../protocol/messages.ts';
import { cancelPath, healthPath, runPath, statusPath } from '../../protocol/paths.ts';
import { inText, keptOutcome, type Outcome } from './exchange.ts';
import { HttpRequests, type Request, type RequestOptions, type TextOutcome } from './http-requests.ts';
import { readLargeStatusAnswer } from './read-large-status-answer.ts';
import { readCancelAnswer, readHealthAnswer } from './read-side-answers.ts';
import { meaningOf, readStatusAnswer, type JobPlaces } from './read-job-answers.ts';
import { jobIdAtBeginning, readSubmitAnswer } from './read-submit-answers.ts';
import { chunksWithoutKey, repeatsKey, withoutKey } from './without-key.ts';

/** Where an endpoint's address leads at present, and the key for it. */
export interface Connection {
  /** http(s) URL without a trailing slash; may have a path. */
  url: string;
  apiKey: string;
}

export interface HttpOptions extends RequestOptions, JobPlaces {
  /** Called for each answer with a status that is not known. */
  onUnknownStatus?: (status: string) => void;
  connectionOf: (endpoint: Endpoint) => Connection;
}

export class HttpRenderService implements RenderService {
  readonly #options: HttpOptions;
  readonly #requests: HttpRequests;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#requests = new HttpRequests(options);
  }

  async submit(
    endpoint: Endpoint,
    input: JsonObject,
    signal: AbortSignal,
    idempotencyKey?: string,
  ): Promise<SubmitReply> {
    const { url, apiKey } = this.#options.connectionOf(endpoint);
    const place = url + runPath(spoken(endpoint), endpoint.id);
    const headers = {
      ...authorization(apiKey),
      ...(idempotencyKey !== undefined && { [idempotencyKeyHeader]: idempotencyKey }),
    };
    const request = { method: 'POST', url: place, headers, body: JSON.stringify({ input }) };
    const outcome = await this.#requests.exchangeText(request, signal);
    const reply = this.#submitReply(outcome, place, idempotencyKey);
    if (reply.kind === 'accepted' && repeatsKey(reply.jobId, apiKey)) {
      return failure('unanswered', 'the service put the key into the job id, which must not be recorded');
    }
    return withoutKey(reply, apiKey);
  }

  async status(
    { endpoint, jobId }: JobAtService,
    signal: AbortSignal,
    onHeldUp?: () => void,
    kept?: KeptAnswer,
  ): Promise<StatusReply> {
    const hold = this.#requests.reserve(onHeldUp);
    const request = this.#statusRequest(endpoint, jobId);
    const outcome =
      kept === undefined
        ? await this.#requests.exchange(request, signal, hold)
        : await keptOutcome(kept, hold, signal);
    const reply = this.#statusReply(outcome, jobId, request.url);
    const told = withoutKey(withHold(reply, hold), this.#options.connectionOf(endpoint).apiKey);
    if (told.kind === 'running' || told.kind === 'ended') this.#sayUnknown(told.status);
    return told;
  }

  copyResult({ endpoint, jobId }: JobAtService, write: WriteChunk, signal: AbortSignal): Promise<boolean> {
    const { apiKey } = this.#options.connectionOf(endpoint);
    return this.#requests.copy(this.#statusRequest(endpoint, jobId), chunksWithoutKey(write, apiKey), signal);
  }

  /** May be sent again: a job is stopped once. */
  async cancel({ endpoint, jobId }: JobAtService, signal: AbortSignal): Promise<CancelReply> {
    const { url, apiKey } = this.#options.connectionOf(endpoint);
    const place = url + cancelPath(spoken(endpoint), endpoint.id, jobId);
    const request = { method: 'POST', url: place, headers: authorization(apiKey) };
    return withoutKey(cancelReply(await this.#requests.exchangeText(request, signal), place), apiKey);
  }

  async health(endpoint: Endpoint, signal: AbortSignal): Promise<HealthReply> {
    const { url, apiKey } = this.#options.connectionOf(endpoint);
    const place = url + healthPath(spoken(endpoint), endpoint.id);
    const request = { method: 'GET', url: place, headers: authorization(apiKey) };
    return withoutKey(healthReply(await this.#requests.exchangeText(request, signal), place), apiKey);
  }

  /** Requests in progress are cut. */
  close(): Promise<void> {
    return this.#requests.close();
  }

  #statusRequest(endpoint: Endpoint, jobId: string): Request {
    const { url, apiKey } = this.#options.connectionOf(endpoint);
    return {
      method: endpoint.version === 'dev' ? 'POST' : 'GET',
      url: url + statusPath(spoken(endpoint), endpoint.id, jobId),
      headers: authorization(apiKey),
    };
  }

  #sayUnknown(status: string): void {
    // Neither an empty word nor the code of an answer without one.
    if (status === '' || status === '202' || meaningOf(status, this.#options) !== undefined) return;
    this.#options.onUnknownStatus?.(status);
  }

  #submitReply(outcome: TextOutcome, place: string, idempotencyKey: string | undefined): SubmitReply {
    switch (outcome.kind) {
      case 'answered':
        return readSubmitAnswer(outcome.answer, idempotencyKey);
      case 'too-large':
        return failure('unanswered', `the answer is larger than ${this.#requests.limit} (${place})`);
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
        const text = `the result is larger than ${this.#requests.limit} (\`limits.body\`)`;
        return { kind: 'ended', status: 'COMPLETED', failure: { kind: 'result-too-large', text } };
      }
      case 'broken':
        return failure('poll-failed', `${outcome.why} (${place})`);
    }
  }
}

export function authorization(apiKey: string): Record<string, string> {
  return apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` };
}

/** Who asks for a job of another interface has not looked. */
function spoken(endpoint: Endpoint): EndpointVersion {
  const version = versionOfJobs(endpoint);
  if (version === undefined) throw new Error(`${endpoint.version} is not the interface of job services`);
  return version;
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
