/** The base of all views of a run: their interface and options, the progress counted from its events, and limits for repeated lines. */
import { FinishedScenes } from '../runner/core/forecast.ts';
import type { JobWord } from '../runner/core/service-description.ts';
import type { Cost } from '../runner/core/spending.ts';
import type { Event } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';

export interface Progress {
  /** Number of waiting, active, saved and failed scenes of the run. */
  total: number;
  saved: number;
  failed: number;
  inFlight: number;
  /** Number of scenes that are not submitted yet. */
  waiting: number;
  /** Recently finished scenes per second; undefined until a few have finished. */
  perSecond: number | undefined;
  /** Remaining time. If the run ends early, time until the jobs in flight have finished. Undefined if unknown. */
  leftMs: number | undefined;
  /** Time since a job last finished, if it is unusually long; undefined otherwise. */
  stalledMs: number | undefined;
  /** Latest statuses of the jobs in flight, with the number of jobs for each. */
  words?: JobWord[];
  cost: Cost | undefined;
}

/** Minimum for `stalledMs`: without finished jobs to compare with, workers may still be starting. */
const minStallMs = 2 * 60_000;

export class ProgressCount {
  #total = 0;
  #saved = 0;
  #failed = 0;
  #inFlight = 0;
  #isStopping = false;
  /** Elapsed ms when a job last finished, or when jobs got in flight after none were. */
  #quietSince = 0;
  #cost: Cost | undefined;
  #finished: FinishedScenes;
  /** Elapsed ms of submission by job id, used if the service doesn't report execution times. */
  readonly #submittedAt = new Map<string, number>();
  /** Latest status of each job in flight, by job id. */
  readonly #words = new Map<string, string>();
  readonly #elapsed: () => number;

  /** `elapsed`: monotonic ms. */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
    this.#finished = new FinishedScenes(elapsed());
  }

  count(event: Event): void {
    if ('cost' in event) this.#cost = event.cost;
    if (event.type === 'plan-made') this.#begin(event);
    else if (event.type === 'recovered') this.#add(event.inFlight);
    else if (event.type === 'stopping') this.#isStopping = true;
    else if (event.type === 'job-status') this.#words.set(event.jobId, event.status);
    else if (event.type === 'scene-submitted') {
      this.#add(1);
      this.#submittedAt.set(event.jobId, this.#elapsed());
    } else if (event.type === 'scene-saved') {
      this.#saved += 1;
      this.#finish(this.#endJob(event));
    } else if (event.type === 'attempt-failed') {
      const isResumed = event.jobId !== undefined && this.#endJob({ ...event, jobId: event.jobId });
      if (event.next !== 'failed') return;
      this.#failed += 1;
      this.#finish(isResumed);
    }
  }

  #add(jobs: number): void {
    if (this.#inFlight <= 0) this.#quietSince = this.#elapsed();
    this.#inFlight += jobs;
  }

  /** Resets the counts. A preview also collects jobs in flight of scenes outside of it. */
  #begin({ counts, part }: Event & { type: 'plan-made' }): void {
    const { waiting, saved, failed } = part ?? counts;
    const { active } = counts;
    this.#total = waiting + active + saved + failed;
    this.#saved = saved;
    this.#failed = failed;
    this.#finished = new FinishedScenes(this.#elapsed());
  }

  now(): Progress {
    const now = this.#elapsed();
    // Further seeds that turn out to be needed (`scenes.until`) exceed the planned total.
    this.#total = Math.max(this.#total, this.#saved + this.#failed + this.#inFlight);
    const left = Math.max(0, this.#total - this.#saved - this.#failed);
    const inFlight = this.#inFlight;
    const perMs = this.#finished.perMs(now, inFlight);
    return {
      total: this.#total,
      saved: this.#saved,
      failed: this.#failed,
      inFlight,
      waiting: Math.max(0, left - inFlight),
      perSecond: perMs === undefined ? undefined : perMs * 1000,
      leftMs: this.#finished.leftMs(now, this.#isStopping ? inFlight : left, inFlight),
      stalledMs: this.#stalledMs(now),
      words: this.#countWords(),
      cost: this.#cost,
    };
  }

  #countWords(): JobWord[] {
    const counts = new Map<string, number>();
    for (const word of this.#words.values()) counts.set(word, (counts.get(word) ?? 0) + 1);
    return Array.from(counts, ([word, jobs]) => ({ word, jobs }));
  }

  #stalledMs(now: number): number | undefined {
    if (this.#inFlight <= 0) return undefined;
    const quietMs = now - this.#quietSince;
    const usualMs = Math.max(0, ...this.#finished.times);
    return quietMs > Math.max(minStallMs, 2 * usualMs) ? quietMs : undefined;
  }

  /** Forgets a finished job. True if an earlier run submitted it. */
  #endJob({ jobId, executionTimeMs }: { jobId: string; executionTimeMs?: number }): boolean {
    const submittedAt = this.#submittedAt.get(jobId);
    this.#submittedAt.delete(jobId);
    this.#words.delete(jobId);
    this.#inFlight -= 1;
    this.#quietSince = this.#elapsed();
    const ms = executionTimeMs ?? (submittedAt === undefined ? undefined : this.#elapsed() - submittedAt);
    if (ms !== undefined) this.#finished.addJobTime(ms);
    return submittedAt === undefined;
  }

  #finish(isResumed: boolean): void {
    const now = this.#elapsed();
    if (isResumed) this.#finished.addResumed(now);
    else this.#finished.add(now);
  }
}

const capacity = 40;
const perMinute = 2;

/** Limits repeated lines of a log by a token bucket. */
export class RepeatLimit {
  readonly #elapsed: () => number;
  #left = capacity;
  #filledAt: number;
  #omitted = 0;

  /** `elapsed`: monotonic ms. */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
    this.#filledAt = elapsed();
  }

  mayShow(): boolean {
    const now = this.#elapsed();
    this.#left = Math.min(capacity, this.#left + ((now - this.#filledAt) / 60_000) * perMinute);
    this.#filledAt = now;
    if (this.#left < 1) {
      this.#omitted += 1;
      return false;
    }
    this.#left -= 1;
    return true;
  }

  /** Returns the number of lines suppressed since the last call. */
  takeOmitted(): number {
    const count = this.#omitted;
    this.#omitted = 0;
    return count;
  }
}

/** Interval of progress lines: 10 s in the first minute, then 2 min, which makes 240 lines in eight hours. */
export function logPauseMs(sinceStartMs: number): number {
  return sinceStartMs < 60_000 ? 10_000 : 120_000;
}

export interface ViewOptions {
  json: boolean;
  quiet: boolean;
  file: string;
  runArguments: string;
  /** Output folder as it is shown to users. */
  shownDir: string;
  /** Place of the pictures as it is shown to users. */
  shownImages: string;
  /** True if nobody sends a bill for the jobs. */
  isFree?: boolean;
  now: () => number;
  /** Monotonic ms. */
  elapsed: () => number;
}

export interface RunView {
  emit: Listener;
  close(): void;
}
