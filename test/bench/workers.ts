/** The bench service's workers: who works on which job when, and how much of their time was used. */
import type { Job } from './job-book.ts';
import type { Load, Work, WorkerChange } from './load.ts';
import { drawExecutionMs } from './random.ts';

/** How well the workers were used for a while after their number had changed. */
export interface UseAfterChange {
  workers: number;
  judgedMs: number;
  /** Of what so many workers could have done in that time; undefined before it is over. */
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
  /** Ms of work done within the number of workers, up to an instant. */
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
    // Not before this submission is answered.
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

  /** Those who finish a job after their number was lowered count no more than their number. */
  #countWork(): void {
    const now = performance.now();
    this.#workedMs += Math.min(this.#busy, this.#allowed) * (now - this.#workedUntil);
    this.#workedUntil = now;
  }
}
