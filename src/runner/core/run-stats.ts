/** Statistics of a run, and every reason why it sends no more at a moment: `idleReasons`. `StatsRecorder` measures them. */

/** Durations are whole ms. */
export interface RunStats {
  /** From the beginning of the plan until no job of this run was in flight. */
  tookMs: number;
  concurrency: number;
  /** Jobs that the service accepted, and jobs that earlier runs had left in flight. */
  jobs: { submitted: number; resumed: number };
  requests: { submissions: number; status: number };
  /** Submissions per accepted job, and status requests per followed job. Null without such jobs. */
  requestsPerJob: { submissions: number | null; status: number | null };
  /** Time from completion to arrival, for jobs whose times the service reports. Null if there are none. */
  lagMs: Percentiles | null;
  /** Upper bound of the lag of other jobs: since the last poll that saw them running. Null if there are none. */
  lagAtMostMs: Percentiles | null;
  lostTo429: {
    answers: { submissions: number; status: number };
    /** The same as `timeMs.load` and `timeMs.slowed`. */
    backOffMs: number;
    slowedMs: number;
    /** Delay of polls, in the same unit as `timeMs`. Some of these polls would have found nothing. */
    looksMs: number;
  };
  pictures: { files: number; bytes: number; bytesPerSecond: number | null };
  /** Time of the slots by state; the sum is `tookMs`. Half of the slots for an hour count as half an hour. */
  timeMs: Record<SlotState, number>;
  /** Absent unless more jobs in flight may finish sooner. */
  moreJobs?: MoreJobs;
}

/** Advice to have more jobs in flight. */
export interface MoreJobs {
  /** Slots of the run, which were in use nearly all the time. */
  slots: number;
  /** Time in ms that 95 of 100 jobs waited at most at the service. */
  beganWithinMs: number;
  /** The `concurrency` to try. */
  concurrency: number;
}

export interface Percentiles {
  jobs: number;
  p50: number;
  p95: number;
}

/**
 * Reasons why a slot has no job at the service, with their meaning. A run has as many slots as `concurrency`
 * allows jobs in flight. The manual uses the same order.
 */
export const idleReasons = {
  rate: 'a submission waits for its turn within `rate.submit`',
  slowed: 'a submission waits for the `Retry-After` that another one received',
  load: 'a submission was answered 429 and waits to be sent again',
  outage:
    'the service does not answer, knows none of its jobs, or refuses a key that worked, or results cannot be downloaded; it is asked from time to time',
  downloads: 'the job is done, and its files are being downloaded',
  memory: 'the job is done, and its answer waits for memory',
  checking: 'the job is done, and its files are being decoded and checked',
  disk: 'a file or a line of the checkpoint is being written',
  limits: 'nothing more may be submitted: a deadline or budget is reached (`limits`)',
  resuming: 'the plan is being made, and jobs of earlier runs are collected first',
  retries: 'all remaining scenes wait for their next attempt',
  stopping: 'the run is stopping and finishes its jobs in flight',
  nothingLeft: 'fewer scenes are left than slots',
} as const satisfies Record<string, string>;

export type IdleReason = keyof typeof idleReasons;
export type SlotState = 'inFlight' | IdleReason;

export const slotStates = ['inFlight', ...(Object.keys(idleReasons) as IdleReason[])] as const;

type PerState = Record<SlotState, number>;

const minuteMs = 60_000;

/**
 * Returns advice to have more jobs in flight, if nothing but `concurrency` limited a long run and jobs began at once.
 * Undefined otherwise. `queueMs`: time that jobs waited at the service, if it reports that. `maxConcurrency`: highest to
 * advise.
 */
export function moreJobsFor(
  { tookMs, concurrency: slots, jobs, lostTo429, timeMs }: RunStats,
  queueMs: Percentiles | null,
  maxConcurrency: number,
): MoreJobs | undefined {
  const isLong = tookMs >= 5 * minuteMs && jobs.submitted >= Math.max(300, 8 * slots);
  const limitedMs = timeMs.rate + timeMs.slowed + timeMs.load + timeMs.outage + timeMs.limits;
  const isRefused = lostTo429.answers.submissions > 0 || limitedMs > tookMs / 100;
  if (!isLong || isRefused || timeMs.inFlight < 0.9 * tookMs) return undefined;
  if (queueMs === null || queueMs.jobs < jobs.submitted / 2 || queueMs.p95 > 1_000) return undefined;
  const concurrency = Math.min(4 * slots, maxConcurrency);
  return concurrency > slots ? { slots, beganWithinMs: queueMs.p95, concurrency } : undefined;
}

/** Accounts for the time of a run's slots, in constant space. All instants are monotonic ms. */
export class SlotUsage {
  readonly limit: number;
  #at: number;
  #idleReason: IdleReason = 'resuming';
  readonly #attempts = none();
  readonly #spentMs = none();

  constructor(limit: number, at: number) {
    this.limit = limit;
    this.#at = at;
  }

  /** Moves an attempt from one state to another. `from` is undefined if it enters its slot, `to` if it leaves it. */
  move(at: number, from: SlotState | undefined, to: SlotState | undefined): void {
    this.#pass(at);
    if (from !== undefined) this.#attempts[from] -= 1;
    if (to !== undefined) this.#attempts[to] += 1;
  }

  setIdleReason(at: number, reason: IdleReason): void {
    this.#pass(at);
    this.#idleReason = reason;
  }

  /** Returns whole ms by state until `at`, scaled to a single slot, so their sum is the elapsed time. */
  spentMs(at: number): PerState {
    this.#pass(at);
    const whole = slotStates.map((state) => [state, Math.round(this.#spentMs[state])]);
    return Object.fromEntries(whole) as PerState;
  }

  /** Attempts in flight come first, because a resumed batch can have more attempts than slots. */
  #pass(at: number): void {
    const eachMs = (at - this.#at) / this.limit;
    this.#at = at;
    let left = this.limit;
    for (const state of slotStates) {
      const slots = Math.min(left, this.#attempts[state]);
      this.#spentMs[state] += slots * eachMs;
      left -= slots;
    }
    this.#spentMs[this.#idleReason] += left * eachMs;
  }
}

function none(): PerState {
  return Object.fromEntries(slotStates.map((state) => [state, 0])) as PerState;
}
