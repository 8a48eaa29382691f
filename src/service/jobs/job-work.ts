/** Work on stored jobs: workers take and end them, streams keep parts of their outputs, and many change at once. */
import { isDiskFull } from '../../lib/files/disk-reserve.ts';
import type { Text } from '../../lib/files/filed-text.ts';
import type { JobState } from '../model/job.ts';
import type { JobReads } from './job-reads.ts';
import type { DueJob, JobChange, TakenJob, WaitingJob } from './job-statements.ts';
import type { JobOfWorker, JobTaker, JobTransitions } from './job-transitions.ts';
import { longText } from './long-texts.ts';
import type { StorePieces } from './job-transitions.ts';

/** Result of a job. `output` and `errorValue` (an error that is not a string) are JSON text. */
type JobOutcome =
  | { state: 'COMPLETED'; output: Text }
  | { state: 'FAILED'; error: string; errorValue?: string | undefined; output?: Text | undefined };

type BegunJob = WaitingJob & { workerId: string };

/** Operations of workers on jobs. Promises resolve when the change is on disk. */
export class JobWork {
  readonly #store: StorePieces;
  readonly #reads: JobReads;

  constructor(store: StorePieces, reads: JobReads) {
    this.#store = store;
    this.#reads = reads;
  }

  /**
   * Starts queued jobs, one for each taker. Stops before the inputs exceed `maxInputs` characters together, but
   * returns the first job whatever its size. Returns none on a full disk, because the results could not be stored
   * and the jobs would be paid for twice.
   */
  async take(endpointId: string, takers: readonly JobTaker[], maxInputs = Infinity): Promise<TakenJob[]> {
    if (this.#store.reserve.isFull || this.#reads.takeable(endpointId) === 0) return [];
    const taken = await this.#store.commit.write(() => {
      const jobs = this.#store.transitions.nextInQueue(endpointId, takers.length, maxInputs);
      return jobs.flatMap((job, index) => {
        const taker = takers[index];
        if (taker === undefined) return [];
        this.#store.transitions.begin(job.id, taker);
        return [{ ...job, workerId: taker.workerId }];
      });
    });
    for (const { id } of taken) this.#store.signals.changed(id);
    const jobs = await Promise.all(taken.map((job) => this.#withInput(job)));
    const whole = jobs.filter((job) => job !== undefined);
    // If all taken jobs were unreadable, tries again: a worker gets no job only if none is queued.
    return whole.length > 0 || taken.length === 0 ? whole : this.take(endpointId, takers, maxInputs);
  }

  /**
   * Ends a job with the result of its worker. Returns false and changes nothing if the job has ended or now belongs
   * to another worker. A job that was requeued because its worker was silent still accepts its result while it is
   * queued.
   */
  async settle(job: JobOfWorker, outcome: JobOutcome, log?: string): Promise<boolean> {
    const kept = log === undefined ? {} : { log };
    const { state, output } = outcome;
    const how =
      state === 'FAILED' ? { ...kept, error: outcome.error, errorValue: outcome.errorValue ?? null } : kept;
    const isAccepted =
      output === undefined ? await this.#end(job, state, how) : await this.#endWith(job, state, output, how);
    if (isAccepted) this.#store.signals.changed(job.id);
    return isAccepted;
  }

  /**
   * Requeues the job of a dead worker, or fails it without retries left. `isCounted`: false if it never
   * reached
   * the worker. Undefined if the worker does not run it.
   */
  async requeue(
    given: JobOfWorker,
    why: string,
    { isCounted, log }: { isCounted: boolean; log?: string | undefined } = { isCounted: true },
  ): Promise<JobState | undefined> {
    const { id } = given;
    const now = await this.#writeFromReserve(() => {
      const job = this.#store.transitions.runningOn(given);
      if (job === undefined) return undefined;
      const state = this.#store.transitions.requeue(id, job, isCounted ? why : undefined, log);
      return { state, endpointId: job.endpointId };
    });
    if (now === undefined) return undefined;
    this.#store.signals.changed(id);
    if (now.state === 'IN_QUEUE') this.#store.signals.queued(now.endpointId);
    return now.state;
  }

  /** Stores a JSON progress message. False if the worker does not run the job, or it is too long. */
  async setProgress(job: JobOfWorker, message: Text): Promise<boolean> {
    // A long message is refused because every move of the job would rewrite it.
    if (message.length >= longText) return false;
    return await this.#store.commit.write(() => {
      const isAccepted = this.#reads.isInProgress(job);
      if (isAccepted)
        this.#store.transitions.sql.setProgress.run({ id: job.id, progress: message.toString() });
      return isAccepted;
    });
  }

  /** Stores the log of a worker whose job was cancelled or timed out while it ran. */
  async keepLog({ id, workerId }: JobOfWorker, log: string): Promise<void> {
    await this.#store.commit.write(() => this.#store.transitions.sql.keepLog.run({ id, workerId, log }));
  }

  async #endWith(job: JobOfWorker, state: JobState, text: Text, how: JobChange): Promise<boolean> {
    try {
      return await this.#store.texts.withStored('results', text, ({ text: output, file: outputFile }) =>
        this.#end(job, state, { ...how, output, outputFile }),
      );
    } catch (error) {
      // Reports a full disk. The reserve is for ending jobs, not for a long output.
      if (isDiskFull(error)) this.#store.reserve.markFull();
      throw error;
    }
  }

  #end(given: JobOfWorker, state: JobState, how: JobChange): Promise<boolean> {
    const { id, workerId } = given;
    return this.#writeFromReserve(() => {
      const job = this.#store.transitions.sql.metadata.get(id);
      if (job === undefined || job.endedAt !== null || job.workerId !== workerId) return false;
      if (job.state === 'IN_QUEUE') this.#store.transitions.begin(id, { workerId, isPulled: true });
      this.#store.transitions.end(id, state, how);
      return true;
    });
  }

  /** Reads the input of a job. If it cannot be read, fails the job and returns undefined. */
  async #withInput(job: BegunJob): Promise<TakenJob | undefined> {
    const { id, workerId, webhook, s3Config, ...stored } = job;
    const taken = { id, workerId, webhook, s3Config };
    if (stored.file === null) return { ...taken, input: stored.text };
    let why = 'its file is missing from the data folder';
    try {
      const input = await this.#store.texts.textOf(stored);
      if (input !== undefined) return { ...taken, input };
    } catch (error) {
      why = String(error);
    }
    const error = `the service cannot read the input of this job: ${why}`;
    // If this write fails, the job times out later. The jobs taken with it must not be lost.
    await this.settle({ id, workerId }, { state: 'FAILED', error }).catch(() => undefined);
    return undefined;
  }

  #writeFromReserve<T>(work: () => T): Promise<T> {
    const { commit, reserve } = this.#store;
    return reserve.spend(() => commit.write(work));
  }
}

/** Limits the unread parts of a job, which are handed out as one text. */
const defaultMaxUnreadBytes = 100 * 1024 * 1024;

/** Size of a stored part beside its text. */
const partBytes = 100;

/** Streams of jobs: parts of an output, stored until they are read. */
export class JobStreams {
  readonly #store: StorePieces;
  readonly #maxUnreadBytes: number;
  /** Unread bytes since this start, by job number, for jobs that have not ended. */
  readonly #unreadBytes = new Map<number, number>();

  constructor(store: StorePieces, maxUnreadBytes = defaultMaxUnreadBytes) {
    this.#store = store;
    this.#maxUnreadBytes = maxUnreadBytes;
  }

  /** Adds a JSON part to a job's stream. False if the worker lost the job, or too much is unread. */
  async add(job: JobOfWorker, output: Text): Promise<boolean> {
    const { commit, texts, signals, transitions } = this.#store;
    const byteCount = Buffer.byteLength(output) + partBytes;
    const isAccepted = await texts.withStored('streams', output, (stored) =>
      commit.write(() => {
        const held = transitions.runningOn(job);
        if (held === undefined) return false;
        const unread = (this.#unreadBytes.get(held.number) ?? 0) + byteCount;
        if (unread > this.#maxUnreadBytes) return false;
        this.#sql.addPart.run({ job: held.number, ...stored });
        this.#unreadBytes.set(held.number, unread);
        return true;
      }),
    );
    if (isAccepted) signals.streamed(job.id);
    return isAccepted;
  }

  /** True if the stream of a job has unread parts. */
  hasNews(id: string): boolean {
    const job = this.#sql.metadata.get(id);
    return job !== undefined && this.#sql.hasParts.get(job.number) !== undefined;
  }

  /** Returns and deletes the unread parts of a job's stream, as JSON texts. */
  async drain(id: string): Promise<Text[]> {
    const job = this.#sql.metadata.get(id);
    if (job === undefined || !this.hasNews(id)) return [];
    const { commit, texts } = this.#store;
    const parts = await commit.write(() => {
      const unread = this.#sql.parts.all(job.number);
      this.#sql.deleteParts.run(job.number);
      this.#unreadBytes.delete(job.number);
      return unread;
    });
    const outputs = await Promise.all(parts.map((part) => texts.textOf(part)));
    await texts.delete(parts);
    return outputs.filter((output) => output !== undefined);
  }

  /** Drops the byte count of a job that gets no more parts. */
  forget(job: number): void {
    this.#unreadBytes.delete(job);
  }

  get #sql(): JobTransitions['sql'] {
    return this.#store.transitions.sql;
  }
}

/** Changes many jobs in small batches, so that requests do not wait. */
export class BulkJobs {
  readonly #store: StorePieces;

  constructor(store: StorePieces) {
    this.#store = store;
  }

  /** Cancels all queued jobs of the endpoint, or those of one key. Returns the number of cancelled jobs. */
  async purgeQueue(endpointId: string, keyId?: string): Promise<number> {
    const { commit, reserve, transitions, signals } = this.#store;
    let removed = 0;
    for (let some: string[] | undefined; some === undefined || some.length > 0; removed += some.length) {
      // The batches are synced once, by the write at the end.
      some = await reserve.spend(() => commit.writeUnsynced(() => transitions.cancelSome(endpointId, keyId)));
      for (const id of some) signals.changed(id);
    }
    await commit.write(() => undefined);
    return removed;
  }

  async cancelAll(endpointId: string): Promise<void> {
    const { transitions, signals } = this.#store;
    await this.purgeQueue(endpointId);
    const { running } = transitions.sql;
    const all = running.all({ isPulled: 0 }).concat(running.all({ isPulled: 1 }));
    const jobs = all.filter((job) => job.endpointId === endpointId);
    const ended = await this.#writeFromReserve(() =>
      jobs.filter(({ id }) => {
        const isOpen = transitions.sql.metadata.get(id)?.endedAt === null;
        if (isOpen) transitions.end(id, 'CANCELLED');
        return isOpen;
      }),
    );
    for (const { id } of ended) signals.changed(id);
  }

  /** Requeues jobs that the service's own workers run at the endpoint, without counting a retry. */
  async requeueOwn(endpointId: string): Promise<void> {
    const { transitions, signals } = this.#store;
    const jobs = transitions.sql.running.all({ isPulled: 0 }).filter((job) => job.endpointId === endpointId);
    const back = await this.#writeFromReserve(() =>
      jobs.filter(({ id, workerId }) => {
        const job = transitions.runningOn({ id, workerId: workerId ?? '' });
        if (job !== undefined) transitions.requeue(id, job, undefined);
        return job !== undefined;
      }),
    );
    for (const { id } of back) signals.changed(id);
    if (back.length > 0) signals.queued(endpointId);
  }

  /** Signals each endpoint with queued jobs. */
  announceWaiting(): void {
    const { transitions, signals } = this.#store;
    for (const { endpointId } of transitions.sql.waiting.all()) signals.queued(endpointId);
  }

  /** Ends some jobs that are over time, and returns them. Call it until it returns none. */
  async timeOutSome(): Promise<DueJob[]> {
    const { transitions, signals } = this.#store;
    if (!transitions.isAnyDue()) return [];
    const due = await this.#writeFromReserve(() => transitions.timeOutSome());
    for (const { id } of due) signals.changed(id);
    return due;
  }

  #writeFromReserve<T>(work: () => T): Promise<T> {
    const { commit, reserve } = this.#store;
    return reserve.spend(() => commit.write(work));
  }
}

/** Maximum size of a result, in bytes. Larger ones fail with an explanation instead of being lost on their way. */
const defaultMaxResultBytes = 100 * 1024 * 1024;

const maxErrorLength = 10_000;

export interface WorkerError {
  text: string;
  /** JSON text of an error that is not a string. */
  value?: string | undefined;
  /** JSON text of an output that came with the error. */
  output?: Text | undefined;
}

/** Ends jobs with the results of their workers: outputs as JSON text, everything else as failures. */
export class JobResults {
  readonly #work: JobWork;
  readonly #maxResultBytes: number;

  constructor(store: { work: JobWork }, maxResultBytes = defaultMaxResultBytes) {
    this.#work = store.work;
    this.#maxResultBytes = maxResultBytes;
  }

  /** Stores the output, JSON text, `null` for none. Resolves when on disk; false if the job has ended. */
  async complete(job: JobOfWorker, output: Text, log?: string): Promise<boolean> {
    if (this.#isTooLarge(output)) return this.failTooLarge(job, log);
    return this.#work.settle(job, { state: 'COMPLETED', output }, log);
  }

  failTooLarge(job: JobOfWorker, log?: string): Promise<boolean> {
    return this.fail(job, { text: `the worker's output exceeds ${this.#maxResultBytes} bytes` }, log);
  }

  /** Fails a job. Keeps an output beside the error unless it is too large. */
  fail(job: JobOfWorker, { text, value, output }: WorkerError, log?: string): Promise<boolean> {
    const kept = output === undefined || isNull(output) || this.#isTooLarge(output) ? undefined : output;
    const error = text.slice(0, maxErrorLength);
    // A long value is dropped: cut JSON would be invalid.
    const errorValue = value !== undefined && value.length <= maxErrorLength ? value : undefined;
    const outcome = { state: 'FAILED', error, errorValue, output: kept } as const;
    return this.#work.settle(job, outcome, log);
  }

  #isTooLarge(output: Text): boolean {
    return Buffer.byteLength(output) > this.#maxResultBytes;
  }
}

function isNull(json: Text): boolean {
  return json.length === 4 && json.toString() === 'null';
}
