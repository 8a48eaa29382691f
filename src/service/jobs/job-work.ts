/** What workers do with jobs: take them, report progress, and end or requeue them. */
import { isDiskFull } from '../../lib/files/disk-reserve.ts';
import type { JobOfWorker, JobTaker } from './job-transitions.ts';
import type { Text } from '../../lib/files/filed-text.ts';
import type { JobState } from '../model/job.ts';
import type { JobReads } from './job-reads.ts';
import type { JobChange, TakenJob, WaitingJob } from './job-statements.ts';
import { longText } from './long-texts.ts';
import type { StorePieces } from './store-pieces.ts';

/** How a job ended; `output` and `errorValue`, an error that is no text, are JSON text. */
export type JobOutcome =
  | { state: 'COMPLETED'; output: Text }
  | { state: 'FAILED'; error: string; errorValue?: string | undefined; output?: Text | undefined };

type BegunJob = WaitingJob & { workerId: string };

/** Promises resolve when what they changed is on the disk. */
export class JobWork {
  readonly #store: StorePieces;
  readonly #reads: JobReads;

  constructor(store: StorePieces, reads: JobReads) {
    this.#store = store;
    this.#reads = reads;
  }

  /**
   * Marks jobs as in progress, longest in the queue first, one for each of the takers while there are any and, after
   * the first, while their inputs are no longer than `maxInputs` characters together. None on a full disk, which could
   * not take what comes of them: that would be paid for again.
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
    // A worker gets no job only if there is none.
    return whole.length > 0 || taken.length === 0 ? whole : this.take(endpointId, takers, maxInputs);
  }

  /**
   * Ends a job by what its worker says. False, and nothing done, where it has ended in the meantime or is another
   * worker's by now. A job that was put back because its worker was silent, and waits, takes its result after all.
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
   * Puts the job of a worker that died back into the queue, or fails it where that has happened too often. With
   * `isCounted` false it never reached the worker. Undefined where it is not the worker's job.
   */
  async requeue(
    given: JobOfWorker,
    why: string,
    { isCounted, log }: { isCounted: boolean; log?: string | undefined } = { isCounted: true },
  ): Promise<JobState | undefined> {
    const { id } = given;
    const now = await this.#stop(() => {
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

  /**
   * Stores a worker's progress message; `message` is JSON text. False, and nothing done, where it is not
   * the worker's job or the message is as long as a result.
   */
  async setProgress(job: JobOfWorker, message: Text): Promise<boolean> {
    // Every move of the job writes it anew.
    if (message.length >= longText) return false;
    return await this.#store.commit.write(() => {
      const isAccepted = this.#reads.isInProgress(job);
      if (isAccepted)
        this.#store.transitions.sql.setProgress.run({ id: job.id, progress: message.toString() });
      return isAccepted;
    });
  }

  /** What a worker wrote for a job that was cancelled, or timed out, under it. */
  async keepLog({ id, workerId }: JobOfWorker, log: string): Promise<void> {
    await this.#store.commit.write(() => this.#store.transitions.sql.keepLog.run({ id, workerId, log }));
  }

  async #endWith(job: JobOfWorker, state: JobState, text: Text, how: JobChange): Promise<boolean> {
    try {
      return await this.#store.texts.withStored('results', text, ({ text: output, file: outputFile }) =>
        this.#end(job, state, { ...how, output, outputFile }),
      );
    } catch (error) {
      // A long one would leave no room for ending others; nor is there any for what would come of more jobs.
      if (isDiskFull(error)) this.#store.reserve.markFull();
      throw error;
    }
  }

  #end(given: JobOfWorker, state: JobState, how: JobChange): Promise<boolean> {
    const { id, workerId } = given;
    return this.#stop(() => {
      const job = this.#store.transitions.sql.metadata.get(id);
      if (job === undefined || job.endedAt !== null || job.workerId !== workerId) return false;
      if (job.state === 'IN_QUEUE') this.#store.transitions.begin(id, { workerId, isPulled: true });
      this.#store.transitions.end(id, state, how);
      return true;
    });
  }

  /** A job whose input cannot be read any more fails, and its worker is given another. */
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
    // Where that cannot be written, its time runs out; those that were taken with it are not to be lost with it.
    await this.settle({ id, workerId }, { state: 'FAILED', error }).catch(() => undefined);
    return undefined;
  }

  /** Writes also on a full disk. */
  #stop<T>(work: () => T): Promise<T> {
    const { commit, reserve } = this.#store;
    return reserve.spend(() => commit.write(work));
  }
}
