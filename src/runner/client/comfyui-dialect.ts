/** The dialect of ComfyUI: submits one workflow, filled in for each scene, and reads how its job ended. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { JobAtService, JobTimes } from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import { isJsonObject, type JsonObject } from '../../lib/text/json.ts';
import type { CancelReply, HealthReply, StatusReply, SubmitReply } from '../pipeline/ports.ts';
import {
  chosenPictures,
  ComfyuiDriver,
  type ComfyuiJob,
  type ComfyuiRequest,
  type ComfyuiTransport,
  historyIn,
  historyPath,
  type NothingTold,
  type PlacedPicture,
  viewPath,
} from '../../protocol/comfyui-driver.ts';
import { fillWorkflow, isSeed, promptIdOf, seedIn, type Workflow } from '../../protocol/comfyui-workflow.ts';
import { bodyText } from '../../protocol/error-text.ts';
import { exactInteger } from '../../protocol/json-value.ts';
import {
  type Failed,
  failure,
  type HttpResponse,
  type Outcome,
  readRefusal,
  textOf,
  unreadable,
} from './exchange.ts';
import type { Connection, Dialect, Line, PictureRequest, Submission, ToldStatus } from './http-service.ts';
import type { Request } from './http-requests.ts';
import { parseObject } from './parse-body.ts';
import { readRejected } from './read-submit-answers.ts';

export interface ComfyuiPlaces {
  workflow: Workflow;
  /** SHA-256 of the workflow file. The input of a scene has to name the same. */
  workflowSha256: string;
  /** Id of the node whose pictures are saved. Undefined if those of all nodes are saved. */
  node: string | undefined;
}

/** Time for which a job is found by its id. ComfyUI keeps its last 10,000 jobs, until it is restarted. */
const idempotencyMs = 24 * 3_600_000;

/** Time after sending within which a lost submission may still arrive. */
const onTheWayMs = 10_000;

/** `json` is the parsed body. Undefined if the body is not a JSON object. */
type Answer = HttpResponse & { json: JsonObject | undefined };

export class ComfyuiDialect implements Dialect {
  readonly #places: ComfyuiPlaces;
  readonly #deleted = new Set<string>();
  /** Reply to all further submissions, after ComfyUI refused the workflow for a reason that no scene sets. */
  #refusal: SubmitReply | undefined;

  constructor(places: ComfyuiPlaces) {
    this.#places = places;
  }

  /** The input is `{ workflow, set }`. `workflow` is the SHA-256 of the workflow file. */
  async submit(line: Line, { input, idempotencyKey, lost }: Submission): Promise<SubmitReply> {
    const promptId = idempotencyKey === undefined ? randomUUID() : promptIdOf(idempotencyKey);
    const set = setIn(input);
    if (lost !== undefined) return this.#find(line, promptId, set, lost.sentAt);
    if (input['workflow'] !== this.#places.workflowSha256)
      return failure('file-changed', 'the workflow has changed since the list was read; nothing was sent');
    const reply = this.#refusal ?? (await this.#send(line, promptId, set));
    if (reply.kind !== 'accepted' || (idempotencyKey !== undefined && reply.jobId === promptId)) return reply;
    const { idempotencyMs: _, ...unknown } = reply;
    return unknown;
  }

  async status(line: Line, job: JobAtService): Promise<ToldStatus> {
    return this.#read(line, job, await this.#driver(line).look(job.jobId, line.signal));
  }

  readKept(line: Line, job: JobAtService, outcome: Outcome): ToldStatus {
    const json = outcome.kind === 'answered' ? parseObject(textOf(outcome.answer.bytes)) : undefined;
    const entry = isJsonObject(json) ? historyIn(json, job.jobId) : undefined;
    if (entry === undefined || entry === 'absent')
      return failure('poll-failed', 'the kept answer does not say how the job ended');
    return this.#read(line, job, entry);
  }

  resultRequest({ at }: Line, { jobId }: JobAtService): Request {
    return requestOf(at, { path: historyPath(jobId) });
  }

  async cancel(line: Line, { jobId }: JobAtService): Promise<CancelReply> {
    const reply = await this.#driver(line).cancel(jobId, line.signal);
    if (reply.kind === 'nothing-told') return nothingTold(line, reply);
    return reply.kind === 'cancelled'
      ? { kind: 'cancelled' }
      : { kind: 'unsupported', text: 'ComfyUI does not know the job' };
  }

  async health(line: Line): Promise<HealthReply> {
    const stats = await this.#driver(line).stats(line.signal);
    if (stats.kind === 'nothing-told') return nothingTold(line, stats);
    const queue = await this.#driver(line).queue(line.signal);
    const jobs = queue.kind === 'queue' && {
      inProgress: queue.running.length,
      inQueue: queue.waiting.length,
    };
    return { kind: 'answers', ...(jobs && { health: { workers: {}, jobs } }), idempotencyMs };
  }

  /** Returns what ComfyUI lacks to run the workflow with this input. */
  async problems(line: Line, input: JsonObject): Promise<string[] | Failure> {
    const { workflow, node } = this.#places;
    const filled = fillWorkflow(workflow, setIn(input), '');
    const problems = await this.#driver(line).problems(filled, node, line.signal);
    return Array.isArray(problems) ? problems : nothingTold(line, problems).failure;
  }

  /** Returns true, because this dialect makes up the status words itself. */
  isKnownStatus(): boolean {
    return true;
  }

  async #send(line: Line, promptId: string, set: JsonObject): Promise<SubmitReply> {
    const prompt = fillWorkflow(this.#places.workflow, set, `nightrender/${promptId}`);
    const reply = await this.#driver(line).submit(promptId, prompt, Object.keys(set), line.signal);
    switch (reply.kind) {
      case 'accepted':
        return accepted(reply.jobId, set);
      case 'nothing-told':
        return unaccepted(line.at, reply);
      case 'refused': {
        const { why, isOfWorkflow, leftRunning } = reply;
        const refusal = isOfWorkflow
          ? failure(
              'workflow-refused',
              `ComfyUI refused the workflow because of something that no scene sets: ${why}; \`nightrender plan <pipeline> --check\` names all that is wrong`,
            )
          : failure('input-refused', `ComfyUI refused what the scene sets: ${why}`);
        if (isOfWorkflow) this.#refusal = refusal;
        if (leftRunning === undefined) return refusal;
        const left = nothingTold(line, leftRunning).failure;
        const { kind, text } = refusal.failure;
        return failure(kind, `${text}; the rest could not be cancelled and may still run: ${left.text}`);
      }
    }
  }

  async #find(line: Line, jobId: string, set: JsonObject, sentAt: number): Promise<SubmitReply> {
    const job = await this.#driver(line).look(jobId, line.signal);
    if (job.kind === 'nothing-told') return nothingTold(line, job);
    if (job.kind !== 'absent') return accepted(jobId, set);
    if (Date.now() - sentAt < onTheWayMs) return failure('unanswered', 'ComfyUI does not have it yet');
    return { kind: 'not-found', text: 'ComfyUI has it neither in its queue nor in its history' };
  }

  #read(line: Line, job: JobAtService, told: ComfyuiJob | NothingTold<Answer>): ToldStatus {
    switch (told.kind) {
      case 'nothing-told':
        return nothingTold(line, told);
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
        return ended('error', { kind: 'job-failed', text: told.text }, told.times);
      case 'interrupted':
        return ended('interrupted', { kind: 'job-cancelled', text: told.text }, told.times);
      case 'done':
        return this.#collect(line, job, told.pictures, told.times);
    }
  }

  #collect(line: Line, { kept }: JobAtService, all: PlacedPicture[], times: JobTimes): ToldStatus {
    const { node } = this.#places;
    const chosen = chosenPictures(all, node);
    if (chosen.length === 0) {
      const text = `no picture came from ${node === undefined ? 'any node' : `node ${node}`}`;
      return all.length === 0
        ? ended('success', { kind: 'no-output', text }, times)
        : ended('success', { kind: 'picture-not-found', text, isByAddress: true }, times);
    }
    const told = kept?.['seed'] === undefined ? {} : { seed: kept['seed'] };
    const pictures = chosen.map((picture): PictureRequest => {
      const name = `${picture.filename} of node ${picture.node}`;
      const gone: Failure = { kind: 'no-output', text: `${name} no longer exists` };
      return { request: requestOf(line.at, { path: viewPath(picture) }), name, gone, told };
    });
    return { kind: 'completed', status: 'success', pictures, ...times };
  }

  #driver(line: Line): ComfyuiDriver<Answer> {
    const transport: ComfyuiTransport<Answer> = {
      send: async (request) => {
        const outcome = await line.ask(requestOf(line.at, request));
        if (outcome.kind !== 'answered') return outcome;
        const { answer } = outcome;
        const json = parseObject(answer.body) as JsonObject | undefined;
        return { kind: 'answered', answer: { ...answer, json } };
      },
      pause: (ms, signal) => wait(ms, undefined, { signal }).catch(() => undefined),
    };
    return new ComfyuiDriver(transport, this.#deleted);
  }
}

/** Returns the HTTP request with the key. ComfyUI has no keys, but a proxy before it may need one. */
function requestOf({ url, apiKey }: Connection, { path, body }: ComfyuiRequest): Request {
  const headers: Record<string, string> = apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` };
  return { method: body === undefined ? 'GET' : 'POST', url: url + path, headers, ...(body && { body }) };
}

function nothingTold({ at: { url }, limit }: Line, { path, why }: NothingTold<Answer>): Failed {
  switch (why.kind) {
    case 'too-large':
      return failure('poll-failed', `the answer is larger than ${limit} (${url}${path})`);
    case 'broken':
      return failure('poll-failed', `${why.why} (${url}${path})`);
    case 'unreadable':
      return failure('poll-failed', `the ${why.what} of ComfyUI cannot be read (${url})`);
    case 'answered':
      return { kind: 'failure', failure: readRefusal(why.answer) ?? unreadable(why.answer, path) };
  }
}

/** Reads an answer to a submission that neither names a job nor says what is wrong with the workflow. */
function unaccepted({ url }: Connection, { why }: NothingTold<Answer>): SubmitReply {
  switch (why.kind) {
    case 'unreadable':
    case 'too-large':
      return failure('unanswered', 'the answer to a workflow is too large');
    case 'broken':
      return failure(why.wasSent ? 'unanswered' : 'not-reached', `${why.why} (${url})`);
    case 'answered': {
      const { status, body } = why.answer;
      if (status === 404 || status === 405)
        return failure(
          'endpoint-unknown',
          `there is no ComfyUI at ${url} (${status}); see \`endpoint.baseUrl\``,
        );
      if (status < 200 || status > 299) return { kind: 'failure', failure: readRejected(why.answer) };
      const said = bodyText(body) ?? 'an empty body';
      return failure('unanswered', `ComfyUI answered ${status} without a prompt_id: ${said}`);
    }
  }
}

/** Returns the values that the scene sets. A seed that the user has asked for replaces the scene's own. */
function setIn({ set, seed }: JsonObject): JsonObject {
  if (!isJsonObject(set) || seed === undefined) return isJsonObject(set) ? set : {};
  return Object.fromEntries(Object.entries(set).map(([key, value]) => [key, isSeed(key) ? seed : value]));
}

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

function ended(status: string, why: Failure, times: JobTimes): StatusReply & { kind: 'ended' } {
  return { kind: 'ended', status, failure: why, ...times };
}
