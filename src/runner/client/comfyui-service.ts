/** ComfyUI over HTTP: implements the road's `RenderService` port with one workflow, which each scene has filled in its own way. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Endpoint, JobAtService } from '../core/attempt.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import type { JobTimes } from '../core/settlement.ts';
import { isJsonObject, type JsonObject } from '../../lib/text/json.ts';
import type {
  CancelReply,
  HealthReply,
  Hold,
  KeptAnswer,
  LostSubmission,
  RenderService,
  StatusReply,
  SubmitReply,
  WriteChunk,
} from '../pipeline/ports.ts';
import { bodyText } from '../../protocol/error-text.ts';
import { exactInteger } from '../../protocol/json-value.ts';
import {
  chosenPictures,
  fillWorkflow,
  historyIn,
  isFaultOfWorkflow,
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
import { authorization, type Connection } from './http-render-service.ts';
import { HttpRequests, type RequestOptions, type TextOutcome } from './http-requests.ts';
import { parseObject } from './parse-body.ts';
import { readSubmitAnswer } from './read-submit-answers.ts';
import { readRefusal, unreadable } from './read-refusal.ts';
import { chunksWithoutKey, textWithoutKey } from './without-key.ts';

export interface ComfyuiOptions extends RequestOptions {
  /** The key is of a proxy before it; ComfyUI has none. */
  connectionOf: (endpoint: Endpoint) => Connection;
  workflow: Workflow;
  /** Of its file, as scenes have it that are sent with it. */
  workflowSha256: string;
  /** Whose pictures are saved; of all that save where undefined. */
  node: string | undefined;
}

/** It knows jobs until it ends, and the last 10,000 of them. */
const idempotencyMs = 24 * 3_600_000;

/** The last and longest wait for a job to stop. */
const maxStopMs = 2_560;

/** A request may be on its way for a while, whoever has given it up. */
const onTheWayMs = 10_000;

type Failed = { kind: 'failure'; failure: Failure };
type JobState = { kind: 'running' | 'waiting' | 'absent' } | HistoryEntry | Failed;

export class ComfyuiService implements RenderService {
  readonly #options: ComfyuiOptions;
  readonly #requests: HttpRequests;
  /** Jobs that were taken out of the queue, which leaves no trace there. */
  readonly #deleted = new Set<string>();
  /** The first submission goes alone: if the workflow is wrong for all scenes, one answer tells. */
  #first: Promise<unknown> | undefined;
  /** What ComfyUI has said of a workflow that is wrong for all scenes. */
  #refusal: SubmitReply | undefined;

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
    const at = this.#options.connectionOf(endpoint);
    const promptId = idempotencyKey === undefined ? randomUUID() : promptIdOf(idempotencyKey);
    const set = setIn(input);
    if (lost !== undefined) return this.#find(at, promptId, set, lost.sentAt, signal);
    if (input['workflow'] !== this.#options.workflowSha256)
      return failed('file-changed', 'the workflow is another than when the list was read: nothing was sent');
    const prompt = fillWorkflow(this.#options.workflow, set, `nightrender/${promptId}`);
    const body = { prompt, prompt_id: promptId, client_id: 'nightrender', extra_data: {} };
    const send = async (): Promise<SubmitReply> => {
      const sent = this.#refusal ?? (await this.#post(endpoint, body, Object.keys(set), signal));
      if ('kind' in sent) return sent;
      return accepted(sent.jobId, set, idempotencyKey !== undefined && sent.jobId === promptId);
    };
    if (this.#first === undefined) return (this.#first = send());
    await this.#first;
    return send();
  }

  async status(
    { endpoint, jobId, kept }: JobAtService,
    signal: AbortSignal,
    onHeldUp?: () => void,
    answer?: KeptAnswer,
  ): Promise<StatusReply> {
    const at = this.#options.connectionOf(endpoint);
    const job = keptEntry(answer, jobId) ?? (await this.#look(at, jobId, signal));
    switch (job.kind) {
      case 'failure':
        return job;
      case 'waiting':
        return { kind: 'running', status: 'pending', isExecuting: false };
      case 'running':
        return { kind: 'running', status: 'running', isExecuting: true };
      case 'absent':
        return this.#deleted.has(jobId)
          ? ended('interrupted', { kind: 'job-cancelled', text: 'it was taken out of the queue' })
          : { kind: 'missing', text: 'ComfyUI does not know the job: it was restarted, or has forgotten it' };
      case 'failed':
        return ended('error', { kind: 'job-failed', text: job.text }, job.times);
      case 'interrupted':
        return ended('interrupted', { kind: 'job-cancelled', text: job.text }, job.times);
      case 'done': {
        const hold = this.#requests.reserve(onHeldUp);
        const fetched = await this.#fetch(at, job.pictures, signal, hold);
        if (Array.isArray(fetched)) {
          const seed = kept?.['seed'] === undefined ? {} : { seed: kept['seed'] };
          const pictures = fetched.map((bytes) => ({ bytes, ...seed }));
          return {
            kind: 'completed',
            status: 'success',
            pictures,
            ...(hold.bytes > 0 && { hold }),
            ...job.times,
          };
        }
        hold.release();
        const { failure, isFinal } = fetched;
        return isFinal
          ? ended('success', failure, job.times)
          : { kind: 'failure', failure, done: { status: 'success', ...job.times } };
      }
    }
  }

  copyResult({ endpoint, jobId }: JobAtService, write: WriteChunk, signal: AbortSignal): Promise<boolean> {
    const { url, apiKey } = this.#options.connectionOf(endpoint);
    const request = { method: 'GET', url: url + historyPath(jobId), headers: authorization(apiKey) };
    return this.#requests.copy(request, chunksWithoutKey(write, apiKey), signal);
  }

  /** Never stops what is another's: what runs is named, and what waits may have begun in between. */
  async cancel({ endpoint, jobId }: JobAtService, signal: AbortSignal): Promise<CancelReply> {
    const at = this.#options.connectionOf(endpoint);
    let job = await this.#look(at, jobId, signal);
    if (job.kind === 'waiting') {
      const asked = await this.#ask(at, '/queue', signal, { delete: [jobId] });
      job = 'failure' in asked ? asked : await this.#look(at, jobId, signal);
      if (job.kind === 'absent') this.#deleted.add(jobId);
    }
    // It stops between two steps, and does not hear of it in the moment of its start.
    for (let waitMs = 10; job.kind === 'running' && waitMs <= maxStopMs; waitMs *= 2) {
      const asked = await this.#ask(at, '/interrupt', signal, { prompt_id: jobId });
      if ('failure' in asked) return asked;
      await wait(waitMs, undefined, { signal }).catch(() => undefined);
      job = await this.#look(at, jobId, signal);
    }
    if (job.kind === 'failure') return job;
    if (job.kind !== 'absent' || this.#deleted.has(jobId)) return { kind: 'cancelled' };
    return { kind: 'unsupported', text: 'ComfyUI does not know the job' };
  }

  async health(endpoint: Endpoint, signal: AbortSignal): Promise<HealthReply> {
    const at = this.#options.connectionOf(endpoint);
    const stats = await this.#ask(at, '/system_stats', signal);
    if ('failure' in stats) return stats;
    const answer = await this.#ask(at, '/queue', signal);
    const queue = 'failure' in answer ? undefined : queueIn(answer.json);
    const jobs = queue && { inProgress: queue.running.length, inQueue: queue.waiting.length };
    return { kind: 'answers', ...(jobs && { health: { workers: {}, jobs } }), idempotencyMs };
  }

  /** What ComfyUI lacks for a workflow, filled as for one scene; starts nothing. */
  async check(endpoint: Endpoint, filled: Workflow, signal: AbortSignal): Promise<string[] | Failure> {
    const info = await this.#ask(this.#options.connectionOf(endpoint), '/object_info', signal);
    if ('failure' in info) return info.failure;
    return workflowProblems(filled, info.json, this.#options.node);
  }

  /** Requests in progress are cut. */
  close(): Promise<void> {
    return this.#requests.close();
  }

  /** `set`: the keys that scenes set, as `node.input`. */
  async #post(
    endpoint: Endpoint,
    body: JsonObject,
    set: readonly string[],
    signal: AbortSignal,
  ): Promise<{ jobId: string } | SubmitReply> {
    const at = this.#options.connectionOf(endpoint);
    const outcome = await this.#send(at, '/prompt', signal, body);
    if (outcome.kind === 'too-large') return failed('unanswered', 'the answer to a workflow is too large');
    if (outcome.kind === 'broken')
      return failed(outcome.wasSent ? 'unanswered' : 'not-reached', `${outcome.why} (${at.url})`);
    const read = readSubmission(outcome.answer, at.url, set);
    if (read.refusal === undefined) return read;
    const { jobId, refusal } = read;
    if (refusal.kind !== 'failure') return refusal;
    if (refusal.failure.kind === 'workflow-refused') this.#refusal = refusal;
    // What ComfyUI takes of the rest would run for nothing.
    const left = jobId === undefined ? undefined : await this.cancel({ endpoint, jobId }, signal);
    if (left?.kind !== 'failure') return refusal;
    const { kind, text } = refusal.failure;
    return failed(
      kind,
      `${text}; the rest may still run, as it could not be cancelled: ${left.failure.text}`,
    );
  }

  async #find(
    at: Connection,
    jobId: string,
    set: JsonObject,
    sentAt: number,
    signal: AbortSignal,
  ): Promise<SubmitReply> {
    const job = await this.#look(at, jobId, signal);
    if (job.kind === 'failure') return job;
    if (job.kind !== 'absent') return accepted(jobId, set, true);
    if (Date.now() - sentAt < onTheWayMs) return failed('unanswered', 'ComfyUI does not have it yet');
    return { kind: 'not-found', text: 'ComfyUI has it neither in its queue nor in its history' };
  }

  /** What leaves the queue is in the history at once, so that asked for in this order nothing is overlooked. */
  async #look(at: Connection, jobId: string, signal: AbortSignal): Promise<JobState> {
    const answer = await this.#ask(at, '/queue', signal);
    if ('failure' in answer) return answer;
    const queue = queueIn(answer.json);
    if (queue === undefined) return failed('poll-failed', `the queue of ComfyUI cannot be read (${at.url})`);
    if (queue.running.includes(jobId)) return { kind: 'running' };
    if (queue.waiting.includes(jobId)) return { kind: 'waiting' };
    const history = await this.#ask(at, historyPath(jobId), signal);
    if ('failure' in history) return history;
    const entry = historyIn(history.json, jobId);
    if (entry === 'absent') return { kind: 'absent' };
    return entry ?? failed('poll-failed', `the history of ComfyUI cannot be read (${at.url})`);
  }

  /** The bytes of the pictures, or why they did not come, and whether that is final. */
  async #fetch(
    at: Connection,
    all: PlacedPicture[],
    signal: AbortSignal,
    hold: Hold,
  ): Promise<Buffer[] | { failure: Failure; isFinal: boolean }> {
    const { node } = this.#options;
    const pictures = chosenPictures(all, node);
    const source = node === undefined ? 'any node' : `node ${node}`;
    const failing = (kind: FailureKind, text: string, isFinal = false) => ({
      failure: { kind, text, ...(kind !== 'no-output' && { isByAddress: true as const }) },
      isFinal,
    });
    if (pictures.length === 0)
      return failing(
        all.length === 0 ? 'no-output' : 'picture-not-found',
        `no picture came of ${source}`,
        true,
      );
    const fetched: Buffer[] = [];
    for (const [i, picture] of pictures.entries()) {
      const request = { method: 'GET', url: at.url + viewPath(picture), headers: authorization(at.apiKey) };
      // Room is made for all of them before the first, as if each were so large.
      const room = hold.bytes === 0 ? hold : undefined;
      const outcome = await this.#requests.exchange(request, signal, room, pictures.length - i);
      const name = `${picture.filename} of node ${picture.node}`;
      if (outcome.kind === 'too-large')
        return failing(
          'result-too-large',
          `${name} is larger than ${this.#requests.limit} (\`limits.body\`)`,
          true,
        );
      if (outcome.kind === 'broken') return failing('poll-failed', `${outcome.why} (${at.url})`);
      const { status, bytes } = outcome.answer;
      if (status === 404) return failing('no-output', `${name} is not there any more`);
      if (status !== 200) return failing('poll-failed', `${name} was answered ${status} (${at.url})`);
      fetched.push(bytes);
    }
    return fetched;
  }

  /** Of a `body` that was taken the answer is empty. */
  async #ask(
    at: Connection,
    path: string,
    signal: AbortSignal,
    body?: JsonObject,
  ): Promise<{ json: JsonObject } | Failed> {
    const outcome = await this.#send(at, path, signal, body);
    if (outcome.kind === 'too-large')
      return failed('poll-failed', `the answer is larger than ${this.#requests.limit} (${at.url}${path})`);
    if (outcome.kind === 'broken') return failed('poll-failed', `${outcome.why} (${at.url}${path})`);
    const { answer } = outcome;
    const json = body === undefined ? jsonIn(answer) : {};
    if (isSuccess(answer) && json !== undefined) return { json };
    return { kind: 'failure', failure: readRefusal(answer) ?? unreadable(answer, path) };
  }

  async #send(
    { url, apiKey }: Connection,
    path: string,
    signal: AbortSignal,
    body?: JsonObject,
  ): Promise<TextOutcome> {
    const sent = body === undefined ? { method: 'GET' } : { method: 'POST', body: JSON.stringify(body) };
    const request = { url: url + path, headers: authorization(apiKey), ...sent };
    const outcome = await this.#requests.exchangeText(request, signal);
    if (outcome.kind !== 'answered') return outcome;
    const { answer } = outcome;
    const clean = (text = ''): string => textWithoutKey(text, apiKey);
    const headers = { ...answer.headers, location: clean(answer.headers.location) };
    return { ...outcome, answer: { ...answer, headers, body: clean(answer.body) } };
  }
}

function historyPath(jobId: string): string {
  return `/history/${encodeURIComponent(jobId)}`;
}

function keptEntry(answer: KeptAnswer | undefined, jobId: string): HistoryEntry | undefined {
  if (answer === undefined || answer === 'too-large') return undefined;
  const json = parseObject(Buffer.from(answer).toString());
  const entry = isJsonObject(json) ? historyIn(json, jobId) : undefined;
  return entry === 'absent' ? undefined : entry;
}

/** With both, a part is refused and the rest runs. */
function readSubmission(
  answer: HttpResponse,
  url: string,
  set: readonly string[],
): { jobId: string; refusal?: undefined } | { jobId?: string; refusal: SubmitReply } {
  const { status, body } = answer;
  const json = jsonIn(answer);
  const refusal = json && refusalOf(json, set);
  if (status === 400 && refusal !== undefined) return { refusal };
  if (status === 404 || status === 405) {
    const text = `nothing takes workflows at ${url} (${status}); see \`endpoint.baseUrl\``;
    return { refusal: failed('endpoint-unknown', text) };
  }
  if (!isSuccess(answer)) return { refusal: readSubmitAnswer(answer) };
  const jobId = json && promptIdIn(json);
  if (jobId !== undefined) return refusal === undefined ? { jobId } : { jobId, refusal };
  const said = bodyText(body) ?? 'an empty body';
  return { refusal: failed('unanswered', `ComfyUI answered ${status} without a prompt_id: ${said}`) };
}

function refusalOf(answer: JsonObject, set: readonly string[]): Failed | undefined {
  const why = refusalIn(answer);
  if (why === undefined) return undefined;
  if (!isFaultOfWorkflow(answer, set))
    return failed('input-refused', `ComfyUI refused what the scene sets: ${why}`);
  const all = '`nightrender plan <pipeline> --check` names all that is wrong';
  return failed(
    'workflow-refused',
    `ComfyUI refused the workflow because of something that no scene sets: ${why}; ${all}`,
  );
}

/** What the scene sets, with the seed that a person has asked for instead. */
function setIn({ set, seed }: JsonObject): JsonObject {
  if (!isJsonObject(set) || seed === undefined) return isJsonObject(set) ? set : {};
  return Object.fromEntries(Object.entries(set).map(([key, value]) => [key, isSeed(key) ? seed : value]));
}

function isSeed(key: string): boolean {
  return /\.(noise_)?seed$/.test(key);
}

/** A picture's seed is the one that the scene has set. */
function accepted(jobId: string, set: JsonObject, canBeFound: boolean): SubmitReply {
  const [, value] = Object.entries(set).find(([key]) => isSeed(key)) ?? [];
  const seed = exactInteger(value);
  const kept = seed !== undefined && { kept: { seed } };
  return { kind: 'accepted', jobId, status: 'pending', ...kept, ...(canBeFound && { idempotencyMs }) };
}

function ended(status: string, failure: Failure, times: JobTimes = {}): StatusReply {
  return { kind: 'ended', status, failure, ...times };
}

function failed(kind: FailureKind, text: string): Failed {
  return { kind: 'failure', failure: { kind, text } };
}

function isSuccess({ status }: HttpResponse): boolean {
  return status >= 200 && status <= 299;
}

function jsonIn({ body }: HttpResponse): JsonObject | undefined {
  const json = parseObject(body);
  return isJsonObject(json) ? json : undefined;
}
