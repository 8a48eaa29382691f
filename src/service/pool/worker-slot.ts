/** A slot for one of the service's own workers: runs jobs on it and stores the results. */
import type { JobStore } from '../jobs/job-store.ts';
import type { JobResults } from '../jobs/job-results.ts';
import type { TakenJob } from '../jobs/job-statements.ts';
import { outputText, type RunReport, type Worker, WorkerDied, type Workload } from '../workloads/workload.ts';
import { durationText } from '../../lib/yaml/scalar-schemas.ts';
import { Supervised, textOf } from './supervised.ts';
import type { WorkerState } from './worker-view.ts';

export interface SlotParts {
  store: JobStore;
  results: JobResults;
  workload: Workload;
  /** Null for never. */
  stallMs: number | null;
  /** Of a worker that has just done a job. */
  isWornOut: (use: { jobs: number; since: number; memoryBytes: () => number }) => boolean;
  /** Tries until it is written, as a full disk may be emptied; undefined once the service ends. */
  retryWrite: <T>(write: () => Promise<T>) => Promise<T | undefined>;
  /** Called when it is in another state. */
  onChange: () => void;
  onProblem: (text: string) => void;
}

export class WorkerSlot {
  readonly supervised: Supervised<Worker>;
  readonly #parts: SlotParts;
  readonly #stop = new AbortController();
  #job: TakenJob | undefined;
  #freeSince = Date.now();
  #jobsDone = 0;
  #busyMs = 0;
  /** Of the worker that there is now. */
  #jobsOf = { workerId: '', jobs: 0 };

  constructor(parts: SlotParts) {
    this.#parts = parts;
    const { workload, onChange, onProblem } = parts;
    this.supervised = new Supervised({
      start: (context) => workload.startWorker(context),
      onChange,
      onProblem,
    });
  }

  get state(): WorkerState | 'stopped' {
    const { state } = this.supervised;
    if (state === 'retiring') return 'initializing';
    if (state !== 'up') return state;
    return this.#job === undefined ? 'idle' : 'running';
  }

  get jobIds(): string[] {
    return this.#job === undefined ? [] : [this.#job.id];
  }

  /** Since the service was started: jobs that it brought to an end, and ms at jobs. */
  get use(): { jobsDone: number; busyMs: number } {
    return { jobsDone: this.#jobsDone, busyMs: this.#busyMs };
  }

  /** How long it has had nothing to do. */
  get idleMs(): number {
    return this.state === 'idle' ? Date.now() - Math.max(this.#freeSince, this.supervised.since) : 0;
  }

  /** Resolves when the slot is done with the job. */
  async work(job: TakenJob): Promise<void> {
    const { worker } = this.supervised;
    const { store, retryWrite, onChange } = this.#parts;
    if (worker === undefined || this.state !== 'idle') {
      await retryWrite(() => store.work.requeue(job, 'its worker had ended before', { isCounted: false }));
      return;
    }
    // It may have been cancelled since it was taken.
    if (!store.reads.isInProgress(job)) return onChange();
    this.#job = job;
    this.supervised.log.begin();
    this.supervised.isExcused = false;
    const begunAt = performance.now();
    await this.#run(worker, job);
    this.#jobsDone += 1;
    this.#busyMs += performance.now() - begunAt;
    this.#job = undefined;
    this.#freeSince = Date.now();
    this.#replaceWornOut();
    onChange();
  }

  #replaceWornOut(): void {
    const { workerId, worker, since } = this.supervised;
    const jobs = this.#jobsOf.workerId === workerId ? this.#jobsOf.jobs + 1 : 1;
    this.#jobsOf = { workerId, jobs };
    if (this.#parts.isWornOut({ jobs, since, memoryBytes: () => worker?.memoryBytes?.() ?? 0 }))
      void this.supervised.retire();
  }

  /** Stops the worker; late results are dropped. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.supervised.stop();
  }

  async #run(worker: Worker, job: TakenJob): Promise<void> {
    const { store, results, retryWrite, stallMs } = this.#parts;
    const { log } = this.supervised;
    const unwanted = new AbortController();
    const abort = (): void => unwanted.abort();
    const unsubscribe = store.signals.on(`changed ${job.id}`, () => {
      if (store.reads.isInProgress(job)) return;
      // Programs and modules let go of a job by their end only.
      this.supervised.isExcused = true;
      abort();
    });
    this.#stop.signal.addEventListener('abort', abort, { once: true });
    let stalled: string | undefined;
    const endStall =
      stallMs === null
        ? undefined
        : log.onSilence(stallMs, () => {
            stalled = `its worker wrote nothing of it for ${durationText(stallMs)}, and was ended`;
            this.supervised.isExcused = true;
            abort();
          });
    if (this.#stop.signal.aborted) abort();
    try {
      const input = JSON.parse(job.input) as Record<string, unknown>;
      const report = reportOf({ store, job, signal: unwanted.signal, onSign: () => log.touch() });
      const run = worker.run({ id: job.id, input, inputText: job.input, s3Config: job.s3Config }, report);
      const output = outputText(await run.finally(unsubscribe));
      if (output === 'null') throw new Error('the worker ended without an output');
      const lines = log.end();
      if (stalled === undefined && unwanted.signal.aborted) await this.#keepLog(job, lines);
      else await retryWrite(() => results.complete(job, output, lines));
      this.supervised.markHealthy();
    } catch (error) {
      const text = textOf(error);
      const lines = log.end();
      if (stalled === undefined && unwanted.signal.aborted) return await this.#keepLog(job, lines);
      if (stalled !== undefined || error instanceof WorkerDied)
        await retryWrite(() => store.work.requeue(job, stalled ?? text, { isCounted: true, log: lines }));
      else await retryWrite(() => results.fail(job, { text }, lines));
    } finally {
      endStall?.();
      unsubscribe();
      this.#stop.signal.removeEventListener('abort', abort);
    }
  }

  /** Of a job that was cancelled or timed out. */
  async #keepLog(job: TakenJob, lines: string | undefined): Promise<void> {
    const { store, retryWrite } = this.#parts;
    if (lines !== undefined && !this.#stop.signal.aborted)
      await retryWrite(() => store.work.keepLog(job, lines));
  }
}

interface Reported {
  store: JobStore;
  job: TakenJob;
  signal: AbortSignal;
  onSign: () => void;
}

function reportOf({ store, job, signal, onSign }: Reported): RunReport {
  // What cannot be written is not worth the job: the result counts.
  const keep = async (write: () => Promise<unknown>): Promise<void> => {
    onSign();
    try {
      await write();
    } catch {
      // It is dropped then.
    }
  };
  return {
    signal,
    progress: (message) => keep(() => store.work.setProgress(job, outputText(message))),
    stream: (output) => keep(() => store.streams.add(job, outputText(output))),
  };
}
