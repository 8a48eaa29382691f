/** A worker that takes its jobs from where they are, one at a time, for as long as it is up. */
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

/** Where the jobs of one worker are, and where what comes of them goes. */
export interface JobSource {
  /** Waits for a job; undefined where none has come for a while, or `signal` aborts. */
  take(signal: AbortSignal): Promise<OfferedJob | undefined>;
  /** `unwanted` is aborted once nobody wants the job any more. */
  begin(job: OfferedJob, unwanted: AbortController): BegunJob;
}

export type OfferedJob = WorkloadJob;

export interface BegunJob extends Omit<RunReport, 'signal'> {
  /** `undefined` where nobody wants it any more, and the worker has let go of it. */
  end(outcome: Outcome | undefined): Promise<void>;
}

/** JSON text, why it has failed, or what its worker died of; that costs no attempt where the job was not begun. */
export type Outcome = { output: Text } | { error: string } | { died: string; isCounted: boolean };

export class PullingWorker implements PullWorker {
  /** Once what came of its last job is where it belongs: nobody is to take that job for lost. */
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

  /** What comes of its job after that is dropped. */
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
    // The end of the worker, where it follows, is not to wait for that.
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
