/** ComfyUI over HTTP: implements the road's `RenderService` port with one workflow, which each scene has filled in its own way. */
import { randomUUID } from 'node:crypto';
import type { Endpoint, JobAtService } from '../core/attempt.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import type { HeldPicture } from '../core/picture.ts';
import type { JobTimes } from '../core/settlement.ts';
import { isJsonObject, type JsonObject } from '../../lib/text/json.ts';
import type {
  CancelReply,
  HealthReply,
  Hold,
  LostSubmission,
  RenderService,
  StatusReply,
  SubmitReply,
} from '../pipeline/ports.ts';
import { bodyText } from '../../protocol/error-text.ts';
import { exactInteger } from '../../protocol/json-value.ts';
import {
  chosenPictures,
  fillWorkflow,
  historyIn,
  promptIdIn,
  promptIdOf,
  queueIn,
  refusalIn,
  viewPath,
  workflowProblems,
  type HistoryEntry,
  type PlacedPicture,
  type Workflow,
} from '../../protocol/comfyui.ts';
import type { HttpResponse } from './exchange.ts';
import { HttpRequests, type RequestOptions, type TextOutcome } from './http-requests.ts';
import { parseObject } from './parse-body.ts';
import { readSubmitAnswer } from './read-job-answers.ts';
import { readRefusal, unreadable } from './read-refusal.ts';

export interface ComfyuiOptions extends RequestOptions {
  /** http(s) URL without a trailing slash; may have a path. */
  urlOf: (endpoint: Endpoint) => string;
  workflow: Workflow;
  /** Of its file, as scenes have it that are sent with it. */
  workflowSha256: string;
  /** Whose pictures are saved; of all that save where undefined. */
  node: string | undefined;
}

/** It knows jobs until it ends, and the last 10,000 of them. */
const idempotencyMs = 24 * 3_600_000;

type Failed = { kind: 'failure'; failure: Failure };
type JobState = { kind: 'running' | 'waiting' | 'absent' } | HistoryEntry | Failed;

export class ComfyuiService implements RenderService {
  readonly #options: ComfyuiOptions;
  readonly #requests: HttpRequests;
  /** Jobs that were taken out of the queue, which leaves no trace there. */
  readonly #deleted = new Set<string>();

  constructor(options: ComfyuiOptions) {
    this.#options = options;
    this.#requests = new HttpRequests(options);
  }

  /** `input` is `{ workflow, set }`, the first being the sha256 of the workflow's file. */
  async submit(
    endpoint: Endpoint,
    input: JsonObject,
    signal: AbortSignal,
    idempotencyKey?: string,
    lost?: LostSubmission,
  ): Promise<SubmitReply> {
    const promptId = idempotencyKey === undefined ? randomUUID() : promptIdOf(idempotencyKey);
    const set = isJsonObject(input['set']) ? input['set'] : {};
    if (lost !== undefined) return this.#find(endpoint, promptId, set, signal);
    if (input['workflow'] !== this.#options.workflowSha256)
      return failed('file-changed', 'the workflow is another than when the list was read: nothing was sent');
    const prompt = fillWorkflow(this.#options.workflow, set, `nightrender/${promptId}`);
    const body = { prompt, prompt_id: promptId, client_id: 'nightrender', extra_data: {} };
    const outcome = await this.#send(endpoint, '/prompt', signal, body);
    if (outcome.kind === 'too-large') return failed('unanswered', 'the answer to a workflow is too large');
    if (outcome.kind === 'broken')
      return failed(outcome.wasSent ? 'unanswered' : 'not-reached', this.#why(endpoint, outcome.why));
    const read = readSubmission(outcome.answer, this.#options.urlOf(endpoint));
    if ('kind' in read) return read;
    const { jobId, refusal } = read;
    if (refusal !== undefined) {
      // What it takes of the rest would run for nothing.
      await this.cancel({ endpoint, jobId }, signal);
      return failed('input-refused', `ComfyUI refused a part of the workflow: ${refusal}`);
    }
    return { ...accepted(jobId, set), ...(jobId === promptId && { idempotencyMs }) };
  }

  async status(
    { endpoint, jobId, kept }: JobAtService,
    signal: AbortSignal,
    onHeldUp?: () => void,
  ): Promise<StatusReply> {
    const job = await this.#look(endpoint, jobId, signal);
    switch (job.kind) {
      case 'failure':
        return job;
      case 'waiting':
        return { kind: 'running', status: 'pending', isExecuting: false };
      case 'running':
        return { kind: 'running', status: 'running', isExecuting: true };
      case 'absent':
        if (this.#deleted.has(jobId))
          return ended('interrupted', 'job-cancelled', 'it was taken out of the queue');
        return {
          kind: 'missing',
          text: 'ComfyUI does not know the job: it was restarted, or has forgotten it',
        };
      case 'failed':
        return { ...ended('error', 'job-failed', job.text), ...timesOf(job) };
      case 'interrupted':
        return { ...ended('interrupted', 'job-cancelled', job.text), ...timesOf(job) };
      case 'done': {
        const hold = this.#requests.reserve(onHeldUp);
        const fetched = await this.#fetch(endpoint, job.pictures, signal, hold);
        if (!Array.isArray(fetched)) {
          hold.release();
          return fetched.kind === 'ended' ? { ...fetched, ...timesOf(job) } : fetched;
        }
        const seed = kept?.['seed'];
        const pictures = fetched.map((bytes): HeldPicture => {
          return { bytes, ...(typeof seed === 'string' && { seed }) };
        });
        const holding = hold.bytes === 0 ? {} : { hold };
        return { kind: 'completed', status: 'success', pictures, ...holding, ...timesOf(job) };
      }
    }
  }

  /** Never stops what is another's: what runs is named, and what waits may have begun in between. */
  async cancel({ endpoint, jobId }: JobAtService, signal: AbortSignal): Promise<CancelReply> {
    let job = await this.#look(endpoint, jobId, signal);
    if (job.kind === 'waiting') {
      const asked = await this.#ask(endpoint, '/queue', signal, { delete: [jobId] });
      job = 'failure' in asked ? asked : await this.#look(endpoint, jobId, signal);
      if (job.kind === 'absent') this.#deleted.add(jobId);
    }
    if (job.kind === 'running') {
      const asked = await this.#ask(endpoint, '/interrupt', signal, { prompt_id: jobId });
      if ('failure' in asked) return asked;
    }
    if (job.kind === 'failure') return job;
    if (job.kind !== 'absent' || this.#deleted.has(jobId)) return { kind: 'cancelled' };
    return { kind: 'unsupported', text: 'ComfyUI does not know the job' };
  }

  async health(endpoint: Endpoint, signal: AbortSignal): Promise<HealthReply> {
    const stats = await this.#ask(endpoint, '/system_stats', signal);
    if ('failure' in stats) return stats;
    const answer = await this.#ask(endpoint, '/queue', signal);
    const queue = 'failure' in answer ? undefined : queueIn(answer.json);
    const jobs = queue && { inProgress: queue.running.length, inQueue: queue.waiting.length };
    return { kind: 'answers', ...(jobs && { health: { workers: {}, jobs } }), idempotencyMs };
  }

  /** What the ComfyUI lacks for the workflow with the values of one scene; starts nothing. */
  async check(endpoint: Endpoint, set: JsonObject, signal: AbortSignal): Promise<string[] | Failure> {
    const info = await this.#ask(endpoint, '/object_info', signal);
    return 'failure' in info
      ? info.failure
      : workflowProblems(fillWorkflow(this.#options.workflow, set, ''), info.json);
  }

  /** Requests in progress are cut. */
  close(): Promise<void> {
    return this.#requests.close();
  }

  async #find(endpoint: Endpoint, jobId: string, set: JsonObject, signal: AbortSignal): Promise<SubmitReply> {
    const job = await this.#look(endpoint, jobId, signal);
    if (job.kind === 'failure') return job;
    if (job.kind === 'absent')
      return { kind: 'not-found', text: 'ComfyUI has it neither in its queue nor in its history' };
    return { ...accepted(jobId, set), idempotencyMs };
  }

  /** What leaves the queue is in the history at once, so that asked for in this order nothing is overlooked. */
  async #look(endpoint: Endpoint, jobId: string, signal: AbortSignal): Promise<JobState> {
    const answer = await this.#ask(endpoint, '/queue', signal);
    if ('failure' in answer) return answer;
    const queue = queueIn(answer.json);
    if (queue === undefined) return failed('poll-failed', this.#why(endpoint, 'its queue cannot be read'));
    if (queue.running.includes(jobId)) return { kind: 'running' };
    if (queue.waiting.includes(jobId)) return { kind: 'waiting' };
    const history = await this.#ask(endpoint, `/history/${encodeURIComponent(jobId)}`, signal);
    if ('failure' in history) return history;
    const entry = historyIn(history.json, jobId);
    if (entry === undefined) return failed('poll-failed', this.#why(endpoint, 'its history cannot be read'));
    return entry === 'absent' ? { kind: 'absent' } : entry;
  }

  /** The bytes of the pictures, or why it is as good as none. */
  async #fetch(
    endpoint: Endpoint,
    all: PlacedPicture[],
    signal: AbortSignal,
    hold: Hold,
  ): Promise<Buffer[] | Failed | ReturnType<typeof ended>> {
    const { node } = this.#options;
    const pictures = chosenPictures(all, node);
    if (pictures.length === 0)
      return ended(
        'success',
        'no-output',
        `no picture came of ${node === undefined ? 'any node' : `node ${node}`}`,
      );
    const fetched: Buffer[] = [];
    for (const [i, picture] of pictures.entries()) {
      const request = { method: 'GET', url: this.#options.urlOf(endpoint) + viewPath(picture) };
      // Room is made for all of them before the first, as if each were so large.
      const room = hold.bytes === 0 ? hold : undefined;
      const outcome = await this.#requests.exchange(request, signal, room, pictures.length - i);
      if (outcome.kind === 'too-large')
        return ended(
          'success',
          'result-too-large',
          `a picture is larger than ${this.#requests.limit} (\`limits.body\`)`,
        );
      if (outcome.kind === 'broken') return failed('poll-failed', this.#why(endpoint, outcome.why));
      const { status, bytes } = outcome.answer;
      if (status === 404)
        return ended(
          'success',
          'no-output',
          `${picture.filename} of node ${picture.node} is not there any more`,
        );
      if (status !== 200)
        return failed('poll-failed', this.#why(endpoint, `${picture.filename} was answered ${status}`));
      fetched.push(bytes);
    }
    return fetched;
  }

  /** Of a `body` that was taken the answer is empty. */
  async #ask(
    endpoint: Endpoint,
    path: string,
    signal: AbortSignal,
    body?: JsonObject,
  ): Promise<{ json: JsonObject } | Failed> {
    const outcome = await this.#send(endpoint, path, signal, body);
    if (outcome.kind !== 'answered') {
      const why =
        outcome.kind === 'broken' ? outcome.why : `the answer is larger than ${this.#requests.limit}`;
      return failed('poll-failed', this.#why(endpoint, why));
    }
    const { answer } = outcome;
    if (body !== undefined && isSuccess(answer)) return { json: {} };
    const json = isSuccess(answer) ? jsonIn(answer) : undefined;
    return json === undefined
      ? { kind: 'failure', failure: readRefusal(answer) ?? unreadable(answer, path) }
      : { json };
  }

  #send(endpoint: Endpoint, path: string, signal: AbortSignal, body?: JsonObject): Promise<TextOutcome> {
    const url = this.#options.urlOf(endpoint) + path;
    const sent = body === undefined ? { method: 'GET' } : { method: 'POST', body: JSON.stringify(body) };
    return this.#requests.exchangeText({ url, ...sent }, signal);
  }

  #why(endpoint: Endpoint, why: string): string {
    return `${why} (${this.#options.urlOf(endpoint)})`;
  }
}

/** `refusal` is of a part, where the rest runs. */
function readSubmission(
  answer: HttpResponse,
  url: string,
): { jobId: string; refusal: string | undefined } | SubmitReply {
  const { status, body } = answer;
  const json = jsonIn(answer);
  const refusal = json && refusalIn(json);
  if (status === 400 && refusal !== undefined)
    return failed('input-refused', `ComfyUI refused the workflow: ${refusal}`);
  if (status === 404 || status === 405) {
    const text = `nothing takes workflows at ${url} (${status}); see \`endpoint.baseUrl\``;
    return failed('endpoint-unknown', text);
  }
  if (!isSuccess(answer)) return readSubmitAnswer(answer);
  const jobId = json && promptIdIn(json);
  if (jobId !== undefined) return { jobId, refusal };
  const said = bodyText(body) ?? 'an empty body';
  return failed('unanswered', `ComfyUI answered ${status} without a prompt_id: ${said}`);
}

/** A picture's seed is the one that the scene has set. */
function accepted(jobId: string, set: JsonObject): SubmitReply & { kind: 'accepted' } {
  const key = Object.keys(set).find((each) => /\.(noise_)?seed$/.test(each));
  const seed = key === undefined ? undefined : exactInteger(set[key]);
  return { kind: 'accepted', jobId, status: 'pending', ...(seed !== undefined && { kept: { seed } }) };
}

function ended(status: string, kind: FailureKind, text: string): StatusReply & { kind: 'ended' } {
  return { kind: 'ended', status, failure: { kind, text } };
}

function failed(kind: FailureKind, text: string): Failed {
  return { kind: 'failure', failure: { kind, text } };
}

function timesOf({ executionTimeMs }: HistoryEntry): JobTimes {
  return executionTimeMs === undefined ? {} : { executionTimeMs };
}

function isSuccess({ status }: HttpResponse): boolean {
  return status >= 200 && status <= 299;
}

function jsonIn({ body }: HttpResponse): JsonObject | undefined {
  const json = parseObject(body);
  return isJsonObject(json) ? json : undefined;
}
