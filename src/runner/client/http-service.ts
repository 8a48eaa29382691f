/** Implements `RenderService` over HTTP for any interface. A `Dialect` builds requests and reads answers. The key is removed from every reply. */
import type { Endpoint, JobAtService } from '../core/attempt.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import type { FoundPicture, detailsOf, PictureOutput } from '../core/picture.ts';
import { type JsonObject, isJsonObject } from '../../lib/text/json.ts';
import type {
  CancelReply,
  HealthReply,
  MemoryShare,
  KeptAnswer,
  LostSubmission,
  RenderService,
  StatusReply,
  SubmitReply,
  WriteChunk,
} from '../pipeline/ports.ts';
import { failure, type Outcome, readRetryAfter, redirectOf, tooLargeText } from './exchange.ts';
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
  | (Omit<Completed, 'pictures' | 'share'> & { pictures: (FoundPicture | PictureRequest)[] });

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
    onMemoryWait?: () => void,
    kept?: KeptAnswer,
  ): Promise<StatusReply> {
    const share = this.#http.reserve(onMemoryWait);
    const line = this.#line(job.endpoint, signal, share);
    const told =
      kept === undefined
        ? await this.#dialect.status(line, job)
        : this.#dialect.readKept(line, job, await keptOutcome(kept, share, signal));
    if (told.kind === 'running' || told.kind === 'ended')
      this.#sayUnknown(textWithoutKey(told.status, keysOf(line)));
    const reply = told.kind === 'completed' ? await this.#withPictures(line, job, told, share) : told;
    if (reply.kind !== 'completed') share.release();
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

  #line(endpoint: Endpoint, signal: AbortSignal, share?: MemoryShare): Line {
    return {
      endpoint,
      at: this.#options.connectionOf(endpoint),
      limit: this.#http.limit,
      signal,
      ask: (request) => this.#http.exchangeText(request, signal),
      fetch: (request, bodies) => this.#http.exchange(request, signal, share, bodies),
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
    job: JobAtService,
    told: ToldStatus & { kind: 'completed' },
    share: MemoryShare,
  ): Promise<StatusReply> {
    const { kind, pictures: found, ...done } = told;
    // The answer with the URLs is no longer needed, and fetching the pictures may have to wait for memory.
    if (found.every((picture) => 'url' in picture || 'request' in picture)) share.release();
    const { maxBytes: maxClipBytes = 0 } = this.#options.received ?? {};
    const bodies = found.filter((picture) => 'request' in picture && picture.told.isClip !== true).length;
    const pictures: FoundPicture[] = [];
    for (const [nth, picture] of found.entries()) {
      if (!('request' in picture)) {
        pictures.push(picture);
        continue;
      }
      const sent =
        picture.told.isClip === true
          ? await this.#http.receive(picture.request, { job, nth }, line.signal)
          : await line.fetch(picture.request, bodies);
      const fetched = 'received' in sent ? sent : readPicture(sent, picture, line.limit, maxClipBytes);
      if ('bytes' in fetched) pictures.push({ ...fetched, ...picture.told, isDownloaded: true });
      else if (!('kind' in fetched)) pictures.push({ ...fetched, ...picture.told });
      else if (isTooLarge(fetched)) return { kind: 'ended', failure: fetched, ...done };
      else return { kind: 'failure', failure: fetched, done };
    }
    const hasShare = share.bytes > 0 || pictures.some((picture) => 'url' in picture);
    return { kind, ...done, pictures, ...(hasShare && { share }) };
  }
}

/** Returns the outcome for an answer that an earlier run kept, once memory is reserved for it. */
async function keptOutcome(kept: KeptAnswer, share: MemoryShare, signal: AbortSignal): Promise<Outcome> {
  if (kept === 'too-large') return { kind: 'too-large' };
  if (!share.tryGrow(kept.length)) await share.retake(kept.length, signal);
  const bytes = Buffer.from(kept.buffer, kept.byteOffset, kept.length);
  return { kind: 'answered', answer: { status: 200, headers: {}, bytes } };
}

/** Returns all keys that a service may repeat. */
function keysOf({ at: { apiKey, comfyApiKey = '' } }: Line): string[] {
  return [apiKey, comfyApiKey];
}

function isTooLarge({ kind }: Failure): boolean {
  return kind === 'result-too-large' || kind === 'clip-too-large';
}

/** Returns the bytes of a picture, or the URL at another host to which the service redirects. */
function readPicture(
  outcome: Outcome,
  { request: { url }, name, gone, told: { isClip } }: PictureRequest,
  limit: string,
  maxClipBytes: number,
): { bytes: Buffer } | { url: string } | Failure {
  const failed = (kind: FailureKind, text: string): Failure => ({ kind, text, isByAddress: true });
  if (outcome.kind === 'broken') return failed('download-failed', `${outcome.why} (${url})`);
  if (outcome.kind === 'too-large' && isClip === true)
    return failed('clip-too-large', tooLargeText(name, outcome, maxClipBytes, 'download'));
  if (outcome.kind === 'too-large')
    return failed('result-too-large', `${name} is larger than ${limit} (\`limits.body\`)`);
  const { status, bytes, headers } = outcome.answer;
  const target = redirectOf(outcome, url);
  // Redirects within the origin were already followed, up to the limit.
  if (target !== undefined && URL.canParse(target) && !isSameOrigin(target, url)) return { url: target };
  if (status <= 299) return bytes.length > 0 ? { bytes } : failed('download-failed', `${name} came empty`);
  if (status === 404 && gone !== undefined) return { ...gone, isGone: true };
  const isRefused = status === 401 || status === 403;
  const retryAfterMs = readRetryAfter(headers);
  return {
    ...failed(isRefused ? 'picture-refused' : 'download-failed', `${name} was answered ${status}`),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...((status === 404 || status === 410) && { isGone: true }),
  };
}

/** One key, or several. */
type Keys = string | readonly string[];

/** Returns the reply with the key removed from its texts. The bytes of pictures stay unchanged. */
export function withoutKey<Reply extends SubmitReply | StatusReply | CancelReply | HealthReply>(
  reply: Reply,
  key: Keys,
): Reply {
  return {
    ...reply,
    ...('text' in reply && { text: textWithoutKey(reply.text, key) }),
    ...('status' in reply && { status: textWithoutKey(reply.status, key) }),
    ...('failure' in reply && {
      failure: { ...reply.failure, text: textWithoutKey(reply.failure.text, key) },
    }),
    ...('pictures' in reply && {
      pictures: reply.pictures.map((picture) => ({
        ...picture,
        ...('url' in picture && { url: textWithoutKey(picture.url, key) }),
        ...(picture.output && { output: valueWithoutKey(picture.output, key) as PictureOutput }),
      })),
    }),
  };
}

function valueWithoutKey(value: unknown, key: Keys): unknown {
  if (typeof value === 'string') return textWithoutKey(value, key);
  if (Array.isArray(value)) return value.map((item) => valueWithoutKey(item, key));
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([name, inner]) => [
    textWithoutKey(name, key),
    valueWithoutKey(inner, key),
  ]);
  return Object.fromEntries(entries) as unknown;
}

function repeatsKey(text: string, key: Keys): boolean {
  return textWithoutKey(text, key) !== text;
}

/** Length of the shortest key that is removed. Shorter keys are not secret, and words begin with them. */
const minTelling = 4;

function textWithoutKey(text: string, key: Keys): string {
  return spellingsOf(key).reduce(withoutSpelling, text);
}

function spellingsOf(key: Keys): string[] {
  const telling = [key].flat().filter(({ length }) => length >= minTelling);
  return [...new Set(telling.flatMap((each) => [each, encodeURIComponent(each), ...secretPart(each)]))];
}

/** Returns the second part of an `id:secret` key, which has to be removed on its own too. */
function secretPart(key: string): string[] {
  const part = key.slice(key.indexOf(':') + 1);
  return part !== key && part.length >= 2 * minTelling ? [part] : [];
}

/** Replaces one spelling of the key in any case, as proxies change it, and its beginning before a final `…`. */
function withoutSpelling(text: string, key: string): string {
  let clean = text.replaceAll(inAnyCase(key), '[key]');
  for (let length = key.length - 1; length >= minTelling && clean.includes('…'); length--) {
    clean = clean.replaceAll(inAnyCase(`${key.slice(0, length)}…`), '[key]…');
  }
  return clean;
}

const patterns = new Map<string, RegExp>();

const maxPatterns = 1_000;

function escaped(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_…]/g, String.raw`\$&`);
}

function inAnyCase(text: string): RegExp {
  const known = patterns.get(text);
  if (known !== undefined) return known;
  if (patterns.size >= maxPatterns) patterns.clear();
  const pattern = new RegExp(escaped(text), 'gi');
  patterns.set(text, pattern);
  return pattern;
}

/** Removes the key from an answer in chunks, the last empty. Base64 that has it by chance stays. */
export function chunksWithoutKey(write: WriteChunk, key: Keys): WriteChunk {
  const plain = spellingsOf(key);
  if (plain.length === 0) return write;
  // Some services write / in JSON as \/.
  const spellings = [...new Set([...plain, ...plain.map((text) => text.replaceAll('/', '\\/'))])];
  const pattern = new RegExp(
    `(?<![A-Za-z0-9+/])(?:${spellings.map(escaped).join('|')})(?![A-Za-z0-9+/])`,
    'gi',
  );
  // One more character shows where the key ends.
  const kept = Math.max(...spellings.map(({ length }) => length)) + 1;
  let rest = '';
  return async (chunk) => {
    const text = (rest + Buffer.from(chunk).toString('latin1')).replaceAll(pattern, '[key]');
    const end = chunk.length === 0 ? text.length : Math.max(0, text.length - kept);
    rest = text.slice(end);
    await write(Buffer.from(text.slice(0, end), 'latin1'));
  };
}
