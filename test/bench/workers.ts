/** The workers of the bench service: which jobs they run when, and how much of their time was used. */
import type { Job } from './job-book.ts';
import type { Load, Work, WorkerChange } from './load.ts';
import { drawExecutionMs } from './random.ts';

/** How well the workers were used in a period after their number had changed. */
export interface UseAfterChange {
  workers: number;
  judgedMs: number;
  /**
   * Share of the work that this number of workers could have done in the period. Undefined before the period is over.
   */
  share?: number;
}

export class Workers {
  readonly usesAfterChanges: UseAfterChange[] = [];
  readonly #work: Work;
  readonly #scenes: number;
  readonly #draw: () => number;
  readonly #queue: Job[] = [];
  #allowed: number;
  #busy = 0;
  #submitted = 0;
  /** Ms of work done until `#workedUntil`, by no more workers than allowed. */
  #workedMs = 0;
  #workedUntil = 0;

  constructor({ work, seed, scenes }: Load) {
    this.#work = work;
    this.#scenes = scenes;
    this.#draw = drawExecutionMs(work, seed);
    this.#allowed = work.kind === 'workers' ? work.workers : Infinity;
  }

  get queuedPerWorker(): number {
    return this.#queue.length / this.#allowed;
  }

  take(job: Job): void {
    this.#submitted += 1;
    if (this.#submitted === 1) this.#planChanges();
    job.executionMs = this.#draw();
    if (this.#work.kind === 'instant') job.completedAt = job.startedAt = job.submittedAt;
    else this.#queue.push(job);
    if (this.#work.kind === 'workers') this.#startQueued();
    // The delay lets this submission be answered first.
    else if (this.#submitted === this.#scenes) setTimeout(() => this.#completeAll(), 100);
  }

  #startQueued(): void {
    while (this.#busy < this.#allowed) {
      const job = this.#queue.shift();
      if (job === undefined) return;
      this.#countWork();
      this.#busy += 1;
      job.startedAt = performance.now();
      setTimeout(() => this.#complete(job), job.executionMs);
    }
  }

  #complete(job: Job): void {
    this.#countWork();
    this.#busy -= 1;
    job.completedAt = performance.now();
    this.#startQueued();
  }

  #completeAll(): void {
    const now = performance.now();
    for (const job of this.#queue.splice(0)) job.completedAt = job.startedAt = now;
  }

  #planChanges(): void {
    this.#workedUntil = performance.now();
    const changes = this.#work.kind === 'workers' ? this.#work.changes : undefined;
    for (const change of changes ?? []) setTimeout(() => this.#change(change), change.atMs);
  }

  #change({ workers, judgedMs }: WorkerChange): void {
    this.#countWork();
    this.#allowed = workers;
    this.#startQueued();
    const use: UseAfterChange = { workers, judgedMs };
    this.usesAfterChanges.push(use);
    const [before, since] = [this.#workedMs, performance.now()];
    setTimeout(() => {
      this.#countWork();
      use.share = (this.#workedMs - before) / (workers * (performance.now() - since));
    }, judgedMs);
  }

  /**
   * Counts the work done so far. Workers that finish a job after their number was lowered are not counted beyond it.
   */
  #countWork(): void {
    const now = performance.now();
    this.#workedMs += Math.min(this.#busy, this.#allowed) * (now - this.#workedUntil);
    this.#workedUntil = now;
  }
}
