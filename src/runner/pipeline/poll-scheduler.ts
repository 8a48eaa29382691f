/** When the jobs in flight are polled, by what was learned of how long jobs take. */
import { setMaxListeners } from 'node:events';
import {
  enoughJobs,
  nextPollMs,
  nothingLearned,
  withCompleted,
  type LearnedTimes,
  type PollRules,
} from '../core/polling.ts';
import type { Clock } from './ports.ts';
import { pollStateOf, type Job } from './job.ts';
import type { Stop } from './stop.ts';

/** Some of a batch's first jobs are polled often, to learn about the others. */
const maxProbes = 4;

export class PollScheduler {
  readonly #rules: PollRules;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #stop: Stop;
  #learned: LearnedTimes = nothingLearned;
  readonly #followed = new Set<Job>();
  readonly #probes = new Set<Job>();
  /** Aborts where all planned polls have to be planned anew, or the run leaves. */
  #planned = manyListeners();
  /** Whether scenes wait to be submitted. */
  hasMore = true;

  constructor(rules: PollRules, clock: Clock, random: () => number, stop: Stop) {
    this.#rules = rules;
    this.#clock = clock;
    this.#random = random;
    this.#stop = stop;
    stop.leaving.addEventListener('abort', () => this.#planAnew(), { once: true });
  }

  /** Resolves when the job is due for its next poll, after `waitMs` where that is given, or the run leaves. */
  async wait(job: Job, waitMs?: number): Promise<void> {
    this.#followed.add(job);
    if (this.#probes.size < maxProbes) this.#probes.add(job);
    let dueElapsed = waitMs === undefined ? this.#plannedElapsed(job) : this.#clock.elapsed() + waitMs;
    while (dueElapsed > this.#clock.elapsed() && !this.#stop.leaving.aborted) {
      const { signal } = this.#planned;
      await this.#clock.sleep(dueElapsed - this.#clock.elapsed(), signal);
      if (signal.aborted && waitMs === undefined) dueElapsed = this.#plannedElapsed(job);
    }
  }

  /** The job is over, or left. */
  forget(job: Job): void {
    this.#followed.delete(job);
    this.#probes.delete(job);
  }

  /** A job has completed. While little is known, the first of them are worth a new plan for all the others. */
  learn(times: { delayMs: number; executionMs: number }): void {
    this.#learned = withCompleted(this.#learned, times, this.#random());
    if (this.#learned.jobs === enoughJobs) this.#planAnew();
  }

  #plannedElapsed(job: Job): number {
    const lastOf = this.hasMore ? undefined : this.#followed.size;
    const role = { lastOf, isProbe: this.#probes.has(job) };
    const { state, atElapsed } = pollStateOf(job);
    return atElapsed + nextPollMs(state, this.#learned, this.#rules, role, this.#random());
  }

  #planAnew(): void {
    // Without a reason of its own each abort would make an error with a stack.
    this.#planned.abort('planned anew');
    this.#planned = manyListeners();
  }
}

function manyListeners(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
