/** The job service over HTTP: implements the road's `RenderService` port with undici. One call, one request. */
import { versionOfJobs, type Endpoint, type EndpointVersion, type JobAtService } from '../core/attempt.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
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
import { inText, type Outcome } from './exchange.ts';
import { HttpRequests, type RequestOptions, type TextOutcome } from './http-requests.ts';
import { readLargeStatusAnswer } from './read-large-status-answer.ts';
import { readCancelAnswer, readHealthAnswer } from './read-side-answers.ts';
import { readStatusAnswer, type OutputPlaces } from './read-job-answers.ts';
import { jobIdAtBeginning, readSubmitAnswer } from './read-submit-answers.ts';
import { repeatsKey, withoutKey } from './without-key.ts';

/** Where an endpoint's address leads at present, and the key for it. */
export interface Connection {
  /** http(s) URL without a trailing slash; may have a path. */
  url: string;
  apiKey: string;
}

export interface HttpOptions extends RequestOptions, OutputPlaces {
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
  ): Promise<StatusReply> {
    const { url, apiKey } = this.#options.connectionOf(endpoint);
    const place = url + statusPath(spoken(endpoint), endpoint.id, jobId);
    const method = endpoint.version === 'dev' ? 'POST' : 'GET';
    const hold = this.#requests.reserve(onHeldUp);
    const request = { method, url: place, headers: authorization(apiKey) };
    const outcome = await this.#requests.exchange(request, signal, hold);
    const reply = this.#statusReply(outcome, jobId, place);
    return withoutKey(withHold(reply, hold), apiKey);
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
