/** What the service answers, before it goes over the wire. */
import type { Message } from '../../protocol/message-schemas.ts';
import { byteCountOf, type FiledText, isFile, type OpenText, type Text } from '../jobs/filed-text.ts';
import { longText } from '../jobs/long-texts.ts';
import type { JobState } from '../model/job.ts';
import type { OpenedJob } from '../jobs/job-reads.ts';
import { shownWorker, type WorkerState } from '../model/worker-view.ts';

export interface HttpResponse {
  status: number;
  /** JSON text, unless `headers` say another `Content-Type`. Whoever takes the answer closes the files in it. */
  body: Text | FiledText;
  headers?: Record<string, string | string[]>;
  /** Set where the request's body is longer than it may be. */
  isTooLarge?: true;
}

export function refusal(status: number, error: string, headers: Record<string, string> = {}): HttpResponse {
  return { status, headers, body: errorBody(error) };
}

export function errorBody(error: string): string {
  return JSON.stringify({ error } satisfies Message<'Error'>);
}

export function tooMany(error: string, waitMs: number): HttpResponse {
  return refusal(429, error, { 'Retry-After': String(Math.ceil(waitMs / 1_000)) });
}

/** After `run`, `cancel` and `retry`. */
export function stateAnswer(id: string, status: JobState): HttpResponse {
  return jsonResponse({ id, status } satisfies Message<'Accepted'>);
}

export function jsonResponse(body: object, status = 200): HttpResponse {
  return { status, body: JSON.stringify(body) };
}

export const emptyResponse: HttpResponse = { status: 204, body: '' };

/** `FAILED` counts what timed out as well: the interface has no word for it. */
export function healthAnswer(
  tally: Partial<Record<JobState | 'retried', number>>,
  workers: readonly { state: WorkerState }[],
): HttpResponse {
  const { COMPLETED = 0, FAILED = 0, TIMED_OUT = 0, IN_PROGRESS = 0, IN_QUEUE = 0, retried = 0 } = tally;
  const count = (state: WorkerState): number => workers.filter((worker) => worker.state === state).length;
  const idle = count('idle');
  const jobs = { completed: COMPLETED, failed: FAILED + TIMED_OUT, inProgress: IN_PROGRESS };
  const health: Message<'Health'> = {
    jobs: { ...jobs, inQueue: IN_QUEUE, retried },
    workers: {
      idle,
      initializing: count('initializing'),
      ready: idle,
      running: count('running'),
      throttled: count('throttled'),
      unhealthy: count('unhealthy'),
    },
  };
  return jsonResponse(health);
}

/** A job with the text that its state shows: its input while `IN_PROGRESS`, its output once it has ended. */
export type ShownJob = Omit<OpenedJob, 'payloadFile' | 'endpointId'>;

type Value = Text | OpenText;

/**
 * The status of a job with exactly the fields of its state, and `retries` once it has been put back into the queue.
 * Input and output are put in as they are stored; ids and states need no escaping.
 */
export function statusAnswer(job: ShownJob): HttpResponse {
  return { status: 200, body: statusBody(job) };
}

/** As above; `input` is JSON text that goes in as well, for whoever did not submit it, who was told by `webhook`. */
export function statusBody(job: ShownJob, input?: Value, webhook?: string): Text | FiledText {
  const { id, state } = job;
  const ended = job.endedAt !== null && job.startedAt !== null;
  const isBegun = state === 'IN_PROGRESS' || ended;
  const fields: [name: string, value: Value | null | undefined][] = [
    ['delayTime', isBegun ? String(delayMs(job)) : undefined],
    [
      'error',
      state === 'FAILED' || state === 'TIMED_OUT' ? (job.errorValue ?? JSON.stringify(job.error)) : undefined,
    ],
    ['executionTime', ended ? String(wholeMs(job.startedAt, job.endedAt)) : undefined],
    ['id', `"${id}"`],
    ['input', state === 'IN_PROGRESS' ? (job.payload ?? 'null') : input],
    [
      'output',
      state === 'COMPLETED' ? (job.payload ?? 'null') : state === 'FAILED' ? job.payload : job.progress,
    ],
    ['retries', job.retries > 0 ? String(job.retries) : undefined],
    ['status', `"${state}"`],
    ['webhook', webhook && JSON.stringify(webhook)],
    ['workerId', isBegun && job.workerId ? JSON.stringify(shownWorker(job.workerId)) : undefined],
  ];
  return joined(
    fields.flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [[name, value] as const],
    ),
  );
}

function joined(fields: (readonly [name: string, value: Value])[]): Text | FiledText {
  const parts = fields.flatMap(([name, value], index) => [`${index === 0 ? '{' : ','}"${name}":`, value]);
  return inOne([...parts, '}']);
}

/** One text of its parts, if they are in memory and not long: a copy would take as much again. */
export function inOne(parts: readonly Value[]): Text | FiledText {
  if (parts.every((part) => typeof part === 'string')) return parts.join('');
  const inMemory = parts.filter((part): part is Text => !isFile(part));
  if (inMemory.length < parts.length || byteCountOf(parts) >= longText) return parts;
  return Buffer.concat(inMemory.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

function delayMs(job: ShownJob): number {
  return wholeMs(job.queuedAt, job.startedAt);
}

/** Never negative, also where the wall clock was set back in between. */
function wholeMs(from: number | null, to: number | null): number {
  return Math.max(0, (to ?? 0) - (from ?? 0));
}
