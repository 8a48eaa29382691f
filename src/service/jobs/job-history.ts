/** What became of jobs, by the minute and for a day: counted in memory as they end, so that it costs no query. */
import type { JobHistoryView, Quantiles } from '../../protocol/console-data.ts';
import type { JobState } from './job.ts';

/** Epoch ms; `startedAt` is null where no worker had it. */
export interface EndedJob {
  endpointId: string;
  state: JobState;
  queuedAt: number;
  startedAt: number | null;
  endedAt: number;
}

interface Minute {
  /** Since the epoch. */
  number: number;
  completed: number;
  failed: number;
  queue: number;
  gpuMs: number;
  /** How many took how long, by the steps of `stepOf`. */
  delays: Map<number, number>;
  executions: Map<number, number>;
}

const minuteMs = 60_000;
const maxMinutes = 24 * 60;

/** Minutes in a range, and in a step of it. */
const ranges = { hour: [60, 1], day: [maxMinutes, 15] } as const;

export class JobHistory {
  readonly #now: () => number;
  readonly #startedAt: number;
  /** By endpoint; oldest first, without those in which nothing was. */
  readonly #minutes = new Map<string, Minute[]>();

  /** `now` is the wall clock, epoch ms. */
  constructor(now: () => number) {
    this.#now = now;
    this.#startedAt = now();
  }

  noteEnd({ endpointId, state, queuedAt, startedAt, endedAt }: EndedJob): void {
    const minute = this.#minuteOf(endpointId);
    if (state === 'COMPLETED') minute.completed += 1;
    if (state === 'FAILED' || state === 'TIMED_OUT') minute.failed += 1;
    if (startedAt === null) return;
    const tookMs = Math.max(0, endedAt - startedAt);
    minute.gpuMs += tookMs;
    add(minute.executions, tookMs);
    add(minute.delays, Math.max(0, startedAt - queuedAt));
  }

  noteQueue(endpointId: string, jobs: number): void {
    const minute = this.#minuteOf(endpointId);
    minute.queue = Math.max(minute.queue, jobs);
  }

  /** Of an endpoint, or of all. */
  view(endpoint: string | null, range: keyof typeof ranges): JobHistoryView {
    const [minutes, perStep] = ranges[range];
    const end = Math.floor(this.#now() / minuteMs / perStep) * perStep + perStep;
    const start = end - minutes;
    const byMinute = Array.from({ length: minutes }, () => ({ completed: 0, failed: 0, queue: 0, gpuMs: 0 }));
    const [delays, executions] = [new Map<number, number>(), new Map<number, number>()];
    const lists = endpoint === null ? [...this.#minutes.values()] : [this.#minutes.get(endpoint) ?? []];
    for (const minute of lists.flat()) {
      const sum = byMinute[minute.number - start];
      if (sum === undefined) continue;
      for (const what of ['completed', 'failed', 'queue', 'gpuMs'] as const) sum[what] += minute[what];
      for (const [step, count] of minute.delays) delays.set(step, (delays.get(step) ?? 0) + count);
      for (const [step, count] of minute.executions)
        executions.set(step, (executions.get(step) ?? 0) + count);
    }
    const steps = Array.from({ length: minutes / perStep }, (_, index) => {
      const some = byMinute.slice(index * perStep, (index + 1) * perStep);
      const sum = (what: 'completed' | 'failed' | 'gpuMs') => some.reduce((all, each) => all + each[what], 0);
      const queue = Math.max(...some.map((each) => each.queue));
      const at = (start + index * perStep) * minuteMs;
      return { at, completed: sum('completed'), failed: sum('failed'), queue, gpuMs: sum('gpuMs') };
    });
    const since = Math.max(start * minuteMs, this.#startedAt);
    return {
      since,
      stepMs: perStep * minuteMs,
      steps,
      delay: quantiles(delays),
      execution: quantiles(executions),
    };
  }

  #minuteOf(endpointId: string): Minute {
    const number = Math.floor(this.#now() / minuteMs);
    let minutes = this.#minutes.get(endpointId);
    if (minutes === undefined) this.#minutes.set(endpointId, (minutes = []));
    const last = minutes.at(-1);
    // A clock that was set back goes on in the same minute.
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

/** A step is a twelfth longer than the one before it. */
const stepsAnOctave = 9;

function add(steps: Map<number, number>, ms: number): void {
  const step = Math.round(Math.log2(ms + 1) * stepsAnOctave);
  steps.set(step, (steps.get(step) ?? 0) + 1);
}

function quantiles(steps: Map<number, number>): Quantiles | null {
  const sorted = [...steps].toSorted(([one], [other]) => one - other);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  const at = (share: number): number => {
    let before = 0;
    const [step] = sorted.find(([, count]) => (before += count) >= share * total) ?? [0];
    return Math.round(2 ** (step / stepsAnOctave) - 1);
  };
  return { p50: at(0.5), p95: at(0.95) };
}
