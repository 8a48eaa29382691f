/** Statistics of ended jobs, counted in memory so that they need no query: by the minute for one day, and histograms. */
import type { JobHistoryView, Quantiles } from '../../protocol/console-data.ts';
import type { JobState } from '../model/job.ts';

/** An ended job. Times are epoch ms; `startedAt` is null if no worker had the job. */
export interface EndedJob {
  endpointId: string;
  state: JobState;
  queuedAt: number;
  startedAt: number | null;
  endedAt: number;
}

interface Minute {
  /** Minutes since the epoch. */
  number: number;
  completed: number;
  failed: number;
  /** Greatest number of jobs in the queue. */
  queue: number;
  /** Sum of the execution times. */
  gpuMs: number;
  delays: Times;
  executions: Times;
}

/** Number of jobs by the power of their duration (`powerOf`). */
type Times = Map<number, number>;

const minuteMs = 60_000;
const maxMinutes = 24 * 60;

/** Number of minutes in a range, and in one step of it. */
const ranges = { hour: [60, 1], day: [maxMinutes, 15] } as const;

export class JobHistory {
  readonly #now: () => number;
  readonly #startedAt: number;
  /** Minutes by endpoint id, oldest first; all endpoints together under `''`. Minutes without events are left out. */
  readonly #minutes = new Map<string, Minute[]>();

  /** `now`: clock of `JobClock`, epoch ms. */
  constructor(now: () => number) {
    this.#now = now;
    this.#startedAt = now();
  }

  noteEnd({ endpointId, state, queuedAt, startedAt, endedAt }: EndedJob): void {
    for (const minute of [this.#minuteOf(endpointId), this.#minuteOf('')]) {
      if (state === 'COMPLETED') minute.completed += 1;
      if (state === 'FAILED' || state === 'TIMED_OUT') minute.failed += 1;
      if (startedAt === null) continue;
      minute.gpuMs += Math.max(0, endedAt - startedAt);
      add(minute.executions, powerOf(endedAt - startedAt));
      add(minute.delays, powerOf(startedAt - queuedAt));
    }
  }

  /** Notes how many jobs wait at each endpoint now. */
  noteQueues(queues: { endpointId: string; jobs: number }[]): void {
    const all = { endpointId: '', jobs: queues.reduce((sum, { jobs }) => sum + jobs, 0) };
    for (const { endpointId, jobs } of [...queues, all]) {
      const minute = this.#minuteOf(endpointId);
      minute.queue = Math.max(minute.queue, jobs);
    }
  }

  /** Returns the history of one endpoint, or of all together for null. */
  view(endpoint: string | null, range: keyof typeof ranges): JobHistoryView {
    const [minutes, perStep] = ranges[range];
    const start = (Math.floor(this.#now() / minuteMs / perStep) + 1) * perStep - minutes;
    const steps = Array.from({ length: minutes / perStep }, (_, index) => {
      const at = (start + index * perStep) * minuteMs;
      return { at, completed: 0, failed: 0, queue: 0, gpuMs: 0 };
    });
    const [delays, executions]: [Times, Times] = [new Map(), new Map()];
    for (const minute of this.#minutes.get(endpoint ?? '') ?? []) {
      const step = steps[Math.floor((minute.number - start) / perStep)];
      if (step === undefined) continue;
      for (const what of ['completed', 'failed', 'gpuMs'] as const) step[what] += minute[what];
      step.queue = Math.max(step.queue, minute.queue);
      for (const [time, count] of minute.delays) add(delays, time, count);
      for (const [time, count] of minute.executions) add(executions, time, count);
    }
    const since = Math.max(start * minuteMs, this.#startedAt);
    const [delay, execution] = [quantiles(delays), quantiles(executions)];
    return { since, stepMs: perStep * minuteMs, steps, delay, execution };
  }

  #minuteOf(endpointId: string): Minute {
    const number = Math.floor(this.#now() / minuteMs);
    let minutes = this.#minutes.get(endpointId);
    if (minutes === undefined) this.#minutes.set(endpointId, (minutes = []));
    const last = minutes.at(-1);
    // If the clock was set back, the latest minute continues.
    if (last !== undefined && last.number >= number) return last;
    const minute = {
      number,
      completed: 0,
      failed: 0,
      queue: 0,
      gpuMs: 0,
      delays: new Map(),
      executions: new Map(),
    };
    minutes.push(minute);
    if (minutes.length > maxMinutes) minutes.shift();
    return minute;
  }
}

/** Durations are rounded to powers of this base, so that few entries describe many jobs. */
const precision = 1.08;

function add(times: Times, time: number, count = 1): void {
  times.set(time, (times.get(time) ?? 0) + count);
}

/** Returns the power of `precision` that is nearest to a duration. */
function powerOf(ms: number): number {
  return Math.round(Math.log(Math.max(0, ms) + 1) / Math.log(precision));
}

function quantiles(times: Times): Quantiles | null {
  const sorted = [...times].toSorted(([one], [other]) => one - other);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  const at = (share: number): number => {
    let before = 0;
    const [power] = sorted.find(([, count]) => (before += count) >= share * total) ?? [0];
    return Math.round(precision ** power - 1);
  };
  return { p50: at(0.5), p95: at(0.95) };
}

/** Upper bounds of the buckets in seconds. Longer times are only in the count. */
const bucketSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800] as const;

interface Durations {
  delay: Histogram;
  execution: Histogram;
}

/** Histograms of the times that jobs waited and executed since the start of the service. */
export class JobDurations {
  readonly #byEndpoint = new Map<string, Durations>();

  /** Counts a job that ended, unless no worker ever had it. */
  noteEnd({ endpointId, queuedAt, startedAt, endedAt }: EndedJob): void {
    if (startedAt === null) return;
    const { delay, execution } = this.of(endpointId);
    delay.add((startedAt - queuedAt) / 1_000);
    execution.add((endedAt - startedAt) / 1_000);
  }

  of(endpointId: string): Durations {
    const known = this.#byEndpoint.get(endpointId) ?? {
      delay: new Histogram(bucketSeconds),
      execution: new Histogram(bucketSeconds),
    };
    this.#byEndpoint.set(endpointId, known);
    return known;
  }
}

/** Counts times in seconds by upper bounds. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #buckets: number[];
  count = 0;
  sumSeconds = 0;

  /** `bounds`: upper bounds in seconds, in ascending order. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#buckets = bounds.map(() => 0);
  }

  /** Pairs of a bound and the number of times up to it. */
  get buckets(): [bound: number, count: number][] {
    return this.#bounds.map((bound, index) => [bound, this.#buckets[index] ?? 0]);
  }

  /** Adds a time in seconds. Negative times, after the clock was set back, count as 0. */
  add(given: number): void {
    const seconds = Math.max(0, given);
    this.count += 1;
    this.sumSeconds += seconds;
    for (const [index, bound] of this.#bounds.entries())
      if (seconds <= bound) this.#buckets[index] = (this.#buckets[index] ?? 0) + 1;
  }
}
