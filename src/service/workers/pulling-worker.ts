/** Wraps a worker so that it takes jobs from a `JobSource`, one at a time, until it ends. */
import type { Text } from '../../lib/files/filed-text.ts';
import {
  outputText,
  type PullWorker,
  type RunReport,
  thrownText,
  type Worker,
  WorkerAway,
  WorkerDied,
  type WorkloadJob,
} from '../workloads/workload.ts';

/** Source of jobs for one worker, which also receives their results. */
export interface JobSource {
  /** Waits for a job. Returns undefined if none comes for a while, or `signal` aborts. */
  take(signal: AbortSignal): Promise<OfferedJob | undefined>;
  /** Begins a job. The source aborts `unwanted` when the job is cancelled, times out or is requeued. */
  begin(job: OfferedJob, unwanted: AbortController): BegunJob;
}

export type OfferedJob = WorkloadJob;

export interface BegunJob extends Omit<RunReport, 'signal'> {
  /** Hands in the outcome; undefined if the job is no longer wanted and the worker has stopped it. */
  end(outcome: Outcome | undefined): Promise<void>;
}

/** Outcome of a job: output as JSON text, error, or reason for the worker's end. `isCounted`: it costs an attempt. */
export type Outcome = { output: Text } | { error: string } | { died: string; isCounted: boolean };

export class PullingWorker implements PullWorker {
  /** Resolves after the worker has ended and handed in its last job, so that the job is not taken for lost. */
  readonly ended: Promise<string>;
  readonly #worker: Worker;
  readonly #source: JobSource;
  readonly #over = new AbortController();
  #isStopped = false;
  #unwanted = new AbortController();

  constructor(worker: Worker, source: JobSource) {
    this.#worker = worker;
    this.#source = source;
    const done = this.#takeJobs();
    this.ended = worker.ended.then(async (why) => {
      this.#over.abort();
      await done;
      return why;
    });
  }

  memoryBytes(): number {
    return this.#worker.memoryBytes?.() ?? 0;
  }

  /** Stops the worker. The outcome of its current job is dropped. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#over.abort();
    this.#unwanted.abort();
    await this.#worker.stop();
  }

  async #takeJobs(): Promise<void> {
    while (!this.#over.signal.aborted) {
      const job = await this.#source.take(this.#over.signal);
      if (job !== undefined) await this.#do(job);
    }
  }

  async #do(job: OfferedJob): Promise<void> {
    const unwanted = (this.#unwanted = new AbortController());
    const begun = this.#source.begin(job, unwanted);
    const outcome = await this.#outcomeOf(job, { ...begun, signal: unwanted.signal });
    const ended = begun.end(this.#isStopped || unwanted.signal.aborted ? undefined : outcome);
    // If the worker died, its end must not wait for this write.
    if (!('died' in outcome)) await ended;
  }

  async #outcomeOf(job: OfferedJob, report: RunReport): Promise<Outcome> {
    try {
      return { output: outputText(await this.#worker.run(job, report)) };
    } catch (error) {
      const text = thrownText(error);
      return error instanceof WorkerDied
        ? { died: text, isCounted: !(error instanceof WorkerAway) }
        : { error: text };
    }
  }
}
