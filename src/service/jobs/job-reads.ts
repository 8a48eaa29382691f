/** Reads jobs from the store. Only long texts are read asynchronously. */
import { type OpenText, type Text, type FiledText, isFile, byteCountOf } from '../../lib/files/filed-text.ts';
import type { FairQueue, JobOfWorker } from './job-transitions.ts';
import type { JobExpiry } from './job-expiry.ts';
import { type JobState, shownWorker } from '../model/job.ts';
import type { JobRecord, JobMetadata, prepareJobStatements } from './job-statements.ts';
import { type LongTexts, longText } from './long-texts.ts';
import type { StorePieces } from './job-transitions.ts';

export type OpenedJob = Omit<JobRecord, 'payload'> & { payload: Buffer | OpenText | null };

export class JobReads {
  readonly #sql: ReturnType<typeof prepareJobStatements>;
  readonly #queue: FairQueue;
  readonly #texts: LongTexts;
  readonly #expiry: JobExpiry;

  constructor({ transitions, texts }: StorePieces, expiry: JobExpiry) {
    this.#sql = transitions.sql;
    this.#queue = transitions.queue;
    this.#texts = texts;
    this.#expiry = expiry;
  }

  queueLength(endpointId: string): number {
    return this.#sql.queued.get(endpointId)?.jobs ?? 0;
  }

  /** Returns the number of jobs that workers may take: 0 while the endpoint is paused or the service is ending. */
  takeable(endpointId: string): number {
    return this.#queue.isStopped || this.isPaused(endpointId) ? 0 : this.queueLength(endpointId);
  }

  isPaused(endpointId: string): boolean {
    return this.#queue.isPaused(endpointId);
  }

  queueLengths(): { endpointId: string; jobs: number }[] {
    return this.#sql.waiting.all();
  }

  /** Returns the earliest time (epoch ms) at which the next job of any key was queued; undefined if none is queued. */
  nextQueuedAt(endpointId: string): number | undefined {
    return this.#queue.oldestAt(endpointId);
  }

  /** Returns the ids of the latest completed jobs, five at most. */
  latestCompleted(endpointId: string): string[] {
    return this.#sql.latestCompleted.all(endpointId).map(({ id }) => id);
  }

  /** True if the last three jobs that a worker did failed or timed out. */
  isFailing(endpointId: string): boolean {
    const states = this.#sql.latestDone.all({ endpointId });
    return states.length === 3 && states.every(({ state }) => state !== 'COMPLETED');
  }

  /** Returns the number of jobs in each state, including deleted ones that ended in it, and the number of requeues. */
  tally(endpointId: string): Partial<Record<JobState | 'retried', number>> {
    return Object.fromEntries(this.#sql.tally.all(endpointId).map(({ what, jobs }) => [what, jobs]));
  }

  /** Returns a job. Undefined if there is none with this id at the endpoint, or its retention is over. */
  find(endpointId: string, id: string): JobRecord | undefined {
    const job = this.#sql.find.get(id);
    return job !== undefined && this.isVisible(job, endpointId) ? job : undefined;
  }

  wasSubmitted(key: Buffer): boolean {
    const job = this.#sql.submitted.get(key);
    return job !== undefined && this.isVisible(job, job.endpointId);
  }

  /** Returns the input of a job as JSON text; undefined if it was deleted. The caller closes a file. */
  async inputOf(id: string): Promise<string | OpenText | undefined> {
    const stored = this.#sql.input.get(id);
    if (stored === undefined) return undefined;
    return stored.file === null ? stored.text : await this.#texts.open(stored.file);
  }

  /** Returns a job with its payload opened; undefined if it was deleted meanwhile. The caller closes a file. */
  async open(job: JobRecord): Promise<OpenedJob | undefined> {
    if (job.payloadFile === null) return job;
    const payload = await this.#texts.open(job.payloadFile);
    return payload && { ...job, payload };
  }

  has(endpointId: string, id: string): boolean {
    const job = this.#sql.metadata.get(id);
    return job !== undefined && this.isVisible(job, endpointId);
  }

  /** Returns the id of the key that submitted a job; undefined if there is no such job. */
  keyOf(id: string): string | undefined {
    return this.#sql.keyOf.get(id)?.keyId;
  }

  hasEnded(id: string): boolean {
    return this.#sql.metadata.get(id)?.endedAt !== null;
  }

  isInProgress(job: JobOfWorker): boolean {
    return this.standing(job) === 'in progress';
  }

  /** Returns how the job stands for this worker: `settled` (completed, failed), `unwanted` (any other end). */
  standing({ id, workerId }: JobOfWorker): 'in progress' | 'settled' | 'unwanted' {
    const job = this.#sql.metadata.get(id);
    if (job?.workerId !== workerId) return 'unwanted';
    if (job.state === 'IN_PROGRESS') return 'in progress';
    return job.state === 'COMPLETED' || job.state === 'FAILED' ? 'settled' : 'unwanted';
  }

  pulledJobs(): { id: string; endpointId: string; workerId: string | null }[] {
    return this.#sql.running.all({ isPulled: 1 });
  }

  /** True if the job is at this endpoint and its retention is not over. */
  isVisible(job: Pick<JobMetadata, 'endpointId' | 'endedAt'>, endpointId: string): boolean {
    return job.endpointId === endpointId && !this.#expiry.isExpired(job);
  }
}

/** A job with the text that its status contains: its input while `IN_PROGRESS`, its output once it has ended. */
type ShownJob = Omit<OpenedJob, 'payloadFile' | 'endpointId'>;

type Value = Text | OpenText;

/**
 * Returns the status of a job with exactly the fields of its state, and `retries` once it was requeued. Input and
 * output are inserted as stored; ids and states need no escaping. For a webhook, also adds `input`, JSON text, and
 * the URL: its receiver may not have submitted the job.
 */
export function statusText(job: ShownJob, input?: Value, webhook?: string): Text | FiledText {
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
  return joinFields(
    fields.flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [[name, value] as const],
    ),
  );
}

function joinFields(fields: (readonly [name: string, value: Value])[]): Text | FiledText {
  const parts = fields.flatMap(([name, value], index) => [`${index === 0 ? '{' : ','}"${name}":`, value]);
  return joinTexts([...parts, '}']);
}

/** Joins short parts in memory into one text. Others stay, because a copy would take as much again. */
export function joinTexts(parts: readonly Value[]): Text | FiledText {
  if (parts.every((part) => typeof part === 'string')) return parts.join('');
  const inMemory = parts.filter((part): part is Text => !isFile(part));
  if (inMemory.length < parts.length || byteCountOf(parts) >= longText) return parts;
  return Buffer.concat(inMemory.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

function delayMs(job: ShownJob): number {
  return wholeMs(job.queuedAt, job.startedAt);
}

/** Returns the ms between two times. Never negative, even if the wall clock was set back in between. */
function wholeMs(from: number | null, to: number | null): number {
  return Math.max(0, (to ?? 0) - (from ?? 0));
}
