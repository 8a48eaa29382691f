/** Implements `RenderService` over HTTP for any interface. A `Dialect` builds requests and reads answers. */
import type { Endpoint, JobAtService } from '../core/attempt.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import type { FoundPicture, detailsOf } from '../core/picture.ts';
import type { JsonObject } from '../../lib/text/json.ts';
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
  chunksWithoutKey,
  failure,
  keptOutcome,
  type Outcome,
  redirectOf,
  repeatsKey,
  textWithoutKey,
  withoutKey,
} from './exchange.ts';
import {
  HttpRequests,
  isSameOrigin,
  type Request,
  type RequestOptions,
  type TextOutcome,
} from './http-requests.ts';

/** Current base URL of an endpoint, with its key. */
export interface Connection {
  /** http(s) URL without a trailing slash; may have a path. */
  url: string;
  apiKey: string;
  /** Key that ComfyUI passes on to partner nodes. */
  comfyApiKey?: string | undefined;
}

/** An endpoint, with the means to send requests to it during one call. */
export interface Line {
  endpoint: Endpoint;
  at: Connection;
  /** Largest answer that is read, as text: `64 MB`. */
  limit: string;
  signal: AbortSignal;
  ask(request: Request): Promise<TextOutcome>;
  /** Sends a request. Memory for `bodies` answers of its size stays reserved until the pictures are saved. */
  fetch(request: Request, bodies?: number): Promise<Outcome>;
}

export interface Submission {
  input: JsonObject;
  idempotencyKey: string | undefined;
  /** Present if this submission may have been sent before. */
  lost: LostSubmission | undefined;
}

/** A picture at the service itself, which is fetched with its key. */
export interface PictureRequest {
  request: Request;
  /** Description of the picture that begins sentences in messages. */
  name: string;
  /** Failure for a 404. If it is absent, a 404 is treated like any other refusal. */
  gone?: Failure;
  told: ReturnType<typeof detailsOf>;
}

type Completed = StatusReply & { kind: 'completed' };

/** Status of a job whose pictures may still have to be fetched. */
export type ToldStatus =
  | Exclude<StatusReply, Completed>
  | (Omit<Completed, 'pictures' | 'hold'> & { pictures: (FoundPicture | PictureRequest)[] });

/** Interface of one kind of service: builds its requests and reads its answers. */
export interface Dialect {
  submit(line: Line, submission: Submission): Promise<SubmitReply>;
  status(line: Line, job: JobAtService): Promise<ToldStatus>;
  /** Reads an answer to `resultRequest` that an earlier run kept. */
  readKept(line: Line, job: JobAtService, outcome: Outcome): ToldStatus;
  resultRequest(line: Line, job: JobAtService): Request;
  cancel(line: Line, job: JobAtService): Promise<CancelReply>;
  health(line: Line): Promise<HealthReply>;
  /** Returns why the service would refuse an input, without a job. Absent if it cannot be asked. */
  problems?(line: Line, input: JsonObject): Promise<string[] | Failure>;
  isKnownStatus(word: string): boolean;
}

export interface HttpOptions extends RequestOptions {
  dialect: Dialect;
  connectionOf: (endpoint: Endpoint) => Connection;
  /** Called once for each unknown status, up to `maxUnknownStatuses`; some contain the progress. */
  onUnknownStatus?: ((status: string) => void) | undefined;
}

const maxUnknownStatuses = 10;

export class HttpService implements RenderService {
  readonly #options: HttpOptions;
  readonly #dialect: Dialect;
  readonly #http: HttpRequests;
  readonly #unknownStatuses = new Set<string>();

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#dialect = options.dialect;
    this.#http = new HttpRequests(options);
  }

  async submit(
    endpoint: Endpoint,
    input: JsonObject,
    signal: AbortSignal,
    idempotencyKey?: string,
    lost?: LostSubmission,
  ): Promise<SubmitReply> {
    const line = this.#line(endpoint, signal);
    const keys = keysOf(line);
    const reply = await this.#dialect.submit(line, { input, idempotencyKey, lost });
    const named = reply.kind === 'accepted' ? [reply.jobId, ...Object.values(reply.kept ?? {})] : [];
    // A value of the input, such as a seed, may contain the digits of a short key.
    const isFromService = (text: string): boolean => !JSON.stringify(input).includes(text);
    if (named.some((text) => repeatsKey(text, keys) && isFromService(text))) {
      const what = 'the job id, or an address of the job';
      const text = `the service put the key into ${what}, which must not be recorded`;
      return { ...failure('unanswered', text), isEachLost: true };
    }
    return withoutKey(reply, keys);
  }

  async status(
    job: JobAtService,
    signal: AbortSignal,
    onHeldUp?: () => void,
    kept?: KeptAnswer,
  ): Promise<StatusReply> {
    const hold = this.#http.reserve(onHeldUp);
    const line = this.#line(job.endpoint, signal, hold);
    const told =
      kept === undefined
        ? await this.#dialect.status(line, job)
        : this.#dialect.readKept(line, job, await keptOutcome(kept, hold, signal));
    if (told.kind === 'running' || told.kind === 'ended')
      this.#sayUnknown(textWithoutKey(told.status, keysOf(line)));
    const reply = told.kind === 'completed' ? await this.#withPictures(line, told, hold) : told;
    if (reply.kind !== 'completed') hold.release();
    return withoutKey(reply, keysOf(line));
  }

  copyResult(job: JobAtService, write: WriteChunk, signal: AbortSignal): Promise<boolean> {
    const line = this.#line(job.endpoint, signal);
    const request = this.#dialect.resultRequest(line, job);
    return this.#http.copy(request, chunksWithoutKey(write, keysOf(line)), signal);
  }

  /** Cancels a job. The call can safely be repeated. */
  async cancel(job: JobAtService, signal: AbortSignal): Promise<CancelReply> {
    const line = this.#line(job.endpoint, signal);
    return withoutKey(await this.#dialect.cancel(line, job), keysOf(line));
  }

  async health(endpoint: Endpoint, signal: AbortSignal): Promise<HealthReply> {
    const line = this.#line(endpoint, signal);
    return withoutKey(await this.#dialect.health(line), keysOf(line));
  }

  /** Returns why the service would refuse an input, without a job. Empty if it cannot be asked. */
  async problems(endpoint: Endpoint, input: JsonObject, signal: AbortSignal): Promise<string[] | Failure> {
    const line = this.#line(endpoint, signal);
    const problems = (await this.#dialect.problems?.(line, input)) ?? [];
    const clean = (text: string): string => textWithoutKey(text, keysOf(line));
    return Array.isArray(problems) ? problems.map(clean) : { ...problems, text: clean(problems.text) };
  }

  /** Aborts requests in progress. */
  close(): Promise<void> {
    return this.#http.close();
  }

  #line(endpoint: Endpoint, signal: AbortSignal, hold?: Hold): Line {
    return {
      endpoint,
      at: this.#options.connectionOf(endpoint),
      limit: this.#http.limit,
      signal,
      ask: (request) => this.#http.exchangeText(request, signal),
      fetch: (request, bodies) => this.#http.exchange(request, signal, hold, bodies),
    };
  }

  #sayUnknown(status: string): void {
    const said = this.#unknownStatuses;
    // An empty word says nothing, and 202 is the code of an answer without a word.
    if (status === '' || status === '202' || said.has(status) || this.#dialect.isKnownStatus(status)) return;
    if (said.size >= maxUnknownStatuses) return;
    said.add(status);
    this.#options.onUnknownStatus?.(status);
  }

  /**
   * Fetches pictures at the service itself, with its key. After a failure the job is polled again, so that a
   * refused key shows.
   */
  async #withPictures(
    line: Line,
    told: ToldStatus & { kind: 'completed' },
    hold: Hold,
  ): Promise<StatusReply> {
    const { kind, pictures: found, ...done } = told;
    // The answer with the URLs is no longer needed, and fetching the pictures may have to wait for memory.
    if (found.every((picture) => 'url' in picture || 'request' in picture)) hold.release();
    const bodies = found.filter((picture) => 'request' in picture).length;
    const pictures: FoundPicture[] = [];
    for (const picture of found) {
      if (!('request' in picture)) {
        pictures.push(picture);
        continue;
      }
      const fetched = readPicture(await line.fetch(picture.request, bodies), picture, line.limit);
      if (!('kind' in fetched)) pictures.push({ ...fetched, ...picture.told });
      else if (fetched.kind === 'result-too-large') return { kind: 'ended', failure: fetched, ...done };
      else return { kind: 'failure', failure: fetched, done };
    }
    const isHolding = hold.bytes > 0 || pictures.some((picture) => 'url' in picture);
    return { kind, ...done, pictures, ...(isHolding && { hold }) };
  }
}

/** Returns all keys that a service may repeat. */
function keysOf({ at: { apiKey, comfyApiKey = '' } }: Line): string[] {
  return [apiKey, comfyApiKey];
}

/** Returns the bytes of a picture, or the URL at another host to which the service redirects. */
function readPicture(
  outcome: Outcome,
  { request: { url }, name, gone }: PictureRequest,
  limit: string,
): { bytes: Buffer } | { url: string } | Failure {
  const failed = (kind: FailureKind, text: string): Failure => ({ kind, text, isByAddress: true });
  if (outcome.kind === 'broken') return failed('poll-failed', `${outcome.why} (${url})`);
  if (outcome.kind === 'too-large')
    return failed('result-too-large', `${name} is larger than ${limit} (\`limits.body\`)`);
  const { status, bytes } = outcome.answer;
  const target = redirectOf(outcome, url);
  // Redirects within the origin were already followed, up to the limit.
  if (target !== undefined && URL.canParse(target) && !isSameOrigin(target, url)) return { url: target };
  if (status <= 299) return { bytes };
  if (status === 404 && gone !== undefined) return gone;
  const isRefused = status === 401 || status === 403;
  const kind = status >= 500 || status === 429 ? 'poll-failed' : 'download-failed';
  return failed(isRefused ? 'picture-refused' : kind, `${name} was answered ${status}`);
}
