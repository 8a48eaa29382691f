/** Drives a ComfyUI: submits workflows, looks for jobs, cancels them and reads answers. Batches use it by `comfyui-dialect.ts`, workers of the service by `comfyui-workload.ts`. */
import { oneLine } from '../lib/text/format.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import {
  nodeName,
  textOf,
  type Workflow,
  type WorkflowChoice,
  workflowProblems,
} from './comfyui-workflow.ts';
import { isSuccess } from './error-text.ts';
import { mediaIn } from './texts-in-output.ts';

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

type ComfyuiSubmission<Answer> =
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
  readonly #comfyApiKey: string | undefined;

  /**
   * `deleted` collects the ids of jobs that were removed from the queue, because ComfyUI keeps no trace of them.
   * `comfyApiKey` is the key that partner nodes use.
   */
  constructor(transport: ComfyuiTransport<Answer>, deleted = new Set<string>(), comfyApiKey?: string) {
    this.#transport = transport;
    this.#deleted = deleted;
    this.#comfyApiKey = comfyApiKey;
  }

  /**
   * Submits a filled workflow under `id`. `set`: the keys of the inputs that the scene sets, as `node.input`.
   * `cancelling` returns the signal for cancelling an accepted part of a refused workflow; `signal` by default.
   */
  async submit(
    id: string,
    prompt: Workflow,
    set: readonly string[],
    signal: AbortSignal,
    cancelling = (): AbortSignal => signal,
  ): Promise<ComfyuiSubmission<Answer>> {
    const extra = this.#comfyApiKey === undefined ? {} : { api_key_comfy_org: this.#comfyApiKey };
    const body = { prompt, prompt_id: id, client_id: 'nightrender', extra_data: extra };
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
    const left = jobId === undefined ? undefined : await this.cancel(jobId, cancelling());
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

  /** Cancels only this job, because a stop request names its job. `unknown`: ComfyUI does not know it. */
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

  /** Returns why this ComfyUI would refuse a filled workflow or save no picture of `node`. Starts nothing. */
  async problems(
    filled: Workflow,
    choice: WorkflowChoice,
    signal: AbortSignal,
  ): Promise<string[] | NothingTold<Answer>> {
    const told = await this.#ask({ path: '/object_info' }, signal);
    return told.kind === 'told' ? workflowProblems(filled, told.json, choice) : told;
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

/** Returns the id of the job in an answer to `POST /prompt`. */
function promptIdIn(answer: JsonObject): string | undefined {
  const id = answer['prompt_id'];
  return typeof id === 'string' && /^[\w-]{1,128}$/.test(id) ? id : undefined;
}

/** Returns why ComfyUI does not run the workflow, or a part of it. Undefined if it runs all of it. */
export function refusalIn(answer: JsonObject): string | undefined {
  const ofNodes = nodeErrorsIn(answer).map(
    ({ id, error, each }) => `node ${nodeName(id, error)}: ${each.map(errorWords).join('; ') || 'no reason'}`,
  );
  if (ofNodes.length > 0) return oneLine(ofNodes.join('. '));
  const { error } = answer;
  if (error === undefined) return undefined;
  // The message names a node by its title, without its class.
  const info = isJsonObject(error) && isJsonObject(error['extra_info']) ? error['extra_info'] : {};
  const id = textOf(info['node_id']);
  return id === '' ? errorWords(error) : `node ${nodeName(id, info)}: ${errorWords(error)}`;
}

const ofWholeWorkflow = new Set([
  'invalid_prompt',
  'missing_node_type',
  'prompt_no_outputs',
  'no_prompt',
  'invalid_prompt_id',
]);

/** True if ComfyUI refuses something that no scene sets. `set`: the keys that scenes set, as `node.input`. */
export function isFaultOfWorkflow(answer: JsonObject, set: readonly string[]): boolean {
  const isSet = (id: string, input: string): boolean =>
    set.some((key) => (input === '' ? key.startsWith(`${id}.`) : key === `${id}.${input}`));
  const isOfWorkflow = (id: string, error: JsonValue): boolean => {
    const { type, extra_info: info } = isJsonObject(error) ? error : {};
    // A node's own check uses all of its inputs, and ComfyUI reports the error for each of them.
    const hasPlace = isJsonObject(info) && type !== 'custom_validation_failed';
    return !isSet(id, hasPlace ? textOf(info['input_name']) : '');
  };
  const { error } = answer;
  if (isJsonObject(error)) {
    const { type, extra_info: info } = error;
    const id = isJsonObject(info) ? textOf(info['node_id']) : '';
    if (ofWholeWorkflow.has(textOf(type)) || (id !== '' && isOfWorkflow(id, error))) return true;
  }
  return nodeErrorsIn(answer).some(({ id, each }) =>
    each.length === 0 ? !isSet(id, '') : each.some((one) => isOfWorkflow(id, one)),
  );
}

function nodeErrorsIn({
  node_errors: errors,
}: JsonObject): { id: string; error: JsonValue; each: JsonValue[] }[] {
  return Object.entries(isJsonObject(errors) ? errors : {}).map(([id, error]) => {
    return { id, error, each: isJsonObject(error) && Array.isArray(error['errors']) ? error['errors'] : [] };
  });
}

function errorWords(error: JsonValue): string {
  if (!isJsonObject(error)) return oneLine(JSON.stringify(error)) ?? '';
  const [message, details] = [textOf(error['message']), textOf(error['details'])];
  return oneLine(details === '' ? message : `${message} (${details})`) ?? 'no reason';
}

/** Returns the ids in an answer to `GET /queue`; undefined if it is no such answer. */
export function queueIn(answer: JsonObject): { running: string[]; waiting: string[] } | undefined {
  const { queue_running: running, queue_pending: waiting } = answer;
  if (!Array.isArray(running) || !Array.isArray(waiting)) return undefined;
  const idOf = (item: JsonValue): string => (Array.isArray(item) ? textOf(item[1]) : '');
  return { running: running.map(idOf), waiting: waiting.map(idOf) };
}

/** A picture or clip that a node has written, as `GET /view` requests it. */
export interface PlacedFile {
  node: string;
  filename: string;
  subfolder: string;
  /** `temp` for previews, which disappear when ComfyUI ends. */
  type: string;
  /** Undefined for a picture. */
  media?: 'video' | 'audio';
}

type HistoryEntry = { times: { executionTimeMs?: number } } & (
  { kind: 'done'; files: PlacedFile[] } | { kind: 'failed' | 'interrupted'; text: string }
);

/** Reads an answer to `GET /history/{id}`; undefined if it is no such answer. */
export function historyIn(answer: JsonObject, promptId: string): HistoryEntry | 'absent' | undefined {
  const entry = answer[promptId];
  if (!isJsonObject(entry)) return Object.keys(answer).length === 0 ? 'absent' : undefined;
  const status = isJsonObject(entry['status']) ? entry['status'] : {};
  const messages = (Array.isArray(status['messages']) ? status['messages'] : []).flatMap(readMessage);
  const last = messages.at(-1);
  const tookMs = Number(last?.data['timestamp']) - Number(messages[0]?.data['timestamp']);
  const times = tookMs >= 0 ? { executionTimeMs: tookMs } : {};
  if (status['completed'] !== false) return { kind: 'done', files: filesIn(entry['outputs']), times };
  const [id, type] = [last?.data['node_id'], last?.data['node_type']].map(textOf);
  const at = id ? ` at node ${nodeName(id, { class_type: type ?? '' })}` : '';
  if (last?.type === 'execution_interrupted')
    return { kind: 'interrupted', text: `it was interrupted${at}`, times };
  const said = [last?.data['exception_type'], last?.data['exception_message']].map(textOf).join(': ');
  const text = last?.type === 'execution_error' ? `it failed${at}: ${said}` : 'it gave no reason';
  return { kind: 'failed', text: oneLine(text) ?? '', times };
}

function readMessage(message: JsonValue): { type: string; data: JsonObject }[] {
  const [type, data] = Array.isArray(message) ? message : [];
  return typeof type === 'string' && isJsonObject(data) ? [{ type, data }] : [];
}

/** Members of a node's output that list files, with what a file of unknown ending is. SaveVideo uses `images` too. */
const fileLists = {
  images: undefined,
  gifs: 'video',
  video: 'video',
  videos: 'video',
  audio: 'audio',
} as const;

function filesIn(outputs: unknown): PlacedFile[] {
  return Object.entries(isJsonObject(outputs) ? outputs : {}).flatMap(([node, output]) =>
    Object.entries(fileLists).flatMap(([list, usual]) => {
      const files = isJsonObject(output) && Array.isArray(output[list]) ? output[list] : [];
      return files.filter(isJsonObject).map((file) => {
        const [filename, subfolder, type] = [file['filename'], file['subfolder'], file['type']].map(textOf);
        const media = mediaIn((filename ?? '').replaceAll(/\s/g, '_')) ?? usual ?? 'picture';
        return {
          node,
          filename: filename ?? '',
          subfolder: subfolder ?? '',
          type: type ?? '',
          ...(media !== 'picture' && { media }),
        };
      });
    }),
  );
}

/**
 * Returns the files of a job that are saved: pictures, clips with `media`, or both if it is `all`. If `node` is undefined,
 * returns those of all nodes that save, or previews if none does.
 */
export function chosenFiles(
  files: PlacedFile[],
  { node, media }: Pick<WorkflowChoice, 'node'> & { media?: WorkflowChoice['media'] | 'all' },
): PlacedFile[] {
  const isWanted = (file: PlacedFile): boolean =>
    media === 'all' || (media === 'any' ? file.media !== undefined : file.media === media);
  const wanted = files.filter(isWanted);
  if (node !== undefined) return wanted.filter((file) => file.node === node);
  const saved = wanted.filter(({ type }) => type === 'output');
  return saved.length > 0 ? saved : wanted.filter(({ type }) => type === 'temp');
}

export function viewPath({ filename, subfolder, type }: PlacedFile): string {
  return `/view?${new URLSearchParams({ filename, subfolder, type }).toString()}`;
}
