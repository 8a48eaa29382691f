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
  historyIn,
  type HistoryEntry,
  type PlacedPicture,
} from '../../protocol/comfyui-answers.ts';
import {
  ComfyuiDriver,
  fetchPicture,
  historyPath,
  type ComfyuiAnswer,
  type ComfyuiRequest,
  type NothingTold,
} from '../../protocol/comfyui-driver.ts';
import { fillWorkflow, isSeed, promptIdOf, seedIn, type Workflow } from '../../protocol/comfyui-workflow.ts';
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

/** A request may be on its way for a while, whoever has given it up. */
const onTheWayMs = 10_000;

type Failed = { kind: 'failure'; failure: Failure };

/** An answer without the key, as the driver reads it and as it came. */
interface Answer extends ComfyuiAnswer {
  response: HttpResponse;
}

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
    const send = async (): Promise<SubmitReply> => {
      const sent = this.#refusal ?? (await this.#post(at, promptId, prompt, Object.keys(set), signal));
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
    const job = keptEntry(answer, jobId) ?? (await this.#driver(at).look(jobId, signal));
    switch (job.kind) {
      case 'nothing-told':
        return this.#failureOf(at, job);
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

  async cancel({ endpoint, jobId }: JobAtService, signal: AbortSignal): Promise<CancelReply> {
    const at = this.#options.connectionOf(endpoint);
    const job = await this.#driver(at).cancel(jobId, signal);
    if (job.kind === 'nothing-told') return this.#failureOf(at, job);
    if (job.kind === 'deleted') this.#deleted.add(jobId);
    if (job.kind !== 'unknown' || this.#deleted.has(jobId)) return { kind: 'cancelled' };
    return { kind: 'unsupported', text: 'ComfyUI does not know the job' };
  }

  async health(endpoint: Endpoint, signal: AbortSignal): Promise<HealthReply> {
    const at = this.#options.connectionOf(endpoint);
    const driver = this.#driver(at);
    const stats = await driver.stats(signal);
    if (stats.kind === 'nothing-told') return this.#failureOf(at, stats);
    const queue = await driver.queue(signal);
    const jobs = queue.kind === 'queue' && {
      inProgress: queue.running.length,
      inQueue: queue.waiting.length,
    };
    return { kind: 'answers', ...(jobs && { health: { workers: {}, jobs } }), idempotencyMs };
  }

  /** Returns what ComfyUI lacks for a workflow, filled as for one scene. Starts nothing. */
  async check(endpoint: Endpoint, filled: Workflow, signal: AbortSignal): Promise<string[] | Failure> {
    const at = this.#options.connectionOf(endpoint);
    const problems = await this.#driver(at).problems(filled, this.#options.node, signal);
    return Array.isArray(problems) ? problems : this.#failureOf(at, problems).failure;
  }

  /** Requests in progress are cut. */
  close(): Promise<void> {
    return this.#requests.close();
  }

  /** `set`: the keys that scenes set, as `node.input`. */
  async #post(
    at: Connection,
    promptId: string,
    prompt: Workflow,
    set: readonly string[],
    signal: AbortSignal,
  ): Promise<{ jobId: string } | SubmitReply> {
    const sent = await this.#driver(at).submit(promptId, prompt, set, signal);
    if (sent.kind === 'accepted') return { jobId: sent.jobId };
    if (sent.kind === 'nothing-told') return submissionFailure(sent, at.url);
    const { why, isOfWorkflow, deleted, leftRunning } = sent;
    if (deleted !== undefined) this.#deleted.add(deleted);
    const kind = isOfWorkflow ? 'workflow-refused' : 'input-refused';
    const text = isOfWorkflow
      ? `ComfyUI refused the workflow because of something that no scene sets: ${why}; \`nightrender plan <pipeline> --check\` names all that is wrong`
      : `ComfyUI refused what the scene sets: ${why}`;
    const refusal = failed(kind, text);
    if (isOfWorkflow) this.#refusal = refusal;
    if (leftRunning === undefined) return refusal;
    const { failure } = this.#failureOf(at, leftRunning);
    return failed(kind, `${text}; the rest may still run, as it could not be cancelled: ${failure.text}`);
  }

  async #find(
    at: Connection,
    jobId: string,
    set: JsonObject,
    sentAt: number,
    signal: AbortSignal,
  ): Promise<SubmitReply> {
    const job = await this.#driver(at).look(jobId, signal);
    if (job.kind === 'nothing-told') return this.#failureOf(at, job);
    if (job.kind !== 'absent') return accepted(jobId, set, true);
    if (Date.now() - sentAt < onTheWayMs) return failed('unanswered', 'ComfyUI does not have it yet');
    return { kind: 'not-found', text: 'ComfyUI has it neither in its queue nor in its history' };
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
      // Room is made for all of them before the first, as if each were so large.
      const room = hold.bytes === 0 ? hold : undefined;
      const answer = await fetchPicture(picture, (path) => {
        const request = { method: 'GET', url: at.url + path, headers: authorization(at.apiKey) };
        return this.#requests.exchange(request, signal, room, pictures.length - i);
      });
      const name = `${picture.filename} of node ${picture.node}`;
      if (answer.kind === 'fetched') fetched.push(answer.bytes);
      else if (answer.kind === 'gone') return failing('no-output', `${name} is not there any more`);
      else if (answer.why.kind === 'too-large')
        return failing(
          'result-too-large',
          `${name} is larger than ${this.#requests.limit} (\`limits.body\`)`,
          true,
        );
      else {
        const { why } = answer;
        const text = why.kind === 'broken' ? why.why : `${name} was answered ${why.answer.status}`;
        return failing('poll-failed', `${text} (${at.url})`);
      }
    }
    return fetched;
  }

  #driver(at: Connection): ComfyuiDriver<Answer> {
    return new ComfyuiDriver<Answer>({
      send: (request, signal) => this.#send(at, request, signal ?? new AbortController().signal),
      pause: (ms, signal) => wait(ms, undefined, { signal }).catch(() => undefined),
    });
  }

  async #send(
    { url, apiKey }: Connection,
    { path, body }: ComfyuiRequest,
    signal: AbortSignal,
  ): Promise<{ kind: 'answered'; answer: Answer } | Exclude<TextOutcome, { kind: 'answered' }>> {
    const sent = body === undefined ? { method: 'GET' } : { method: 'POST', body };
    const request = { url: url + path, headers: authorization(apiKey), ...sent };
    const outcome = await this.#requests.exchangeText(request, signal);
    if (outcome.kind !== 'answered') return outcome;
    const { status, headers, body: text } = outcome.answer;
    const clean = (dirty = ''): string => textWithoutKey(dirty, apiKey);
    const response = {
      status,
      headers: { ...headers, location: clean(headers.location) },
      body: clean(text),
    };
    const json = parseObject(response.body);
    return { kind: 'answered', answer: { status, json: isJsonObject(json) ? json : undefined, response } };
  }

  /** Returns why a request told nothing of a job. */
  #failureOf({ url }: Connection, { path, why }: NothingTold<Answer>): Failed {
    switch (why.kind) {
      case 'answered':
        return {
          kind: 'failure',
          failure: readRefusal(why.answer.response) ?? unreadable(why.answer.response, path),
        };
      case 'too-large':
        return failed('poll-failed', `the answer is larger than ${this.#requests.limit} (${url}${path})`);
      case 'broken':
        return failed('poll-failed', `${why.why} (${url}${path})`);
      case 'unreadable':
        return failed('poll-failed', `the ${why.what} of ComfyUI cannot be read (${url})`);
    }
  }
}

function keptEntry(answer: KeptAnswer | undefined, jobId: string): HistoryEntry | undefined {
  if (answer === undefined || answer === 'too-large') return undefined;
  const json = parseObject(Buffer.from(answer).toString());
  const entry = isJsonObject(json) ? historyIn(json, jobId) : undefined;
  return entry === 'absent' ? undefined : entry;
}

/** Returns what became of a submission that ComfyUI neither accepted nor refused in its own words. */
function submissionFailure({ why }: NothingTold<Answer>, url: string): SubmitReply {
  switch (why.kind) {
    case 'too-large':
    case 'unreadable':
      return failed('unanswered', 'the answer to a workflow is too large');
    case 'broken':
      return failed(why.wasSent ? 'unanswered' : 'not-reached', `${why.why} (${url})`);
    case 'answered': {
      const { status, response } = why.answer;
      if (status === 404 || status === 405) {
        const text = `nothing takes workflows at ${url} (${status}); see \`endpoint.baseUrl\``;
        return failed('endpoint-unknown', text);
      }
      if (status < 200 || status > 299) return readSubmitAnswer(response);
      const said = bodyText(response.body) ?? 'an empty body';
      return failed('unanswered', `ComfyUI answered ${status} without a prompt_id: ${said}`);
    }
  }
}

/** What the scene sets, with the seed that a person has asked for instead. */
function setIn({ set, seed }: JsonObject): JsonObject {
  if (!isJsonObject(set) || seed === undefined) return isJsonObject(set) ? set : {};
  return Object.fromEntries(Object.entries(set).map(([key, value]) => [key, isSeed(key) ? seed : value]));
}

/** A picture's seed is the one that the scene has set. */
function accepted(jobId: string, set: JsonObject, canBeFound: boolean): SubmitReply {
  const seed = exactInteger(seedIn(set));
  const kept = seed !== undefined && { kept: { seed } };
  return { kind: 'accepted', jobId, status: 'pending', ...kept, ...(canBeFound && { idempotencyMs }) };
}

function ended(status: string, failure: Failure, times: JobTimes = {}): StatusReply {
  return { kind: 'ended', status, failure, ...times };
}

function failed(kind: FailureKind, text: string): Failed {
  return { kind: 'failure', failure: { kind, text } };
}
