/** Collects the statistics of a run. Its size does not grow with the batch. */
import type { Attempt, JobTimes } from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import type { SavedPicture } from '../core/picture.ts';
import {
  type IdleReason,
  moreJobsFor,
  type Percentiles,
  type RunStats,
  type SlotState,
  SlotUsage,
} from '../core/run-stats.ts';
import type { Clock } from './ports.ts';

/** Fields of a job that determine its lag. */
interface CollectedJob {
  attempt: Attempt;
  submittedElapsed: number;
  polledElapsed: number | undefined;
  isResumed: boolean;
}

/** Tolerance for the service's times: a job may be done before the answer to its submission arrives. */
const toleranceMs = 1_000;

export class StatsRecorder {
  readonly #clock: Clock;
  readonly #isPaused: () => boolean;
  readonly #usage: SlotUsage;
  readonly #slots = new Map<number, SlotState>();
  readonly #maxConcurrency: number;
  readonly #lags = { reported: new Times(), atMost: new Times() };
  readonly #queueTimes = new Times();
  readonly #jobs = { submitted: 0, resumed: 0 };
  readonly #requests = { submissions: 0, status: 0 };
  readonly #answers429 = { submissions: 0, status: 0 };
  readonly #pictures = { files: 0, bytes: 0 };
  #delayedPollsMs = 0;

  /**
   * `isPaused` returns true while a Retry-After keeps all submissions waiting. `maxConcurrency`: the
   * highest `concurrency` to advise.
   */
  constructor(concurrency: number, clock: Clock, isPaused: () => boolean, maxConcurrency = 0) {
    this.#maxConcurrency = maxConcurrency;
    this.#clock = clock;
    this.#isPaused = isPaused;
    this.#usage = new SlotUsage(concurrency, clock.elapsed());
  }

  setIdleReason(reason: IdleReason): void {
    this.#usage.setIdleReason(this.#clock.elapsed(), reason);
  }

  /** Puts an attempt that will be submitted into its slot. */
  enter(attempt: Attempt): void {
    this.#set(attempt, this.#queued());
  }

  /** Puts an attempt whose job an earlier run left into its slot. */
  resume(attempt: Attempt): void {
    this.#jobs.resumed += 1;
    this.#set(attempt, 'inFlight');
  }

  leave(attempt: Attempt): void {
    this.#set(attempt, undefined);
  }

  /** Changes the state of an attempt. Attempts without a slot are ignored. `queued` means waiting for its turn. */
  move(attempt: Attempt, to: SlotState | 'queued'): void {
    if (this.#slots.has(attempt.key)) this.#set(attempt, to === 'queued' ? this.#queued() : to);
  }

  countSubmission(attempt: Attempt): void {
    this.#requests.submissions += 1;
    this.move(attempt, 'inFlight');
  }

  accepted(): void {
    this.#jobs.submitted += 1;
  }

  /** Records that a submission waits to be sent again. */
  backOff(attempt: Attempt, { kind }: Failure): void {
    if (kind === 'overloaded') this.#answers429.submissions += 1;
    this.move(attempt, kind === 'overloaded' ? 'load' : 'outage');
  }

  /** Records a status request. `pausedElapsed`: since when it waited for another one's Retry-After. */
  countStatusRequest(pausedElapsed?: number): void {
    this.#requests.status += 1;
    if (pausedElapsed !== undefined) this.#delayedPollsMs += this.#clock.elapsed() - pausedElapsed;
  }

  /** Records a failed status request that is repeated after a wait. */
  pollFailed({ kind }: Failure, waitMs: number): void {
    if (kind !== 'overloaded') return;
    this.#answers429.status += 1;
    this.#delayedPollsMs += waitMs;
  }

  /** Records that the result has come. Its lag is unknown if the job may have been done before this run. */
  collected(job: CollectedJob, { delayTimeMs, executionTimeMs }: JobTimes): void {
    this.move(job.attempt, 'downloads');
    if (delayTimeMs !== undefined) this.#queueTimes.record(delayTimeMs);
    const seenElapsed = job.polledElapsed ?? (job.isResumed ? undefined : job.submittedElapsed);
    if (seenElapsed === undefined) return;
    const now = this.#clock.elapsed();
    const doneElapsed = job.submittedElapsed + (delayTimeMs ?? NaN) + (executionTimeMs ?? NaN);
    // Observations of this run take precedence over times of the service that are impossible.
    const isReported = doneElapsed >= seenElapsed && doneElapsed <= now + toleranceMs;
    const lagMs = Math.max(0, now - (isReported ? doneElapsed : seenElapsed));
    this.#lags[isReported ? 'reported' : 'atMost'].record(lagMs);
  }

  saved(pictures: SavedPicture[]): void {
    this.#pictures.files += pictures.length;
    for (const { bytes } of pictures) this.#pictures.bytes += bytes;
  }

  result(): RunStats {
    const { submitted, resumed } = this.#jobs;
    const { limit } = this.#usage;
    const timeMs = this.#usage.spentMs(this.#clock.elapsed());
    const tookMs = Object.values(timeMs).reduce((sum, ms) => sum + ms, 0);
    const stats: RunStats = {
      tookMs,
      concurrency: limit,
      jobs: { submitted, resumed },
      requests: { ...this.#requests },
      requestsPerJob: {
        submissions: perOne(this.#requests.submissions, submitted),
        status: perOne(this.#requests.status, submitted + resumed),
      },
      lagMs: this.#lags.reported.percentiles(),
      lagAtMostMs: this.#lags.atMost.percentiles(),
      lostTo429: {
        answers: { ...this.#answers429 },
        backOffMs: timeMs.load,
        slowedMs: timeMs.slowed,
        looksMs: Math.round(this.#delayedPollsMs / limit),
      },
      pictures: { ...this.#pictures, bytesPerSecond: perOne(this.#pictures.bytes, tookMs / 1000, 0) },
      timeMs,
    };
    const moreJobs = moreJobsFor(stats, this.#queueTimes.percentiles(), this.#maxConcurrency);
    return { ...stats, ...(moreJobs && { moreJobs }) };
  }

  #queued(): SlotState {
    return this.#isPaused() ? 'slowed' : 'rate';
  }

  #set({ key }: Attempt, to: SlotState | undefined): void {
    this.#usage.move(this.#clock.elapsed(), this.#slots.get(key), to);
    if (to === undefined) this.#slots.delete(key);
    else this.#slots.set(key, to);
  }
}

/**
 * Counts durations, in ms rounded to three digits, so there are at most 900 counts per power of ten. `createHistogram` of
 * Node reserves 180 KB for each instance, which took a seventh of the CPU of a short run.
 */
class Times {
  readonly #counts = new Map<number, number>();
  #jobs = 0;

  record(ms: number): void {
    const rounded = Number(Math.max(0, Math.round(ms)).toPrecision(3));
    this.#counts.set(rounded, (this.#counts.get(rounded) ?? 0) + 1);
    this.#jobs += 1;
  }

  percentiles(): Percentiles | null {
    if (this.#jobs === 0) return null;
    const counts = [...this.#counts].toSorted(([a], [b]) => a - b);
    const at = (share: number): number => {
      let below = 0;
      return counts.find(([, count]) => (below += count) >= share * this.#jobs)?.[0] ?? 0;
    };
    return { jobs: this.#jobs, p50: at(0.5), p95: at(0.95) };
  }
}

/** Returns null instead of dividing by zero. */
function perOne(number: number, by: number, digits = 2): number | null {
  return by > 0 ? Number((number / by).toFixed(digits)) : null;
}
