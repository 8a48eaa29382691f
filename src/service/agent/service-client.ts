/** HTTP client of a remote worker: takes jobs, and sends results, stream parts, pings and reports. */
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { request, type Dispatcher } from 'undici';
import { proxiedAgent } from '../../lib/net/proxied-agent.ts';
import { proxyFor, proxyRules } from '../../lib/net/addresses.ts';
import { isObjectText, maxJsonDepth, scanJson, valueOrBeginning } from '../../lib/text/scan-json.ts';
import { byteCountOf, type Text } from '../../lib/files/filed-text.ts';
import { longText } from '../jobs/long-texts.ts';
import type { WorkerReport } from '../workers/remote-worker.ts';
import type { OfferedJob } from '../workers/supervised.ts';
import { JoinedBytes } from '../../lib/limits.ts';
import { oneLine } from '../../lib/text/format.ts';
import { type JsonObject, objectIn } from '../../lib/text/json.ts';
import type { AnswerOf, OperationOf } from '../../protocol/operations.ts';
import { pathOf } from '../../protocol/paths.ts';

export interface ServiceAddress {
  /** Without a trailing slash. */
  url: string;
  endpointId: string;
  workerId: string;
  workerKey: string;
}

/** The service refuses this worker for good: its key, its endpoint or its id is not valid there. */
export class RefusedForGood extends Error {}

/** Outcome of a delivery. `known`: the service has the result from an earlier try, or no longer wants it. */
export type Delivery = { kind: 'accepted' | 'unwanted' | 'known' } | { kind: 'refused'; why: string };

type Operation = Exclude<OperationOf<'worker'>, 'job-take-batch'>;

interface Question {
  operation: Operation;
  /** Id of the job; missing if the request is about the worker. */
  jobId?: string;
  /** Query of the URL, including the question mark. */
  query?: string;
  body?: readonly Text[];
}

/** Timeout of an answer in ms. The service holds requests for up to 60 s. */
const answerTimeoutMs = 90_000;
/** Timeout of an answer to a long body in ms. On a slow line, the body may still be in buffers. */
const bodyAnswerTimeoutMs = 300_000;
/** Pause before the first retry, which doubles with each further one, and its maximum. */
const defaultPauses = { firstPauseMs: 250, maxPauseMs: 30_000 };
/** Answers without a job that come faster than this were not held open by the service. */
const shortPollMs = 1_000;
const maxEmptyPauseMs = 5_000;
/** Maximum size of a job. JavaScript strings cannot be longer; the service allows 1 GB. */
const maxJobBytes = 500_000_000;
const maxAnswerBytes = 1024 * 1024;
const chunkBytes = 64 * 1024;
const tooLargeForProxy = 'it is too large for a proxy (413)';

export class ServiceClient {
  readonly #address: ServiceAddress;
  readonly #pauses: typeof defaultPauses;
  readonly #onProblem: (text: string) => void;
  readonly #connections: Dispatcher;
  readonly #failing = new Set<Operation>();
  /** Number of consecutive fast answers without a job. */
  #emptyAnswers = 0;
  /** True if the latest try got no valid answer from the service. */
  isAway = false;

  /** Throws `ConfigError`. `onProblem` is called when the service stops answering properly, and again when it answers. */
  constructor(
    address: ServiceAddress,
    onProblem: (text: string) => void,
    pauses: Partial<typeof defaultPauses> = {},
  ) {
    this.#address = address;
    const proxies = proxyRules(process.env);
    proxyFor(new URL(address.url), proxies);
    this.#connections = proxiedAgent(proxies, {
      connect: { timeout: 10_000 },
      bodyTimeout: answerTimeoutMs,
    });
    this.#pauses = { ...defaultPauses, ...pauses };
    this.#onProblem = onProblem;
  }

  /** Waits for a job, up to one minute. Undefined if there is none. Rejects when `signal` aborts. */
  async take(signal: AbortSignal): Promise<OfferedJob | undefined> {
    const askedAt = performance.now();
    const taken = await this.#askUntilAnswered({ operation: 'job-take' }, readJob, signal);
    // Waits if the service does not hold requests open, so that it is not flooded.
    const isEarly = taken === 'none' && performance.now() - askedAt < shortPollMs;
    this.#emptyAnswers = isEarly ? this.#emptyAnswers + 1 : 0;
    if (isEarly) await sleep(this.#emptyPauseMs, undefined, { signal });
    return taken === 'none' ? undefined : taken;
  }

  get #emptyPauseMs(): number {
    return Math.min(maxEmptyPauseMs, this.#pauses.firstPauseMs * 2 ** (this.#emptyAnswers - 1));
  }

  /**
   * Delivers a JSON result, however long the service is away; once `unwanted` aborts, in one more try.
   * `onProblem` gets the first reason against it.
   */
  async finish(
    jobId: string,
    body: readonly Text[],
    {
      signal,
      unwanted,
      onProblem,
    }: { signal: AbortSignal; unwanted: AbortSignal; onProblem: (text: string) => void },
  ): Promise<Delivery> {
    let tries = 0;
    let wasLast = false;
    const read = ({ status, json, refusal }: Answer): Delivery | undefined => {
      tries += 1;
      if (status === 200 && typeof json?.['accepted'] === 'boolean')
        return { kind: json['accepted'] ? 'accepted' : tries === 1 ? 'unwanted' : 'known' };
      if (status === 404 && refusal === 'job not found') return { kind: 'unwanted' };
      const isFinal = status === 413 || (status === 400 && refusal !== undefined);
      if (isFinal) return { kind: 'refused', why: refusal ?? tooLargeForProxy };
      // Gives up: the result does not arrive, and is no longer wanted.
      if (wasLast) return { kind: 'unwanted' };
      wasLast = unwanted.aborted;
      return undefined;
    };
    const question = { operation: 'job-done', jobId, body } as const;
    return await this.#askUntilAnswered(question, read, signal, onProblem);
  }

  /** Sends a progress message or a stream part. A failure is not retried. */
  async send(operation: 'job-done' | 'job-stream', jobId: string, body: readonly Text[]): Promise<void> {
    await this.#ask({ operation, jobId, body });
  }

  async ping(jobId: string): Promise<void> {
    await this.#ask({ operation: 'ping', query: `?job_id=${encodeURIComponent(jobId)}` });
  }

  /** Sends a report. Returns the answer, or why the service refuses the report. */
  async report(
    report: Partial<WorkerReport>,
    signal: AbortSignal,
  ): Promise<AnswerOf<'report'> | { refusal: string }> {
    const question = { operation: 'report', body: [JSON.stringify(report)] } as const;
    return await this.#askUntilAnswered(question, readReportAnswer, signal);
  }

  /** Waits until jobs are no longer wanted, up to one minute. Returns their ids. */
  async toStop(signal: AbortSignal): Promise<string[]> {
    return await this.#askUntilAnswered({ operation: 'job-stop' }, readStopped, signal);
  }

  async close(): Promise<void> {
    await this.#connections.destroy();
  }

  /**
   * Repeats a request until `read` returns a value, while the service is down or overloaded. Throws
   * `RefusedForGood`.
   */
  async #askUntilAnswered<T>(
    question: Question,
    read: (answer: Answer) => T | undefined | Promise<T | undefined>,
    signal: AbortSignal,
    onProblem?: (text: string) => void,
  ): Promise<T> {
    const { operation } = question;
    let isReported = false;
    try {
      const { firstPauseMs, maxPauseMs } = this.#pauses;
      for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(maxPauseMs, pauseMs * 2)) {
        const answer = await this.#ask(question, signal);
        if (answer.status === 0) signal.throwIfAborted();
        throwIfForGood(answer);
        const value = await read(answer);
        if (value !== undefined) {
          this.isAway = false;
          if (this.#failing.delete(operation) && this.#failing.size === 0)
            this.#onProblem('the service answers again');
          return value;
        }
        const complaint = `${complaintOf(answer)}; trying again`;
        if (onProblem === undefined ? this.#failing.size === 0 : !isReported)
          (onProblem ?? this.#onProblem)(complaint);
        isReported = true;
        this.isAway = true;
        this.#failing.add(operation);
        // Random pauses: when a service comes back, many workers come back at once.
        await sleep(pauseMs * (0.5 + Math.random()), undefined, { signal });
      }
    } finally {
      this.#failing.delete(operation);
    }
  }

  /** Sends one request. Never rejects: an error is an answer with status 0. */
  async #ask({ operation, jobId, query = '', body }: Question, signal?: AbortSignal): Promise<Answer> {
    const { url, endpointId, workerId, workerKey } = this.#address;
    const ids = jobId === undefined ? ([workerId] as const) : ([workerId, jobId] as const);
    const path = pathOf(operation)('v2', endpointId, ...ids);
    const isSent = body !== undefined;
    const byteCount = isSent ? byteCountOf(body) : 0;
    try {
      const answer = await request(url + path + query, {
        method: isSent ? 'POST' : 'GET',
        dispatcher: this.#connections,
        headers: {
          Authorization: `Bearer ${workerKey}`,
          ...(isSent && { 'Content-Type': 'application/json', 'Content-Length': String(byteCount) }),
        },
        // This timeout restarts with each piece that is sent.
        headersTimeout: byteCount > chunkBytes ? bodyAnswerTimeoutMs : answerTimeoutMs,
        ...(isSent && { body: Readable.from(inPieces(body)) }),
        ...(signal !== undefined && { signal }),
      });
      const isJob = operation === 'job-take' && answer.statusCode === 200;
      return await readAnswer(answer, isJob ? maxJobBytes : maxAnswerBytes);
    } catch (error) {
      return noAnswer(error);
    }
  }
}

function* inPieces(texts: readonly Text[]): Generator<Buffer> {
  for (const text of texts) {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
}

/** Throws if the service itself refuses this worker. A refusal by a proxy does not count. */
function throwIfForGood({ status, refusal }: Answer): void {
  if (refusal === undefined) return;
  if (status === 401 || status === 403 || (status === 404 && refusal.startsWith('endpoint not found')))
    throw new RefusedForGood(`${status}: ${refusal}`);
}

async function readJob({ status, bytes }: Answer): Promise<OfferedJob | 'none' | undefined> {
  if (status === 204) return 'none';
  const limits = { maxDepth: maxJsonDepth, maxValues: Infinity };
  const read = status === 200 ? await scanJson(bytes, ['id', 'input', 's3Config'], limits) : undefined;
  if (read?.kind !== 'object') return undefined;
  const [givenId, input, s3Config] = ['id', 'input', 's3Config'].map((name) => read.members.get(name));
  const id = givenId && valueOrBeginning(givenId);
  // Refuses empty ids, `.` and `..`: the dots would change the path of a URL.
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) return undefined;
  if (input === undefined || !isObjectText(input)) return undefined;
  const inputText = input.length < longText ? input.toString() : input;
  return { id, inputText, s3Config: s3Config?.toString() ?? null };
}

function readReportAnswer({
  status,
  json,
  refusal,
}: Answer): AnswerOf<'report'> | { refusal: string } | undefined {
  if (status === 413 || (status === 400 && refusal !== undefined))
    return { refusal: refusal ?? tooLargeForProxy };
  if (status !== 200 || typeof json?.['drain'] !== 'boolean' || !isTexts(json['jobs'])) return undefined;
  const { drain, jobs, runs } = json;
  return { drain, jobs, runs: typeof runs === 'string' ? runs : null };
}

function readStopped({ status, json }: Answer): string[] | undefined {
  if (status === 204) return [];
  const ids = json?.['jobsToStop'];
  return status === 200 && isTexts(ids) ? ids : undefined;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

interface Answer {
  /** 0 if there was no answer. */
  status: number;
  bytes: Buffer;
  /** Body text; only the beginning if it is long. The error if there was no answer. */
  text: string;
  /** Undefined if the body is not an object, or is long. */
  json: JsonObject | undefined;
  /** Error text of the service; undefined for other answers. */
  refusal: string | undefined;
  location: string | undefined;
}

/** Maximum size of a body in bytes that is parsed at once. */
const maxParsedBytes = 1024 * 1024;

/** Reads an answer. Stops reading a body after `maxBytes`. */
async function readAnswer(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  maxBytes: number,
): Promise<Answer> {
  const announced = Number(headers['content-length'] ?? 0);
  const read = new JoinedBytes(announced <= maxBytes ? announced : undefined);
  for await (const chunk of body as AsyncIterable<Buffer>) {
    read.add(chunk);
    if (read.byteCount > maxBytes) break;
  }
  const bytes = read.take();
  const isLong = bytes.length > Math.min(maxBytes, maxParsedBytes);
  const text = isLong ? bytes.toString('utf8', 0, 1_000) : bytes.toString();
  const json = isLong ? undefined : objectIn(text);
  const refusal = statusCode >= 400 && typeof json?.['error'] === 'string' ? json['error'] : undefined;
  const location = statusCode >= 300 && statusCode < 400 ? String(headers['location'] ?? '') : undefined;
  return { status: statusCode, bytes, text, json, refusal, location };
}

function noAnswer(error: unknown): Answer {
  const { message, code, name } = error as NodeJS.ErrnoException;
  // An error from several addresses of a host name has no message.
  return {
    status: 0,
    bytes: Buffer.alloc(0),
    text: oneLine(message) ?? code ?? name,
    json: undefined,
    refusal: undefined,
    location: undefined,
  };
}

function complaintOf({ status, text, refusal, location }: Answer): string {
  if (status === 0) return `the service does not answer (${text})`;
  if (refusal !== undefined) return `the service says ${status}: ${refusal.slice(0, 500)}`;
  if (status >= 500 || status === 408 || status === 429)
    return `the service does not answer (status ${status})`;
  const what =
    location === undefined ? beginning(text) : `a redirect to ${JSON.stringify(location.slice(0, 200))}`;
  return `another server answers instead of the service (status ${status} and ${what})`;
}

function beginning(text: string): string {
  const shown = text.slice(0, 200).replaceAll(/\s+/g, ' ').trim();
  return shown === '' ? 'nothing more' : JSON.stringify(shown.length > 60 ? `${shown.slice(0, 60)}…` : shown);
}
