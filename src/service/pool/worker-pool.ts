/** The workers that the service itself runs for an endpoint, fed from the job store. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobStore } from '../jobs/job-store.ts';
import type { JobResults } from '../jobs/job-results.ts';
import type { Workload } from '../workloads/workload.ts';
import {
  isWornOut,
  keptWorkers,
  type OwnWorkersSettings,
  spareWorkers,
  startWanted,
  withoutRepeats,
} from './own-workers.ts';
import { WorkerSlot } from './worker-slot.ts';
import { ownView, type WorkerView } from './worker-view.ts';

export interface PoolParts {
  store: JobStore;
  results: JobResults;
  workload: Workload;
  endpoint: OwnWorkersSettings;
  onProblem: (text: string) => void;
}

/** How long to wait where the store could not be written, before that is tried again. */
const retryWaitMs = 1_000;

export class WorkerPool {
  readonly #parts: PoolParts;
  readonly #stop = new AbortController();
  readonly #slots: WorkerSlot[];
  readonly #unsubscribe: () => void;
  readonly #report: (text: string) => void;
  #isTaking = false;
  #taking: Promise<void> = Promise.resolve();
  #isWoken = false;
  #retiring: NodeJS.Timeout | undefined;
  /** Why a worker last failed to start, or ended. */
  #problem: string | null = null;

  constructor(parts: PoolParts) {
    this.#parts = parts;
    this.#report = withoutRepeats(parts.onProblem);
    const { store, results, workload, endpoint } = parts;
    this.#slots = Array.from(
      { length: endpoint.workers },
      () =>
        new WorkerSlot({
          store,
          results,
          workload,
          stallMs: endpoint.stallMs,
          isWornOut: (use) => isWornOut(endpoint, use),
          retryWrite: (write) => this.#retryWrite(write),
          onChange: () => this.wake(),
          onProblem: (text) => this.#reportProblem(text),
        }),
    );
    this.#unsubscribe = store.signals.on(`queued ${endpoint.id}`, () => this.wake());
    if (keptWorkers(endpoint) < endpoint.workers)
      this.#retiring = setInterval(() => this.#retire(), endpoint.idleMs / 4).unref();
    this.wake();
  }

  views(): WorkerView[] {
    return this.#slots.flatMap<WorkerView>(({ state, jobIds, supervised, use }) => {
      if (state === 'stopped') return [];
      const { workerId, since, log, lastDeath, startsAt, isFailing } = supervised;
      const shown = state === 'initializing' && isFailing ? 'unhealthy' : state;
      const own = { since, lastSeenAt: since, lastDeath, startsAt, log: log.latest };
      return [{ ...ownView, id: workerId, state: shown, jobIds, ...own, ...use }];
    });
  }

  /** Why a worker is unstable; null where none is. */
  get problem(): string | null {
    return this.#slots.some(({ supervised }) => supervised.isUnstable) ? this.#problem : null;
  }

  logOf(jobId: string): readonly string[] {
    return this.#slots.find(({ jobIds }) => jobIds.includes(jobId))?.supervised.log.ofJob ?? [];
  }

  /** Says that a job may be waiting, or a worker be free. */
  wake(): void {
    this.#isWoken = true;
    if (!this.#isTaking) this.#taking = this.#takeJobs();
  }

  /** Takes no more jobs and stops running workloads; late results are dropped. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#unsubscribe();
    clearInterval(this.#retiring);
    // What is taken meanwhile is not begun, and is in the store when this resolves.
    await this.#taking;
    await Promise.all(this.#slots.map((slot) => slot.stop()));
  }

  async #takeJobs(): Promise<void> {
    this.#isTaking = true;
    while (this.#isWoken && !this.#stop.signal.aborted) {
      this.#isWoken = false;
      const { store, endpoint } = this.#parts;
      const idle = this.#slots.filter(({ state }) => state === 'idle');
      const takers = idle.map(({ supervised }) => ({ workerId: supervised.workerId, isPulled: false }));
      const jobs =
        takers.length === 0
          ? []
          : ((await this.#retryWrite(() => store.work.take(endpoint.id, takers))) ?? []);
      if (this.#stop.signal.aborted) break;
      if (jobs.length > 0) this.#problem = null;
      for (const job of jobs)
        void idle.find(({ supervised }) => supervised.workerId === job.workerId)?.work(job);
      const supervised = this.#slots.map((slot) => slot.supervised);
      startWanted(supervised, endpoint, () => store.reads.takeable(endpoint.id));
    }
    this.#isTaking = false;
  }

  #retire(): void {
    const { endpoint } = this.#parts;
    const supervised = this.#slots.map((slot) => slot.supervised);
    const idle = this.#slots.filter((slot) => slot.idleMs > endpoint.idleMs);
    for (const slot of idle.slice(0, Math.max(0, spareWorkers(supervised, endpoint))))
      void slot.supervised.retire();
  }

  #reportProblem(text: string): void {
    if (text !== this.#problem) this.#report(`endpoint ${this.#parts.endpoint.id}: ${text}`);
    this.#problem = text;
  }

  /** Tries until it is written, as a full disk may be emptied; undefined once stopped. */
  async #retryWrite<T>(write: () => Promise<T>): Promise<T | undefined> {
    while (!this.#stop.signal.aborted) {
      try {
        return await write();
      } catch (error) {
        const { endpoint, onProblem } = this.#parts;
        onProblem(`endpoint ${endpoint.id} cannot write to the job store: ${String(error)}`);
        await sleep(retryWaitMs, undefined, { signal: this.#stop.signal, ref: false }).catch(() => undefined);
      }
    }
    return undefined;
  }
}
