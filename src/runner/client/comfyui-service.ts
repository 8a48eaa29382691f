/** ComfyUI over HTTP: implements the road's `RenderService` port with one workflow, which each scene fills in its own way. */
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
  type ComfyuiRequest,
  type ComfyuiTransport,
  type NothingTold,
} from '../../protocol/comfyui-driver.ts';
import { fillWorkflow, isSeed, promptIdOf, seedIn, type Workflow } from '../../protocol/comfyui-workflow.ts';
import { bodyText } from '../../protocol/error-text.ts';
import { exactInteger } from '../../protocol/json-value.ts';
import type { HttpResponse, Outcome } from './exchange.ts';
import type { Connection } from './http-service.ts';
import { HttpRequests, type Request, type RequestOptions } from './http-requests.ts';
import { parseObject } from './parse-body.ts';
import { readRejected } from './read-submit-answers.ts';
import { readRefusal, unreadable } from './read-refusal.ts';
import { chunksWithoutKey, textWithoutKey } from './without-key.ts';

export interface ComfyuiOptions extends RequestOptions {
  /** The key is of a proxy before ComfyUI, which has no keys. */
  connectionOf: (endpoint: Endpoint) => Connection;
  workflow: Workflow;
  /** Sha256 of the workflow's file, as the inputs of its scenes name it. */
  workflowSha256: string;
  /** Node whose pictures are saved; undefined for all nodes that save. */
  node: string | undefined;
}

/** ComfyUI knows a job until it ends itself, and remembers the last 10,000 jobs. */
const idempotencyMs = 24 * 3_600_000;

/** A request may still arrive this long after its sender has given up. */
const onTheWayMs = 10_000;

/** `json` is the body, if that is a JSON object. */
type Answer = HttpResponse & { json: JsonObject | undefined };

type Failed = { kind: 'failure'; failure: Failure };

export class ComfyuiService implements RenderService {
  readonly #options: ComfyuiOptions;
  readonly #requests: HttpRequests;
  readonly #deleted = new Set<string>();
  /** The first submission is sent alone: if the workflow is wrong for all scenes, one answer tells. */
  #first: Promise<unknown> | undefined;
  /** Reply to a workflow that is wrong for all scenes. */
  #refusal: SubmitReply | undefined;

  constructor(options: ComfyuiOptions) {
    this.#options = options;
    this.#requests = new HttpRequests(options);
  }

  /** `input` is `{ workflow, set }`, where `workflow` is the sha256 of the workflow's file. */
  async submit(
    endpoint: Endpoint,
    input: JsonObject,
    signal: AbortSignal,
    idempotencyKey?: string,
    lost?: LostSubmission,
  ): Promise<SubmitReply> {
    const promptId = idempotencyKey === undefined ? randomUUID() : promptIdOf(idempotencyKey);
    const set = setIn(input);
    if (lost !== undefined) return this.#find(endpoint, promptId, set, lost.sentAt, signal);
    if (input['workflow'] !== this.#options.workflowSha256)
      return failed('file-changed', 'the workflow is another than when the list was read: nothing was sent');
    const send = async (): Promise<SubmitReply> => {
      const reply = this.#refusal ?? (await this.#send(endpoint, promptId, set, signal));
      if (reply.kind !== 'accepted' || (idempotencyKey !== undefined && reply.jobId === promptId))
        return reply;
      const { idempotencyMs: _, ...unknown } = reply;
      return unknown;
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
        return this.#failure(at, job);
      case 'waiting':
        return { kind: 'running', status: 'pending', isExecuting: false };
      case 'running':
        return { kind: 'running', status: 'running', isExecuting: true };
      case 'absent':
        return {
          kind: 'missing',
          text: 'ComfyUI does not know the job: it was restarted, or has forgotten it',
        };
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
    const at = this.#options.connectionOf(endpoint);
    const request = requestOf(at, { path: historyPath(jobId) });
    return this.#requests.copy(request, chunksWithoutKey(write, at.apiKey), signal);
  }

  async cancel({ endpoint, jobId }: JobAtService, signal: AbortSignal): Promise<CancelReply> {
    const at = this.#options.connectionOf(endpoint);
    const reply = await this.#driver(at).cancel(jobId, signal);
    if (reply.kind === 'nothing-told') return this.#failure(at, reply);
    return reply.kind === 'cancelled'
      ? { kind: 'cancelled' }
      : { kind: 'unsupported', text: 'ComfyUI does not know the job' };
  }

  async health(endpoint: Endpoint, signal: AbortSignal): Promise<HealthReply> {
    const at = this.#options.connectionOf(endpoint);
    const stats = await this.#driver(at).stats(signal);
    if (stats.kind === 'nothing-told') return this.#failure(at, stats);
    const queue = await this.#driver(at).queue(signal);
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
    return Array.isArray(problems) ? problems : this.#failure(at, problems).failure;
  }

  /** Cuts requests in progress. */
  close(): Promise<void> {
    return this.#requests.close();
  }

  async #send(
    endpoint: Endpoint,
    promptId: string,
    set: JsonObject,
    signal: AbortSignal,
  ): Promise<SubmitReply> {
    const at = this.#options.connectionOf(endpoint);
    const prompt = fillWorkflow(this.#options.workflow, set, `nightrender/${promptId}`);
    const reply = await this.#driver(at).submit(promptId, prompt, Object.keys(set), signal);
    switch (reply.kind) {
      case 'accepted':
        return accepted(reply.jobId, set);
      case 'nothing-told':
        return unaccepted(at, reply);
      case 'refused': {
        const { why, isOfWorkflow, leftRunning } = reply;
        const refusal = isOfWorkflow
          ? failed(
              'workflow-refused',
              `ComfyUI refused the workflow because of something that no scene sets: ${why}; \`nightrender plan <pipeline> --check\` names all that is wrong`,
            )
          : failed('input-refused', `ComfyUI refused what the scene sets: ${why}`);
        if (isOfWorkflow) this.#refusal = refusal;
        if (leftRunning === undefined) return refusal;
        const { failure } = this.#failure(at, leftRunning);
        const { kind, text } = refusal.failure;
        return failed(kind, `${text}; the rest may still run, as it could not be cancelled: ${failure.text}`);
      }
    }
  }

  async #find(
    endpoint: Endpoint,
    jobId: string,
    set: JsonObject,
    sentAt: number,
    signal: AbortSignal,
  ): Promise<SubmitReply> {
    const at = this.#options.connectionOf(endpoint);
    const job = await this.#driver(at).look(jobId, signal);
    if (job.kind === 'nothing-told') return this.#failure(at, job);
    if (job.kind !== 'absent') return accepted(jobId, set);
    if (Date.now() - sentAt < onTheWayMs) return failed('unanswered', 'ComfyUI does not have it yet');
    return { kind: 'not-found', text: 'ComfyUI has it neither in its queue nor in its history' };
  }

  /** Returns the bytes of the pictures, or why they did not come and whether this is final. */
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
      // Memory for all pictures is reserved before the first one, as if each were as large.
      const room = hold.bytes === 0 ? hold : undefined;
      const send = (path: string): Promise<Outcome> =>
        this.#requests.exchange(requestOf(at, { path }), signal, room, pictures.length - i);
      const reply = await fetchPicture(picture, send);
      const name = `${picture.filename} of node ${picture.node}`;
      if (reply.kind === 'gone') return failing('no-output', `${name} is not there any more`);
      if (reply.kind === 'fetched') {
        fetched.push(reply.bytes);
        continue;
      }
      const { why } = reply;
      if (why.kind === 'too-large')
        return failing(
          'result-too-large',
          `${name} is larger than ${this.#requests.limit} (\`limits.body\`)`,
          true,
        );
      const said = why.kind === 'broken' ? why.why : `${name} was answered ${why.answer.status}`;
      return failing('poll-failed', `${said} (${at.url})`);
    }
    return fetched;
  }

  #driver(at: Connection): ComfyuiDriver<Answer> {
    const transport: ComfyuiTransport<Answer> = {
      send: async (request, signal) => {
        const outcome = await this.#requests.exchangeText(requestOf(at, request), signal);
        if (outcome.kind !== 'answered') return outcome;
        const { answer } = outcome;
        const clean = (text = ''): string => textWithoutKey(text, at.apiKey);
        const body = clean(answer.body);
        const headers = { ...answer.headers, location: clean(answer.headers.location) };
        const json = parseObject(body) as JsonObject | undefined;
        return { kind: 'answered', answer: { ...answer, headers, body, json } };
      },
      pause: (ms, signal) => wait(ms, undefined, { signal }).catch(() => undefined),
    };
    return new ComfyuiDriver(transport, this.#deleted);
  }

  #failure({ url }: Connection, { path, why }: NothingTold<Answer>): Failed {
    switch (why.kind) {
      case 'too-large':
        return failed('poll-failed', `the answer is larger than ${this.#requests.limit} (${url}${path})`);
      case 'broken':
        return failed('poll-failed', `${why.why} (${url}${path})`);
      case 'unreadable':
        return failed('poll-failed', `the ${why.what} of ComfyUI cannot be read (${url})`);
      case 'answered':
        return { kind: 'failure', failure: readRefusal(why.answer) ?? unreadable(why.answer, path) };
    }
  }
}

function requestOf({ url, apiKey }: Connection, { path, body }: ComfyuiRequest): Request {
  const headers = authorization(apiKey);
  return { method: body === undefined ? 'GET' : 'POST', url: url + path, headers, ...(body && { body }) };
}

function authorization(apiKey: string): Record<string, string> {
  return apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` };
}

function keptEntry(answer: KeptAnswer | undefined, jobId: string): HistoryEntry | undefined {
  if (answer === undefined || answer === 'too-large') return undefined;
  const json = parseObject(Buffer.from(answer).toString());
  const entry = isJsonObject(json) ? historyIn(json, jobId) : undefined;
  return entry === 'absent' ? undefined : entry;
}

/** Reads an answer to a submission that neither names a job nor says what is wrong with the workflow. */
function unaccepted({ url }: Connection, { why }: NothingTold<Answer>): SubmitReply {
  switch (why.kind) {
    case 'unreadable':
    case 'too-large':
      return failed('unanswered', 'the answer to a workflow is too large');
    case 'broken':
      return failed(why.wasSent ? 'unanswered' : 'not-reached', `${why.why} (${url})`);
    case 'answered': {
      const { status, body } = why.answer;
      if (status === 404 || status === 405)
        return failed(
          'endpoint-unknown',
          `nothing takes workflows at ${url} (${status}); see \`endpoint.baseUrl\``,
        );
      if (status < 200 || status > 299) return { kind: 'failure', failure: readRejected(why.answer) };
      const said = bodyText(body) ?? 'an empty body';
      return failed('unanswered', `ComfyUI answered ${status} without a prompt_id: ${said}`);
    }
  }
}

/** Returns what the scene sets, with the seed that a person has asked for instead of the scene's own. */
function setIn({ set, seed }: JsonObject): JsonObject {
  if (!isJsonObject(set) || seed === undefined) return isJsonObject(set) ? set : {};
  return Object.fromEntries(Object.entries(set).map(([key, value]) => [key, isSeed(key) ? seed : value]));
}

/** The seed of a picture is the one that its scene sets. */
function accepted(jobId: string, set: JsonObject): SubmitReply & { kind: 'accepted' } {
  const seed = exactInteger(seedIn(set));
  return {
    kind: 'accepted',
    jobId,
    status: 'pending',
    ...(seed !== undefined && { kept: { seed } }),
    idempotencyMs,
  };
}

function ended(status: string, failure: Failure, times: JobTimes = {}): StatusReply {
  return { kind: 'ended', status, failure, ...times };
}

function failed(kind: FailureKind, text: string): Failed {
  return { kind: 'failure', failure: { kind, text } };
}
