/** Schedules polls of the jobs in flight, by learned job durations. */
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

/** Number of first jobs that are polled often, to learn about the others. */
const maxProbes = 4;

export class PollScheduler {
  readonly #rules: PollRules;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #stop: Stop;
  #learned: LearnedTimes = nothingLearned;
  readonly #followed = new Set<Job>();
  readonly #probes = new Set<Job>();
  /** Aborts when all planned polls must be planned again, or when the run leaves. */
  #planned = manyListeners();
  /** True if scenes wait to be submitted. */
  hasMore = true;

  constructor(rules: PollRules, clock: Clock, random: () => number, stop: Stop) {
    this.#rules = rules;
    this.#clock = clock;
    this.#random = random;
    this.#stop = stop;
    stop.leaving.addEventListener('abort', () => this.#planAnew(), { once: true });
  }

  /** Resolves when the job is due for its next poll, after `waitMs` if given, or when the run leaves. */
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

  /** Stops scheduling a job that is over or left. */
  forget(job: Job): void {
    this.#followed.delete(job);
    this.#probes.delete(job);
  }

  /** Learns from a completed job. While little is known, the first jobs lead to a new schedule for all. */
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
    // With a given reason, the abort does not create an error with a stack trace.
    this.#planned.abort('planned anew');
    this.#planned = manyListeners();
  }
}

function manyListeners(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
