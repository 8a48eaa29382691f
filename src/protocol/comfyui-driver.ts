/** Drives a ComfyUI: submits workflows, looks for their jobs and cancels jobs. Its user sends the requests. */
import type { JsonObject } from '../lib/text/json.ts';
import {
  historyIn,
  isFaultOfWorkflow,
  promptIdIn,
  queueIn,
  refusalIn,
  type HistoryEntry,
} from './comfyui-answers.ts';
import { workflowProblems, type Workflow } from './comfyui-workflow.ts';

/** How a request to ComfyUI is sent, and how time passes. Neither function rejects. */
export interface ComfyuiTransport<Answer extends ComfyuiAnswer> {
  send(request: ComfyuiRequest, signal: AbortSignal): Promise<ComfyuiOutcome<Answer>>;
  /** Resolves after `ms`, or as soon as `signal` aborts. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

export interface ComfyuiRequest {
  /** Path and query, after the address of the ComfyUI. */
  path: string;
  /** JSON of a POST. A request without a body is a GET. */
  body?: string;
}

export interface ComfyuiAnswer {
  status: number;
  /** Undefined if the body is no JSON object. */
  json: JsonObject | undefined;
}

export type ComfyuiOutcome<Answer> =
  | { kind: 'answered'; answer: Answer }
  | { kind: 'too-large' }
  /** `wasSent` is false only if certainly nothing of the request was sent. */
  | { kind: 'broken'; wasSent: boolean; why: string };

/** A request that told nothing of the job: it got no answer, an answer with an error, or an answer that is not ComfyUI's. */
export interface NothingTold<Answer> {
  kind: 'nothing-told';
  path: string;
  why: ComfyuiOutcome<Answer> | { kind: 'unreadable'; what: 'queue' | 'history' };
}

export type ComfyuiJob = { kind: 'running' | 'waiting' | 'absent' } | HistoryEntry;

export type ComfyuiSubmission<Answer> =
  | { kind: 'accepted'; jobId: string }
  /**
   * `isOfWorkflow`: ComfyUI refuses every scene for this reason. `leftRunning`: ComfyUI has accepted a part of the workflow,
   * and this part could not be cancelled.
   */
  | { kind: 'refused'; why: string; isOfWorkflow: boolean; leftRunning?: NothingTold<Answer> }
  | NothingTold<Answer>;

/** Longest of the growing waits for a job to stop. */
const maxStopMs = 2_560;

export class ComfyuiDriver<Answer extends ComfyuiAnswer> {
  readonly #transport: ComfyuiTransport<Answer>;
  readonly #deleted: Set<string>;

  /** `deleted` collects the ids of jobs that were removed from the queue, because ComfyUI keeps no trace of them. */
  constructor(transport: ComfyuiTransport<Answer>, deleted = new Set<string>()) {
    this.#transport = transport;
    this.#deleted = deleted;
  }

  /** Submits a filled workflow under `id`. `set`: the keys of the inputs that the scene sets, as `node.input`. */
  async submit(
    id: string,
    prompt: Workflow,
    set: readonly string[],
    signal: AbortSignal,
  ): Promise<ComfyuiSubmission<Answer>> {
    const body = { prompt, prompt_id: id, client_id: 'nightrender', extra_data: {} };
    const request = { path: '/prompt', body: JSON.stringify(body) };
    this.#deleted.delete(id);
    const outcome = await this.#transport.send(request, signal);
    const nothing = { kind: 'nothing-told', path: request.path, why: outcome } as const;
    if (outcome.kind !== 'answered') return nothing;
    const { status, json } = outcome.answer;
    const why = json && refusalIn(json);
    const jobId = json && isSuccess(status) ? promptIdIn(json) : undefined;
    if (jobId !== undefined && why === undefined) return { kind: 'accepted', jobId };
    if (json === undefined || why === undefined || (jobId === undefined && status !== 400)) return nothing;
    const refused = { kind: 'refused', why, isOfWorkflow: isFaultOfWorkflow(json, set) } as const;
    // ComfyUI runs the part that it accepted, and nobody fetches its pictures.
    const left = jobId === undefined ? undefined : await this.cancel(jobId, signal);
    return left?.kind === 'nothing-told' ? { ...refused, leftRunning: left } : refused;
  }

  /** A job leaves the queue and enters the history at once, so no job is overlooked if the queue is requested first. */
  async look(id: string, signal: AbortSignal): Promise<ComfyuiJob | NothingTold<Answer>> {
    const queue = await this.queue(signal);
    if (queue.kind === 'nothing-told') return queue;
    if (queue.running.includes(id)) return { kind: 'running' };
    if (queue.waiting.includes(id)) return { kind: 'waiting' };
    const path = historyPath(id);
    const told = await this.#ask({ path }, signal);
    if (told.kind === 'nothing-told') return told;
    const entry = historyIn(told.json, id);
    if (entry === undefined)
      return { kind: 'nothing-told', path, why: { kind: 'unreadable', what: 'history' } };
    if (entry !== 'absent') return entry;
    if (!this.#deleted.has(id)) return { kind: 'absent' };
    return { kind: 'interrupted', text: 'it was taken out of the queue', times: {} };
  }

  /**
   * Cancels a job, and never another one, because a stop request names its job. `unknown`: ComfyUI does not
   * know the job.
   */
  async cancel(
    id: string,
    signal: AbortSignal,
  ): Promise<{ kind: 'cancelled' | 'unknown' } | NothingTold<Answer>> {
    let job = await this.look(id, signal);
    if (job.kind === 'waiting') {
      const failed = await this.#tell('/queue', { delete: [id] }, signal);
      // A waiting job may have begun before ComfyUI read the request.
      job = failed ?? (await this.look(id, signal));
      if (job.kind === 'absent') {
        this.#deleted.add(id);
        return { kind: 'cancelled' };
      }
    }
    // ComfyUI stops a job only between two steps, and ignores a request that arrives while the job starts.
    for (let waitMs = 10; job.kind === 'running' && waitMs <= maxStopMs; waitMs *= 2) {
      const failed = await this.#tell('/interrupt', { prompt_id: id }, signal);
      if (failed !== undefined) return failed;
      await this.#transport.pause(waitMs, signal);
      job = await this.look(id, signal);
    }
    if (job.kind === 'nothing-told') return job;
    return { kind: job.kind === 'absent' ? 'unknown' : 'cancelled' };
  }

  /** Returns the ids of the jobs that run and that wait. */
  async queue(
    signal: AbortSignal,
  ): Promise<{ kind: 'queue'; running: string[]; waiting: string[] } | NothingTold<Answer>> {
    const path = '/queue';
    const told = await this.#ask({ path }, signal);
    if (told.kind === 'nothing-told') return told;
    const queue = queueIn(told.json);
    if (queue === undefined)
      return { kind: 'nothing-told', path, why: { kind: 'unreadable', what: 'queue' } };
    return { kind: 'queue', ...queue };
  }

  /** Returns the answer to `GET /system_stats`, which any ComfyUI that works gives. */
  stats(signal: AbortSignal): Promise<Told | NothingTold<Answer>> {
    return this.#ask({ path: '/system_stats' }, signal);
  }

  /**
   * Returns why this ComfyUI would refuse a filled workflow, or make no picture with it. Starts nothing.
   * `node`: the node whose pictures are saved, or undefined for any node.
   */
  async problems(
    filled: Workflow,
    node: string | undefined,
    signal: AbortSignal,
  ): Promise<string[] | NothingTold<Answer>> {
    const told = await this.#ask({ path: '/object_info' }, signal);
    return told.kind === 'told' ? workflowProblems(filled, told.json, node) : told;
  }

  /** Resolves to undefined if ComfyUI has taken the request. The answer to such a request is empty. */
  async #tell(path: string, body: JsonObject, signal: AbortSignal): Promise<NothingTold<Answer> | undefined> {
    const why = await this.#transport.send({ path, body: JSON.stringify(body) }, signal);
    if (why.kind === 'answered' && isSuccess(why.answer.status)) return undefined;
    return { kind: 'nothing-told', path, why };
  }

  async #ask(request: ComfyuiRequest, signal: AbortSignal): Promise<Told | NothingTold<Answer>> {
    const why = await this.#transport.send(request, signal);
    const json = why.kind === 'answered' && isSuccess(why.answer.status) ? why.answer.json : undefined;
    return json === undefined ? { kind: 'nothing-told', path: request.path, why } : { kind: 'told', json };
  }
}

interface Told {
  kind: 'told';
  json: JsonObject;
}

/** Returns the path of the answer that tells how a job ended. */
export function historyPath(jobId: string): string {
  return `/history/${encodeURIComponent(jobId)}`;
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}
