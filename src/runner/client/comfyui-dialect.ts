/** Renders a batch on a ComfyUI, by `comfyui-driver.ts`: uploads files, submits the workflow filled in for each scene, and reads how its job ended. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { JobAtService, JobTimes } from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import { filesIn, type SentFile, withFiles } from '../core/file-text.ts';
import { isJsonObject, type JsonObject } from '../../lib/text/json.ts';
import type { CancelReply, HealthReply, StatusReply, SubmitReply } from '../pipeline/ports.ts';
import {
  chosenFiles,
  ComfyuiDriver,
  type ComfyuiJob,
  type ComfyuiRequest,
  type ComfyuiTransport,
  historyIn,
  historyPath,
  type NothingTold,
  type PlacedFile,
  viewPath,
} from '../../protocol/comfyui-driver.ts';
import {
  fillWorkflow,
  isSeed,
  promptIdOf,
  seedIn,
  type Workflow,
  type WorkflowChoice,
} from '../../protocol/comfyui-workflow.ts';
import { bodyText, isSuccess } from '../../protocol/error-text.ts';
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
import type { SendingFiles } from './sending-files.ts';

export interface ComfyuiPlaces {
  workflow: Workflow;
  /** SHA-256 of the workflow file. The input of a scene has to name the same. */
  workflowSha256: string;
  /** Id of the node whose pictures are saved. Undefined if those of all nodes are saved. */
  node: string | undefined;
  /** `output.media`: `video`, `audio` or the id of the node whose clips are saved in place of pictures. */
  media?: string | undefined;
  /** Reads files to upload. Undefined if nothing is submitted. */
  files: SendingFiles | undefined;
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
  /** Names of uploaded files at a ComfyUI, by its address and the name that was asked for. */
  readonly #uploads = new Map<string, Promise<string | Failed>>();
  /** True once ComfyUI has accepted a workflow with an uploaded file, so that later refusals concern single files. */
  #hasUsedUploads = false;
  /** Reply to all further submissions, after ComfyUI refused the workflow for a reason that no scene sets. */
  #refusal: SubmitReply | undefined;

  constructor(places: ComfyuiPlaces) {
    this.#places = places;
  }

  /** The input is `{ workflow, set }`. `workflow` is the SHA-256 of the workflow file. */
  async submit(line: Line, { input, idempotencyKey, lost }: Submission): Promise<SubmitReply> {
    const promptId = idempotencyKey === undefined ? randomUUID() : promptIdOf(idempotencyKey);
    const set = setIn(input);
    // After an upload, the workflow is sent much later than the attempt was recorded.
    if (lost !== undefined)
      return this.#find(line, promptId, set, filesIn(set, 'upload').length > 0 ? lost.sentBy : lost.sentAt);
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
    const { workflow } = this.#places;
    const set = withFiles(setIn(input), ({ path }) => path, 'upload');
    const filled = fillWorkflow(workflow, set, '');
    const problems = await this.#driver(line).problems(filled, choiceOf(this.#places), line.signal);
    return Array.isArray(problems) ? problems : nothingTold(line, problems).failure;
  }

  /** Returns true, because this dialect makes up the status words itself. */
  isKnownStatus(): boolean {
    return true;
  }

  async #send(line: Line, promptId: string, set: JsonObject, isAgain = false): Promise<SubmitReply> {
    const uploaded = await this.#upload(line, set);
    if ('kind' in uploaded) return uploaded;
    const refused = uploaded.names.size > 0 ? this.#places.files?.refusal() : undefined;
    if (refused !== undefined) return refused;
    const prompt = fillWorkflow(this.#places.workflow, uploaded.set, `nightrender/${promptId}`);
    const reply = await this.#driver(line).submit(promptId, prompt, Object.keys(set), line.signal);
    switch (reply.kind) {
      case 'accepted':
        this.#hasUsedUploads ||= uploaded.names.size > 0;
        return accepted(reply.jobId, set);
      case 'nothing-told':
        return unaccepted(line.at, reply);
      case 'refused': {
        const { why, isOfWorkflow, leftRunning } = reply;
        const isOfFile = [...uploaded.names.values()].some((name) => why.includes(name));
        if (isOfFile && !isAgain && leftRunning === undefined) {
          // Somebody has emptied its input folder.
          for (const key of uploaded.names.keys()) this.#uploads.delete(key);
          return this.#send(line, promptId, set, true);
        }
        const isForAll = isOfWorkflow || (isOfFile && !this.#hasUsedUploads);
        const refusal = isForAll
          ? failure('workflow-refused', isOfFile ? notFound(why) : wrongWorkflow(why))
          : failure('input-refused', `ComfyUI refused what the scene sets: ${why}`);
        if (isForAll) this.#refusal = refusal;
        if (leftRunning === undefined) return refusal;
        const left = nothingTold(line, leftRunning).failure;
        const { kind, text } = refusal.failure;
        return failure(kind, `${text}; the rest could not be cancelled and may still run: ${left.text}`);
      }
    }
  }

  /** Returns the values to set, with uploaded files as ComfyUI calls them, and these names by the key of their upload. */
  async #upload(
    line: Line,
    set: JsonObject,
  ): Promise<{ set: JsonObject; names: Map<string, string> } | Failed> {
    const names = new Map<string, string>();
    const keyOf = (file: SentFile): string => `${line.at.url}/${uploadName(file)}`;
    for (const file of filesIn(set, 'upload')) {
      const name = await this.#nameOf(line, file, keyOf(file));
      if (typeof name !== 'string') return name;
      names.set(keyOf(file), name);
    }
    return { set: withFiles(set, (file) => names.get(keyOf(file)) ?? '', 'upload'), names };
  }

  /** Uploads the file unless it was uploaded in this run, or is being uploaded for another scene. */
  async #nameOf(line: Line, file: SentFile, key: string): Promise<string | Failed> {
    for (let known = this.#uploads.get(key); known !== undefined; known = this.#uploads.get(key)) {
      const name = await known;
      // Another scene may have the same picture under a path that has changed.
      if (typeof name === 'string' || name.failure.kind !== 'file-changed') return name;
    }
    const { files } = this.#places;
    if (files === undefined) throw new Error('files are uploaded only by a run');
    if (this.#uploads.size >= maxKnownUploads) this.#uploads.clear();
    const uploading = files.whileRead(file, line.signal, (content) => uploadTo(line, file, content));
    this.#uploads.set(key, uploading);
    const name = await uploading;
    if (typeof name !== 'string' && this.#uploads.get(key) === uploading) this.#uploads.delete(key);
    return name;
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
        return this.#collect(line, job, told.files, told.times);
    }
  }

  #collect(line: Line, { kept }: JobAtService, all: PlacedFile[], times: JobTimes): ToldStatus {
    const choice = choiceOf(this.#places);
    const { node, media } = choice;
    const chosen = chosenFiles(all, choice);
    if (chosen.length === 0) {
      const what = media === undefined ? 'picture' : 'clip';
      const other = media === undefined ? all.find((file) => file.media !== undefined) : undefined;
      const advice =
        other && `; node ${other.node} saved a clip: set \`output.media: ${other.media}\` to save it`;
      const text = `no ${what} came from ${node === undefined ? 'any node' : `node ${node}`}${advice ?? ''}`;
      const missing: Failure = { kind: 'picture-not-found', text, isByAddress: true };
      return all.length === 0
        ? ended('success', { kind: 'no-output', text }, times)
        : ended('success', { ...missing, ...(other && { isOtherMedia: true }) }, times);
    }
    const told: PictureRequest['told'] = {
      ...(kept?.['seed'] !== undefined && { seed: kept['seed'] }),
      ...(media !== undefined && { isClip: true }),
    };
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
    return new ComfyuiDriver(transport, this.#deleted, line.at.comfyApiKey);
  }
}

/** Returns which files are saved. `output.media` may name a node, as `output.image` does. */
function choiceOf({ node, media }: ComfyuiPlaces): WorkflowChoice {
  if (media === undefined) return { node };
  return media === 'video' || media === 'audio' ? { media } : { node: media, media: 'any' };
}

/** Returns the HTTP request with the key. ComfyUI has no keys, but a proxy before it may need one. */
function requestOf({ url, apiKey }: Connection, { path, body }: ComfyuiRequest): Request {
  const headers: Record<string, string> = apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` };
  return { method: body === undefined ? 'GET' : 'POST', url: url + path, headers, ...(body && { body }) };
}

function wrongWorkflow(why: string): string {
  return `ComfyUI refused the workflow because of something that no scene sets: ${why}; \`nightrender plan <pipeline> --check\` names all that is wrong`;
}

function notFound(why: string): string {
  return `ComfyUI has taken a file twice and refuses it all the same: ${why}. Perhaps \`endpoint.baseUrl\` leads to several boxes, or this node takes no files of subfolders`;
}

const maxKnownUploads = 10_000;

/** Returns the name under which a file is uploaded, without its folder. Some nodes look at the ending. */
function uploadName({ path, sha256 }: SentFile): string {
  const [ending = ''] = /\.[A-Za-z0-9]{1,8}$/.exec(path) ?? [];
  return sha256 + ending.toLowerCase();
}

/**
 * Uploads a file into the input folder. Returns its name as `LoadImage` takes it. ComfyUI keeps a file of the
 * same name and content, so the request may be repeated; it gives another file of that name another name.
 */
async function uploadTo({ at, limit, ask }: Line, file: SentFile, content: Buffer): Promise<string | Failed> {
  const path = '/upload/image';
  const boundary = `nightrender-${randomUUID()}`;
  const part = (about: string, value: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; ${about}\r\n\r\n${value}`;
  const first = `${part('name="type"', 'input\r\n')}${part('name="subfolder"', 'nightrender\r\n')}`;
  const image = part(`name="image"; filename="${uploadName(file)}"`, '');
  const bytes = Buffer.concat([Buffer.from(first + image), content, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  const form = { type: `multipart/form-data; boundary=${boundary}`, bytes };
  const outcome = await ask({ ...requestOf(at, { path }), method: 'POST', form });
  const failed = (kind: Failure['kind'], why: string): Failed =>
    failure(kind, `${JSON.stringify(file.path)} could not be uploaded, and no job was sent: ${why}`);
  if (outcome.kind === 'broken') return failed('not-reached', `${outcome.why} (${at.url}${path})`);
  if (outcome.kind === 'too-large')
    return failed('not-reached', `the answer is larger than ${limit} (${at.url}${path})`);
  const { answer } = outcome;
  if (answer.status === 404 || answer.status === 405) return noComfyui(at, answer.status);
  if (answer.status === 413)
    return failed(
      'input-refused',
      'it is larger than ComfyUI or a proxy before it accepts (413); raise `--max-upload-size` of ComfyUI, or the limit of the proxy, such as `client_max_body_size` of nginx',
    );
  if (!isSuccess(answer.status)) {
    const { kind, text, ...rest } = readRejected(answer);
    const refused = failed(kind === 'unanswered' ? 'not-reached' : kind, text);
    return { ...refused, failure: { ...refused.failure, ...rest } };
  }
  const { name, subfolder, type } = parseObject(answer.body) ?? {};
  if (typeof name !== 'string' || !/^[^\p{C}]{1,255}$/u.test(name))
    return failed(
      'not-reached',
      `ComfyUI answered ${answer.status} without a name: ${bodyText(answer.body) ?? 'an empty body'}`,
    );
  const folder = typeof subfolder === 'string' && subfolder !== '' ? `${subfolder}/` : '';
  return `${folder}${name}${type === 'temp' || type === 'output' ? ` [${type}]` : ''}`;
}

function noComfyui({ url }: Connection, status: number): Failed {
  return failure('endpoint-unknown', `there is no ComfyUI at ${url} (${status}); see \`endpoint.baseUrl\``);
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
function unaccepted(at: Connection, { why }: NothingTold<Answer>): SubmitReply {
  switch (why.kind) {
    case 'unreadable':
    case 'too-large':
      return failure('unanswered', 'the answer to a workflow is too large');
    case 'broken':
      return failure(why.wasSent ? 'unanswered' : 'not-reached', `${why.why} (${at.url})`);
    case 'answered': {
      const { status, body } = why.answer;
      if (status === 404 || status === 405) return noComfyui(at, status);
      if (!isSuccess(status)) return { kind: 'failure', failure: readRejected(why.answer) };
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
