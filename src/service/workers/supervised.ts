/** Keeps one worker up, here or on another machine: starts it when asked to, and another at growing intervals where it ends again and again. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type PullWorker, thrownText, type WorkerContext } from '../workloads/workload.ts';
import { KeptLog } from './kept-log.ts';
import type { WorkerView } from '../../protocol/console-data.ts';

/** `retiring`: it is being ended, so that another can be started. */
export type SupervisedState = 'stopped' | 'initializing' | 'up' | 'retiring' | 'unhealthy';

/** A worker that ends again and again is started at growing intervals, up to this. */
const maxPauseMs = 60_000;

const provenAfterMs = 60_000;

export class Supervised {
  readonly log = new KeptLog();
  /** Whether its end would be none of its doing: of no trouble, and another may be started at once. */
  isExcused = false;
  readonly #parts;
  readonly #stop = new AbortController();
  #starting: Promise<void> = Promise.resolve();
  #retiring: Promise<void> = Promise.resolve();
  #worker: PullWorker | undefined;
  #workerId = '';
  #state: SupervisedState = 'stopped';
  #since: number;
  /** In the log, of those before it. */
  #linesBefore = 0;
  /** In a row, without any good coming of it. */
  #endings = 0;
  #lastDeath: WorkerView['lastDeath'] = null;
  #startsAt: number | null = null;

  constructor(parts: {
    /** Epoch ms. */
    now: () => number;
    start: (context: WorkerContext) => Promise<PullWorker>;
    /** Called whenever it is in another state. */
    onChange: () => void;
    /** It ended by itself. */
    onEnded?: (workerId: string, why: string) => void;
    /** It ended, or cannot be started; another can be after the pause. */
    onProblem: (text: string, pauseMs: number) => void;
  }) {
    this.#parts = parts;
    this.#since = parts.now();
  }

  get state(): SupervisedState {
    return this.#state;
  }

  /** Epoch ms. */
  get since(): number {
    return this.#since;
  }

  /** Of the latest that ended or could not be started; null once one has done some good. */
  get lastDeath(): WorkerView['lastDeath'] {
    return this.#lastDeath;
  }

  /** Epoch ms: when its pause is over. */
  get startsAt(): number | null {
    return this.#startsAt;
  }

  /** Whether it has ended again and again. */
  get isFailing(): boolean {
    return this.#endings > 1 && this.isUnstable;
  }

  /** Whether it ended recently: it has to stay up for a while to count as stable. */
  get isUnstable(): boolean {
    const isLongUp = this.#state === 'up' && this.#parts.now() - this.#since > provenAfterMs;
    return this.#lastDeath !== null && !isLongUp;
  }

  get worker(): PullWorker | undefined {
    return this.#worker;
  }

  /** Of the latest worker; each start has another. */
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

  /** Says that it has done some good: the next ending is the first of its kind. */
  markHealthy(): void {
    this.#endings = 0;
    this.#lastDeath = null;
  }

  /** Ends the worker; another may be started once it has gone, as both might not fit into the memory of one GPU. */
  async retire(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return await this.#retiring;
    this.#worker = undefined;
    this.#become('retiring');
    this.#retiring = worker.stop();
    await this.#retiring;
    if (!this.#stop.signal.aborted) this.#become('stopped');
  }

  /** Ends the worker for good, also one that is on its way. */
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
    // One that ends for the first time is replaced at once.
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
