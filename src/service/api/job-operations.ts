/** Operations of clients: submission, status, waiting for the end, streams, cancellation, retry, health. */
import { idempotencyKeyHeader, idempotencyRetentionHeader } from '../../protocol/message-schemas.ts';
import { type AnswerOf, type OperationOf, operations } from '../../protocol/operations.ts';
import type { BodyRoom, ClientTurns } from './quotas.ts';
import {
  type AnswerOperation,
  type BodyContext,
  type OperationHandlers,
  type ReadRunRequest,
  type RequestContext,
  bodyOf,
  keyEnded,
  readRunRequest,
} from './request-context.ts';
import { type HttpResponse, jsonResponse, refusal } from '../../lib/http/http-response.ts';
import type { FolderWatch } from '../jobs/data-folder.ts';
import type { Accepted, JobStore } from '../jobs/job-store.ts';
import { waitUntilFound } from '../jobs/job-signals.ts';
import type { JobRecord } from '../jobs/job-statements.ts';
import { type Idempotency, isReached, type JobState, type JobTerms, reachedBy } from '../model/job.ts';
import type { WorkerView } from '../../protocol/console-data.ts';
import { secretText, type WebhookSecrets } from '../webhooks/webhook-secrets.ts';
import { createHash, hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { statusText, joinTexts } from '../jobs/job-reads.ts';

type Submission = BodyContext &
  Pick<RequestContext, 'endpoint' | 'keyId'> &
  Partial<Pick<RequestContext, 'refuse'>>;

type Submitted = Accepted | HttpResponse | undefined;

/** Maximum wait for the end of a job, as in real services. Must be shorter than the idle timeout of connections. */
const maxWaitMs = 90_000;

/** Time for which a stream without news is held open, because some clients poll without a pause. */
const streamWaitMs = 1_000;

export class JobOperations {
  readonly #parts;

  readonly handlers: OperationHandlers<OperationOf<'reader' | 'client'>> = {
    run: this.#checked((context) => this.#run(context)),
    runsync: this.#checked((context) => this.#runSync(context)),
    render: this.#checked((context) => this.#runSync(context)),
    status: this.#checked(({ endpoint, route }) =>
      this.#status(this.#parts.store.reads.find(endpoint.id, route.jobId)),
    ),
    'status-sync': this.#checked((context) => this.#statusOnceEnded(context, context.route.jobId)),
    stream: this.#checked((context) => this.#stream(context)),
    cancel: this.#checked(({ endpoint, route }) => this.cancel(endpoint.id, route.jobId)),
    retry: this.#checked(({ endpoint, route, refuse }) => this.retry(endpoint.id, route.jobId, refuse)),
    'purge-queue': this.#checked((context) => this.#purge(context)),
    health: this.#checked(async (context) => this.#health(context)),
    'webhook-secret': this.#checked(async ({ keyId }) =>
      jsonResponse({ secret: secretText(this.#parts.secrets.of(keyId)[0]) }),
    ),
  };

  constructor(parts: {
    store: JobStore;
    /** Data folder that holds the job store. */
    folder: FolderWatch;
    maxRequestBytes: number;
    maxValues: number;
    bodies: BodyRoom;
    turns: ClientTurns;
    /** True if webhooks may lead to this machine or its network. */
    hasPrivateWebhooks: boolean;
    secrets: WebhookSecrets;
  }) {
    this.#parts = parts;
  }

  /** Wraps an operation: refuses jobs of other keys, and values of `wait` that are not a number. */
  #checked(work: AnswerOperation): AnswerOperation {
    return async (context) => {
      const { route, keyId, hasOwnJobsOnly } = context;
      if (hasOwnJobsOnly && route.jobId !== '' && this.#parts.store.reads.keyOf(route.jobId) !== keyId)
        return jobNotFound();
      const isWaiting = operations[route.operation].parameters?.includes('wait') === true;
      const wait = route.query.get('wait') ?? '0';
      if (isWaiting && !/^\d+(\.\d+)?$/.test(wait)) {
        const text = `"wait" is ${JSON.stringify(wait.slice(0, 40))}; expected milliseconds, from 0 to ${maxWaitMs} (longer waits end then)`;
        return refusal(400, text);
      }
      return await work(context);
    };
  }

  /** True if this submission (by idempotency key) was accepted before. It then may ask for its job despite limits. */
  wasSubmitted(context: Pick<Submission, 'request' | 'endpoint' | 'keyId'>): boolean {
    const key = idempotencyKeyOf(context);
    return key !== null && this.#parts.store.reads.wasSubmitted(key);
  }

  /** Accepts a job, returns the job of the same earlier submission, or refuses the submission. */
  submit(context: Submission, given: Partial<JobTerms> = {}): Promise<Submitted> {
    const { bodies, maxRequestBytes } = this.#parts;
    // Real services allow twice the size for submissions that wait for the result.
    const maxBytes = given.isSync === true ? 2 * maxRequestBytes : maxRequestBytes;
    return bodies.use(context, maxBytes, () => this.#submit(context, given, maxBytes));
  }

  async #submit(context: Submission, given: Partial<JobTerms>, maxBytes: number): Promise<Submitted> {
    const wrong = wrongIdempotencyKey(context.request);
    if (wrong !== undefined) return wrong;
    if (this.#parts.folder.isLost) return folderLost();
    if (this.#parts.store.reserve.isFull && !this.wasSubmitted(context)) return noRoom();
    const body = await bodyOf(context, maxBytes);
    if (!Buffer.isBuffer(body)) return body;
    const { hasPrivateWebhooks: hasPrivate, maxValues } = this.#parts;
    const submission = await readRunRequest(body, { hasPrivate, maxValues });
    if (submission.kind === 'refused') return refusal(400, submission.why);
    const { endpoint, keyId } = context;
    // The endpoint may have been removed while the body arrived.
    if (endpoint.isRemoved) return endpointGone();
    const { id, settings } = endpoint;
    const { executionTimeout: executionTimeoutMs, ttl: ttlMs, retries: maxRetries, maxQueued } = settings;
    const idempotency = idempotencyOf(context, submission);
    const own = { executionTimeoutMs, ttlMs, maxRetries, keyId, idempotency };
    const terms = { ...own, ...submission.terms, ...given };
    const { store, turns } = this.#parts;
    const { input } = submission;
    const { executionTimeoutMs: askedMs } = submission.terms;
    const limits = { maxQueued, refuse: () => context.refuse?.(input.length, askedMs) };
    const accepted = await turns.use(() => store.accept(id, input, terms, limits));
    if (accepted === undefined) return queueFull(maxQueued);
    if (accepted === 'another body') return anotherBody();
    if (!isAccepted(accepted)) return accepted;
    // If the folder was lost or the endpoint removed in the meantime, the job must not run.
    const late = this.#parts.folder.check() ? folderLost() : endpoint.isRemoved ? endpointGone() : undefined;
    if (late !== undefined && accepted.isNew) await store.cancel(id, accepted.id);
    return late ?? accepted;
  }

  async #run(context: RequestContext): Promise<HttpResponse | undefined> {
    const job = await this.submit(context);
    const answer = isAccepted(job) ? stateAnswer(job.id, job.state) : job;
    return answer && this.#honouring(answer, context);
  }

  async #runSync(context: RequestContext): Promise<HttpResponse | undefined> {
    const job = await this.submit(context, { isSync: true });
    const answer = isAccepted(job) ? await this.#statusOnceEnded(context, job.id) : job;
    return answer && this.#honouring(answer, context);
  }

  /** Adds the idempotency key to the answer, so that the client knows that it may safely send the submission again. */
  #honouring(answer: HttpResponse, { request }: RequestContext): HttpResponse {
    const key = sentKey(request);
    if (key === undefined || wrongIdempotencyKey(request) !== undefined) return answer;
    return { ...answer, headers: { ...answer.headers, [idempotencyKeyHeader]: key, ...this.#retention() } };
  }

  #retention(): Record<string, string> {
    const { idempotencyMs } = this.#parts.store.expiry;
    return { [idempotencyRetentionHeader]: String(Math.floor(idempotencyMs / 1_000)) };
  }

  async #statusOnceEnded(context: RequestContext, id: string): Promise<HttpResponse> {
    const job = await this.#untilEnded(context, id);
    return context.isKeyGood() ? await this.#status(job) : keyEnded();
  }

  /** Waits for the end of a job. Returns the job as it is then, or when the wait is over; undefined if there is none. */
  async #untilEnded({ endpoint, route, gone }: RequestContext, id: string): Promise<JobRecord | undefined> {
    const { store } = this.#parts;
    if (!store.reads.has(endpoint.id, id)) return undefined;
    const waitMs = Math.min(Number(route.query.get('wait') ?? maxWaitMs), maxWaitMs);
    const waiting = { waitMs, signal: gone };
    await waitUntilFound(
      store.signals,
      [`changed ${id}`],
      waiting,
      () => store.reads.hasEnded(id) || undefined,
    );
    return store.reads.find(endpoint.id, id);
  }

  async #status(job: JobRecord | undefined): Promise<HttpResponse> {
    const opened = job && (await this.#parts.store.reads.open(job));
    return opened === undefined ? jobNotFound() : { status: 200, body: statusText(opened) };
  }

  /** Returns new parts of a job's output. Waits up to one second for them. */
  async #stream(context: RequestContext): Promise<HttpResponse | undefined> {
    const { endpoint, route, gone } = context;
    const { jobId } = route;
    const { store } = this.#parts;
    if (!store.reads.has(endpoint.id, jobId)) return jobNotFound();
    const waiting = { waitMs: streamWaitMs, signal: gone };
    await waitUntilFound(store.signals, [`streamed ${jobId}`, `changed ${jobId}`], waiting, () => {
      return store.streams.hasNews(jobId) || store.reads.hasEnded(jobId) || undefined;
    });
    // Each part is delivered only once, so none is taken for a client that has disconnected.
    if (gone.aborted) return undefined;
    if (!context.isKeyGood()) return keyEnded();
    const job = store.reads.find(endpoint.id, jobId);
    if (job === undefined) return jobNotFound();
    const parts = (await store.streams.drain(jobId)).flatMap((output, index) => [
      index === 0 ? '{"output":' : ',{"output":',
      output,
      '}',
    ]);
    return { status: 200, body: joinTexts([`{"status":"${job.state}","stream":[`, ...parts, ']}']) };
  }

  async #purge({ endpoint, keyId, hasOwnJobsOnly }: RequestContext): Promise<HttpResponse> {
    const removed = await this.#parts.store.bulk.purgeQueue(endpoint.id, hasOwnJobsOnly ? keyId : undefined);
    return jsonResponse({ removed, status: 'completed' } satisfies AnswerOf<'purge-queue'>);
  }

  /** The header says that idempotency keys work, before the first submission: without it, retries are not safe. */
  #health({ endpoint }: RequestContext): HttpResponse {
    const answer = healthAnswer(this.#parts.store.reads.tally(endpoint.id), endpoint.workers);
    return { ...answer, headers: this.#retention() };
  }

  async cancel(endpointId: string, jobId: string): Promise<HttpResponse> {
    const state = await this.#parts.store.cancel(endpointId, jobId);
    return state === undefined ? jobNotFound() : stateAnswer(jobId, state);
  }

  async retry(endpointId: string, jobId: string, refuse?: RequestContext['refuse']): Promise<HttpResponse> {
    if (this.#parts.folder.isLost) return folderLost();
    if (this.#parts.store.reserve.isFull) return noRoom();
    const was = await this.#parts.store.retry(endpointId, jobId, refuse);
    if (was === undefined) return jobNotFound();
    if (typeof was === 'object') return was;
    if (isReached('retry', was)) return stateAnswer(jobId, 'IN_QUEUE');
    if (was === 'without credentials')
      return refusal(409, 'the "s3Config" of the job was deleted when it ended: submit the job anew');
    return refusal(409, `the job is ${was}; only one that is ${reachedBy.retry.join(' or ')} can be retried`);
  }
}

export function isAccepted(job: Submitted): job is Accepted {
  return job !== undefined && 'isNew' in job;
}

function stateAnswer(id: string, status: JobState): HttpResponse {
  return jsonResponse({ id, status } satisfies AnswerOf<'run' | 'cancel' | 'retry'>);
}

/** Returns the answer to `health`. `failed` includes timed-out jobs, for which the interface has no field. */
function healthAnswer(
  tally: Partial<Record<JobState | 'retried', number>>,
  workers: readonly Pick<WorkerView, 'state'>[],
): HttpResponse {
  const { COMPLETED = 0, FAILED = 0, TIMED_OUT = 0, IN_PROGRESS = 0, IN_QUEUE = 0, retried = 0 } = tally;
  const count = (state: WorkerView['state']): number =>
    workers.filter((worker) => worker.state === state).length;
  const idle = count('idle');
  const jobs = { completed: COMPLETED, failed: FAILED + TIMED_OUT, inProgress: IN_PROGRESS };
  const health: AnswerOf<'health'> = {
    jobs: { ...jobs, inQueue: IN_QUEUE, retried },
    workers: {
      idle,
      initializing: count('initializing'),
      ready: idle,
      running: count('running'),
      throttled: count('throttled'),
      unhealthy: count('unhealthy'),
    },
  };
  return jsonResponse(health);
}

function anotherBody(): HttpResponse {
  const text = `the ${idempotencyKeyHeader} was used for another body; submit this one under a key of its own`;
  return refusal(422, text);
}

function queueFull(maxQueued: number): HttpResponse {
  const text = `the queue of this endpoint is full: ${maxQueued} jobs wait`;
  return refusal(429, text, { 'Retry-After': '10' });
}

function endpointGone(): HttpResponse {
  return refusal(404, 'endpoint not found');
}

function folderLost(): HttpResponse {
  return refusal(
    503,
    'the data folder of the service is missing: it accepts no jobs until the folder is back',
  );
}

function noRoom(): HttpResponse {
  return refusal(507, 'the disk of the service is full: it accepts no jobs until there is space');
}

function jobNotFound(): HttpResponse {
  return refusal(404, 'job not found');
}

type Request = Pick<IncomingMessage, 'headers'>;
type KeyedSubmission = Pick<RequestContext, 'request' | 'endpoint' | 'keyId'>;

/** Returns the idempotency key of a request; undefined if it has none. */
function sentKey({ headers }: Request): string | undefined {
  // Node joins repeated headers with a comma and a space, and the space makes the key invalid.
  return headers[idempotencyKeyHeader.toLowerCase()]?.toString();
}

/** Returns a refusal if the request's idempotency key is invalid; undefined if it is valid or missing. */
function wrongIdempotencyKey(request: Request): HttpResponse | undefined {
  const key = sentKey(request);
  if (key === undefined || /^[\x21-\x7e]{1,255}$/.test(key)) return undefined;
  const text = `the header ${idempotencyKeyHeader} is not accepted; expected 1 to 255 ASCII characters without spaces`;
  return refusal(400, text);
}

/**
 * Returns digests of the idempotency key and the body; null if the submission has no key. `policy` is left
 * out: it changes no result, and a client that has changed it must still find its job.
 */
function idempotencyOf(
  submission: KeyedSubmission,
  { input, terms: { webhook, s3Config } }: ReadRunRequest & { kind: 'read' },
): Idempotency | null {
  const key = idempotencyKeyOf(submission);
  if (key === null) return null;
  const more = (webhook ?? '') + (s3Config ?? '');
  // Hashing in one call takes half as long.
  const body = more === '' ? digestOf(input) : createHash('sha256').update(input).update(more).digest();
  return { key, body };
}

/** Returns the digest of the idempotency key. It includes the API key's id, so that no client finds jobs of another. */
function idempotencyKeyOf({ request, endpoint, keyId }: KeyedSubmission): Buffer | null {
  const sent = sentKey(request);
  return sent === undefined ? null : digestOf(JSON.stringify([endpoint.id, keyId, sent]));
}

function digestOf(data: string | Buffer): Buffer {
  return hash('sha256', data, 'buffer');
}
