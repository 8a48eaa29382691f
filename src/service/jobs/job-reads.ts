/** Reads of the job store; only long texts are read asynchronously. */
import type { OpenText } from '../../lib/files/filed-text.ts';
import type { FairQueue } from './fair-queue.ts';
import type { JobExpiry } from './job-expiry.ts';
import type { JobOfWorker } from './job-transitions.ts';
import type { JobState } from '../model/job.ts';
import type { JobRecord, JobMetadata, prepareJobStatements } from './job-statements.ts';
import type { LongTexts } from './long-texts.ts';
import type { StorePieces } from './store-pieces.ts';

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

  /** How many jobs are queued at the endpoint. */
  queueLength(endpointId: string): number {
    return this.#sql.queued.get(endpointId)?.jobs ?? 0;
  }

  /** How many jobs workers may take there: none while it is paused, or the service is about to end. */
  takeable(endpointId: string): number {
    return this.#queue.isStopped || this.isPaused(endpointId) ? 0 : this.queueLength(endpointId);
  }

  isPaused(endpointId: string): boolean {
    return this.#queue.isPaused(endpointId);
  }

  /** Of the endpoints at which jobs are queued, how many. */
  queueLengths(): { endpointId: string; jobs: number }[] {
    return this.#sql.waiting.all();
  }

  /** Since when the job that has waited longest, among those that are next of their key, has waited, epoch ms; undefined where none waits. */
  nextQueuedAt(endpointId: string): number | undefined {
    return this.#queue.oldestAt(endpointId);
  }

  /** Ids of a few. */
  latestCompleted(endpointId: string): string[] {
    return this.#sql.latestCompleted.all(endpointId).map(({ id }) => id);
  }

  /** How many jobs of the endpoint are in each state or ended in it, and how often one was put back into the queue. */
  tally(endpointId: string): Partial<Record<JobState | 'retried', number>> {
    return Object.fromEntries(this.#sql.tally.all(endpointId).map(({ what, jobs }) => [what, jobs]));
  }

  /** The job, unless there is none of this id at the endpoint or its time is over. */
  find(endpointId: string, id: string): JobRecord | undefined {
    const job = this.#sql.find.get(id);
    return job !== undefined && this.isVisible(job, endpointId) ? job : undefined;
  }

  /** Whether there is a job that was submitted under the key. */
  wasSubmitted(key: Buffer): boolean {
    const job = this.#sql.submitted.get(key);
    return job !== undefined && this.isVisible(job, job.endpointId);
  }

  /** What a job was asked for, as JSON text; undefined where it is gone. A file is closed by the caller. */
  async inputOf(id: string): Promise<string | OpenText | undefined> {
    const stored = this.#sql.input.get(id);
    if (stored === undefined) return undefined;
    return stored.file === null ? stored.text : await this.#texts.open(stored.file);
  }

  /** A job with its payload, wherever that stands, as for `inputOf`; undefined where it was deleted meanwhile. */
  async open(job: JobRecord): Promise<OpenedJob | undefined> {
    if (job.payloadFile === null) return job;
    const payload = await this.#texts.open(job.payloadFile);
    return payload && { ...job, payload };
  }

  /** Whether there is a job of this id at the endpoint, as for `find`. */
  has(endpointId: string, id: string): boolean {
    const job = this.#sql.metadata.get(id);
    return job !== undefined && this.isVisible(job, endpointId);
  }

  /** Who submitted it; undefined where there is no such job. */
  keyOf(id: string): string | undefined {
    return this.#sql.keyOf.get(id)?.keyId;
  }

  hasEnded(id: string): boolean {
    return this.#sql.metadata.get(id)?.endedAt !== null;
  }

  isInProgress(job: JobOfWorker): boolean {
    return this.standing(job) === 'in progress';
  }

  /** What a job is to a worker: `settled` by its result, or somebody else's, which nobody wants of it. */
  standing({ id, workerId }: JobOfWorker): 'in progress' | 'settled' | 'unwanted' {
    const job = this.#sql.metadata.get(id);
    if (job?.workerId !== workerId) return 'unwanted';
    if (job.state === 'IN_PROGRESS') return 'in progress';
    return job.state === 'COMPLETED' || job.state === 'FAILED' ? 'settled' : 'unwanted';
  }

  /** The jobs that remote workers run, as stored. */
  pulledJobs(): { id: string; endpointId: string; workerId: string | null }[] {
    return this.#sql.running.all({ isPulled: 1 });
  }

  /** Whether it is at the endpoint, and not over. */
  isVisible(job: Pick<JobMetadata, 'endpointId' | 'endedAt'>, endpointId: string): boolean {
    return job.endpointId === endpointId && !this.#expiry.isExpired(job);
  }
}
