/** Starts one worker when asked to, feeds it jobs, and delays restarts for longer and longer if it keeps ending. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Text } from '../../lib/files/filed-text.ts';
import type { WorkerView } from '../../protocol/console-data.ts';
import {
  outputText,
  type PullWorker,
  type RunReport,
  thrownText,
  type Worker,
  WorkerAway,
  type WorkerContext,
  WorkerDied,
  type WorkloadJob,
} from '../workloads/workload-definition.ts';
import { KeptLog } from './remote-worker.ts';

/** `retiring`: the worker is being ended, so that another can be started. */
type SupervisedState = 'stopped' | 'initializing' | 'up' | 'retiring' | 'unhealthy';

/** Maximum pause before a worker that keeps ending is started again. */
const maxPauseMs = 60_000;

const provenAfterMs = 60_000;

export class Supervised {
  readonly log = new KeptLog();
  /** True if the worker's end would be intended. It then is no problem, and another worker may start at once. */
  isExcused = false;
  readonly #parts;
  readonly #stop = new AbortController();
  #starting: Promise<void> = Promise.resolve();
  #retiring: Promise<void> = Promise.resolve();
  #worker: PullWorker | undefined;
  #workerId = '';
  #state: SupervisedState = 'stopped';
  #since: number;
  #linesBefore = 0;
  /** Number of consecutive ends without a completed job. */
  #endings = 0;
  #lastDeath: WorkerView['lastDeath'] = null;
  #startsAt: number | null = null;

  constructor(parts: {
    /** Clock in epoch ms. */
    now: () => number;
    start: (context: WorkerContext) => Promise<PullWorker>;
    onChange: () => void;
    onEnded?: (workerId: string, why: string) => void;
    /** Called when the worker has ended or cannot be started. Another may be started after `pauseMs`. */
    onProblem: (text: string, pauseMs: number) => void;
  }) {
    this.#parts = parts;
    this.#since = parts.now();
  }

  get state(): SupervisedState {
    return this.#state;
  }

  /** Time of the last change of state (epoch ms). */
  get since(): number {
    return this.#since;
  }

  /** Latest end or failed start of a worker; null after a completed job. */
  get lastDeath(): WorkerView['lastDeath'] {
    return this.#lastDeath;
  }

  /** End of the current pause (epoch ms); null if there is none. */
  get startsAt(): number | null {
    return this.#startsAt;
  }

  /** True if the worker has ended several times in a row and is unstable. */
  get isFailing(): boolean {
    return this.#endings > 1 && this.isUnstable;
  }

  /** True if a worker has ended, and the current one has neither completed a job nor been up for a minute. */
  get isUnstable(): boolean {
    const isLongUp = this.#state === 'up' && this.#parts.now() - this.#since > provenAfterMs;
    return this.#lastDeath !== null && !isLongUp;
  }

  get worker(): PullWorker | undefined {
    return this.#worker;
  }

  /** Id of the latest worker. Every start has a new id. */
  get workerId(): string {
    return this.#workerId;
  }

  start(): Promise<void> {
    if (this.#state === 'stopped' && !this.#stop.signal.aborted) this.#starting = this.#start();
    return this.#starting;
  }

  async #start(): Promise<void> {
    this.isExcused = false;
    this.#workerId = randomBytes(6).toString('hex');
    this.#linesBefore = this.log.count;
    this.#become('initializing');
    const log = (line: string): void => this.log.add(line);
    const context = { workerId: this.#workerId, log, signal: this.#stop.signal };
    let worker: PullWorker;
    try {
      worker = await this.#parts.start(context);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      await this.#pause('a worker cannot be started', thrownText(error));
      return;
    }
    if (this.#stop.signal.aborted) {
      await worker.stop();
      return;
    }
    this.#worker = worker;
    this.#become('up');
    void worker.ended.then((why) => this.#onEnded(worker, why));
  }

  /** Forgets earlier ends, because the worker has completed a job or has contacted the service. */
  markHealthy(): void {
    this.#endings = 0;
    this.#lastDeath = null;
  }

  /** Ends the worker. Another can start only after it has ended, because both might not fit into a GPU's memory. */
  async retire(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return await this.#retiring;
    this.#worker = undefined;
    this.#become('retiring');
    this.#retiring = worker.stop();
    await this.#retiring;
    if (!this.#stop.signal.aborted) this.#become('stopped');
  }

  /** Ends the worker permanently, also if it is still starting. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#starting, this.#retiring, this.#worker?.stop()]);
  }

  #onEnded(worker: PullWorker, why: string): void {
    if (this.#worker !== worker || this.#stop.signal.aborted) return;
    this.#worker = undefined;
    const lastLine = this.log.count > this.#linesBefore ? this.log.latest.at(-1) : undefined;
    this.log.add(why);
    this.#parts.onEnded?.(this.#workerId, why);
    if (this.isExcused) this.#become('stopped');
    else
      void this.#pause(
        'a worker ended',
        lastLine === undefined ? why : `${why}; its last line was: ${lastLine}`,
      );
  }

  async #pause(what: string, why: string): Promise<void> {
    this.#endings += 1;
    // After its first end, a worker is replaced at once.
    const pauseMs = this.#endings === 1 ? 0 : Math.min(maxPauseMs, 500 * 2 ** this.#endings);
    this.#lastDeath = { why, at: this.#parts.now() };
    this.#startsAt = this.#parts.now() + pauseMs;
    this.#become('unhealthy');
    this.#parts.onProblem(`${what}: ${why}`, pauseMs);
    await sleep(pauseMs, undefined, { signal: this.#stop.signal, ref: false }).catch(() => undefined);
    this.#startsAt = null;
    if (!this.#stop.signal.aborted) this.#become('stopped');
  }

  #become(state: SupervisedState): void {
    this.#state = state;
    this.#since = this.#parts.now();
    this.#parts.onChange();
  }
}

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

/** Wraps a worker so that it takes jobs from a `JobSource`, one at a time, until it ends. */
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
