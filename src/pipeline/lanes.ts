/** The jobs in flight: never more at once than `concurrency` allows, fed from the checkpoint as lanes become free. */
import pLimit from 'p-limit';
import type { Attempt, SubmittedAttempt } from '../core/attempt.ts';
import { follow, freshJob, look, nextLookMs, resumedJob } from './follow.ts';
import type { Run } from './run.ts';
import { submit } from './submit.ts';

/** A feeder with nothing to do looks around this often, whatever wakes it earlier. */
const longestIdleMs = 60_000;

export class Lanes {
  readonly #run: Run;
  readonly #limit;
  readonly #inFlight = new Set<Promise<void>>();
  #submitting = 0;
  #awake = new AbortController();

  constructor(run: Run) {
    this.#run = run;
    this.#limit = pLimit(run.settings.concurrency);
    run.stop.draining.addEventListener('abort', () => this.#wake(), { once: true });
  }

  /**
   * Asks for every job that earlier runs left in flight, oldest first, and goes on following those that still run.
   * They do not queue for the limit, however small it is by now: none may wait and expire.
   */
  async resume(attempts: SubmittedAttempt[]): Promise<void> {
    const jobs = attempts.map((attempt) => resumedJob(this.#run, attempt));
    const looks = await Promise.all(jobs.map((job) => look(this.#run, job)));
    for (const [i, job] of jobs.entries()) {
      const next = looks[i];
      if (next !== undefined && next !== 'settled') this.#keep(follow(this.#run, job, next.waitMs));
    }
  }

  /** Submits and collects until no scene is waiting and no job in flight, or the run is told to stop. */
  async renderWaiting(): Promise<void> {
    const { checkpoint, clock } = this.#run.ports;
    const { stop, settings } = this.#run;
    this.#run.beginSubmitting();
    for (;;) {
      this.#run.stopAtDeadline();
      if (stop.draining.aborted) return;
      const awake = this.#awake.signal;
      const free = this.#freeLanes();
      const attempts = free === 0 ? [] : await checkpoint.claim(free, settings.endpoint, clock.now());
      for (const attempt of attempts) this.#keep(this.#limit(() => this.#render(attempt)));
      if (attempts.length > 0) continue;
      const dueAt = await checkpoint.nextDueAt();
      if (dueAt === undefined && this.#inFlight.size === 0) return;
      await clock.sleep(this.#idleMs(free, dueAt), awake);
    }
  }

  /** Resolves when nothing is in flight here any more: every job settled, or left to the next run. */
  async finish(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  async #render(attempt: Attempt): Promise<void> {
    this.#submitting += 1;
    const submitted = await submit(this.#run, attempt).finally(() => (this.#submitting -= 1));
    if (submitted === undefined) return;
    const job = freshJob(this.#run, submitted);
    await follow(this.#run, job, nextLookMs(this.#run, job));
  }

  #keep(work: Promise<void>): void {
    const kept: Promise<void> = work
      .catch((thrown: unknown) => this.#run.stopForThrown(thrown))
      .finally(() => {
        this.#inFlight.delete(kept);
        this.#wake();
      });
    this.#inFlight.add(kept);
  }

  /** While submissions are not being answered, one at a time feels its way. */
  #freeLanes(): number {
    if (this.#run.submissionPauseMs() > 0) return 0;
    const free = Math.max(0, this.#limit.concurrency - this.#inFlight.size);
    return this.#run.isProbing() ? Math.min(free, this.#submitting === 0 ? 1 : 0) : free;
  }

  #idleMs(free: number, dueAt: number | undefined): number {
    const { clock } = this.#run.ports;
    const pauseMs = this.#run.submissionPauseMs();
    const untilDueMs = free > 0 && dueAt !== undefined ? Math.max(0, dueAt - clock.now()) : longestIdleMs;
    return Math.min(longestIdleMs, pauseMs > 0 ? pauseMs : untilDueMs, this.#run.untilDeadlineMs());
  }

  #wake(): void {
    this.#awake.abort();
    this.#awake = new AbortController();
  }
}
