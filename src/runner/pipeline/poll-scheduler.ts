/** When the jobs in flight are polled: one queue of due polls, and what was learned of how long jobs take. */
import TinyQueue from 'tinyqueue';
import { nothingLearned, withCompleted, type LearnedTimes } from '../core/learned-times.ts';
import { enoughJobs, nextPollMs, type PollSettings } from '../core/polling.ts';
import type { Clock } from './ports.ts';
import { pollStateOf, type Job } from './job.ts';
import type { Stop } from './stop.ts';

/** Some of a batch's first jobs are polled often, to learn about the others. */
const maxProbes = 4;

interface DuePoll {
  job: Job;
  dueElapsed: number;
  /** Whether it is due when such jobs are likely to be done, and not after a wait that something else has set. */
  isPlanned: boolean;
  resolve: () => void;
}

export class PollScheduler {
  readonly #settings: PollSettings;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #stop: Stop;
  #queue = queueOf([]);
  #learned: LearnedTimes = nothingLearned;
  readonly #followed = new Set<Job>();
  #isSleeping = false;
  #awake = new AbortController();
  /** Whether scenes wait to be submitted. */
  hasMore = true;

  constructor(settings: PollSettings, clock: Clock, random: () => number, stop: Stop) {
    this.#settings = settings;
    this.#clock = clock;
    this.#random = random;
    this.#stop = stop;
    stop.leaving.addEventListener('abort', () => this.#wake(), { once: true });
  }

  /** Resolves when the job is due for its next poll, after `waitMs` where that is given, or the run leaves. */
  wait(job: Job, waitMs?: number): Promise<void> {
    this.#followed.add(job);
    const isPlanned = waitMs === undefined;
    const dueElapsed = isPlanned ? this.#plannedElapsed(job) : this.#clock.elapsed() + waitMs;
    return new Promise((resolve) => {
      const isFirst = dueElapsed < (this.#queue.peek()?.dueElapsed ?? Infinity);
      this.#queue.push({ job, dueElapsed, isPlanned, resolve });
      if (!this.#isSleeping) void this.#sleepUntilDue();
      else if (isFirst) this.#wake();
    });
  }

  /** The job is over, or left. */
  forget(job: Job): void {
    this.#followed.delete(job);
  }

  /** A job has completed. While little is known, the first of them are worth a new plan for all the others. */
  learn(times: { delayMs: number; executionMs: number }): void {
    this.#learned = withCompleted(this.#learned, times, this.#settings, this.#random());
    if (this.#learned.jobs === enoughJobs) this.#planAnew();
  }

  #planAnew(): void {
    const due = this.#queue.data.map((poll) =>
      poll.isPlanned ? { ...poll, dueElapsed: this.#plannedElapsed(poll.job) } : poll,
    );
    this.#queue = queueOf(due);
    this.#wake();
  }

  #plannedElapsed(job: Job): number {
    const context = {
      lastOf: this.hasMore ? undefined : this.#followed.size,
      isProbe: this.#isProbe(job),
    };
    const { state, atElapsed } = pollStateOf(job);
    return atElapsed + nextPollMs(state, this.#learned, this.#settings, context, this.#random());
  }

  #isProbe(job: Job): boolean {
    let left = maxProbes;
    for (const probe of this.#followed) {
      if (probe === job) return true;
      left -= 1;
      if (left === 0) break;
    }
    return false;
  }

  async #sleepUntilDue(): Promise<void> {
    this.#isSleeping = true;
    for (let next = this.#queue.peek(); next !== undefined; next = this.#queue.peek()) {
      const waitMs = next.dueElapsed - this.#clock.elapsed();
      if (waitMs <= 0 || this.#stop.leaving.aborted) this.#queue.pop()?.resolve();
      else await this.#clock.sleep(waitMs, this.#awake.signal);
    }
    this.#isSleeping = false;
  }

  #wake(): void {
    // Without a reason of its own each abort would make an error with a stack.
    this.#awake.abort('woken');
    this.#awake = new AbortController();
  }
}

function queueOf(polls: DuePoll[]): TinyQueue<DuePoll> {
  return new TinyQueue(polls, (a, b) => a.dueElapsed - b.dueElapsed);
}
