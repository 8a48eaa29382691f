/** Keeps the account of what a run needs and what holds it back; its size does not grow with the batch. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Attempt, SubmittedAttempt } from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import {
  slotUsageAt,
  newSlotUsage,
  wholeMs,
  withFree,
  withMove,
  type IdleReason,
  type SlotState,
} from '../core/slot-usage.ts';
import type { SavedPicture } from '../core/picture.ts';
import { lagOf, type Percentiles, type RunStats } from '../core/run-stats.ts';
import type { JobTimes } from '../core/settlement.ts';
import type { Clock } from './ports.ts';

/** An attempt in its slot; `queued` waits for the throttle, for the throttle's reason. */
interface Slot {
  state: SlotState | 'queued';
  sentAt: number;
  acceptedAt: number;
  followedAt: number;
  askedAt: number;
  runningAt: number | undefined;
}

/** Longer lags count as this long: three digits of each are kept. */
const maxLagMs = 30 * 86_400_000;

export class StatsRecorder {
  readonly #clock: Clock;
  readonly #isSlowed: Record<'submit' | 'status', () => boolean>;
  readonly #slots = new Map<number, Slot>();
  readonly #lags = { told: lagHistogram(), 'at-most': lagHistogram() };
  readonly #jobs = { submitted: 0, resumed: 0 };
  readonly #requests = { submissions: 0, status: 0 };
  readonly #answers429 = { submissions: 0, status: 0 };
  readonly #pictures = { files: 0, bytes: 0 };
  #delayedPollsMs = 0;
  #time;
  #queued: { slots: number; as: 'rate' | 'slowed' } = { slots: 0, as: 'rate' };

  /** `isSlowed`: whether the service's 429 slow the requests of an operation down. */
  constructor(concurrency: number, clock: Clock, isSlowed: Record<'submit' | 'status', () => boolean>) {
    this.#clock = clock;
    this.#isSlowed = isSlowed;
    this.#time = newSlotUsage(concurrency, clock.elapsed(), 'resuming');
  }

  /** Why slots that have no attempt have none, from now on. */
  free(reason: IdleReason): void {
    this.#time = withFree(this.#time, this.#now, reason);
  }

  /** An attempt enters its slot, to be submitted. */
  enter({ key }: Attempt): void {
    this.#add(key, 'queued', this.#now);
  }

  /** As above, with a job that an earlier run has left; its age is by the wall clock. */
  resume({ key, submittedAt }: SubmittedAttempt): void {
    this.#jobs.resumed += 1;
    this.#add(key, 'inFlight', this.#now - Math.max(0, this.#clock.now() - submittedAt));
  }

  leave({ key }: Attempt): void {
    const slot = this.#slots.get(key);
    if (slot !== undefined) this.#count(slot.state, undefined);
    this.#slots.delete(key);
  }

  /** Attempts without a slot are ignored. */
  move({ key }: Attempt, to: SlotState | 'queued'): void {
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    this.#count(slot.state, to);
    slot.state = to;
  }

  submitting(attempt: Attempt): void {
    this.#requests.submissions += 1;
    this.move(attempt, 'inFlight');
    const slot = this.#slots.get(attempt.key);
    if (slot !== undefined) slot.sentAt = this.#now;
  }

  accepted({ key }: Attempt): void {
    this.#jobs.submitted += 1;
    const slot = this.#slots.get(key);
    if (slot !== undefined) slot.acceptedAt = slot.followedAt = this.#now;
  }

  /** A submission waits to be sent again. */
  backOff(attempt: Attempt, { kind }: Failure): void {
    if (kind === 'overloaded') this.#answers429.submissions += 1;
    this.move(attempt, kind === 'overloaded' ? 'load' : 'outage');
  }

  /** A status request is sent that has waited for its turn since `queuedAt`. */
  asking({ key }: Attempt, queuedAt: number): void {
    this.#requests.status += 1;
    if (this.#isSlowed.status()) this.#delayedPollsMs += this.#now - queuedAt;
    const slot = this.#slots.get(key);
    if (slot !== undefined) slot.askedAt = this.#now;
  }

  /** A status request failed and is repeated after a wait. */
  pollFailed({ kind }: Failure, waitMs: number): void {
    if (kind !== 'overloaded') return;
    this.#answers429.status += 1;
    this.#delayedPollsMs += waitMs;
  }

  seenRunning({ key }: Attempt): void {
    const slot = this.#slots.get(key);
    if (slot !== undefined) slot.runningAt = slot.askedAt;
  }

  /** The result has come. */
  collected(attempt: Attempt, { delayTimeMs, executionTimeMs }: JobTimes): void {
    const slot = this.#slots.get(attempt.key);
    this.move(attempt, 'downloads');
    if (slot === undefined) return;
    const isReported = delayTimeMs !== undefined && executionTimeMs !== undefined;
    const toldMs = isReported ? delayTimeMs + executionTimeMs : undefined;
    const lag = lagOf({ ...slot, collectedAt: this.#now, toldMs });
    // It takes whole numbers above 0.
    if (lag !== undefined) this.#lags[lag.kind].record(1 + Math.min(maxLagMs, Math.round(lag.ms)));
  }

  saved(pictures: SavedPicture[]): void {
    this.#pictures.files += pictures.length;
    for (const { bytes } of pictures) this.#pictures.bytes += bytes;
  }

  result(): RunStats {
    const { submitted, resumed } = this.#jobs;
    const timeMs = wholeMs(slotUsageAt(this.#time, this.#now));
    const tookMs = Object.values(timeMs).reduce((sum, ms) => sum + ms, 0);
    return {
      tookMs,
      concurrency: this.#time.limit,
      jobs: { submitted, resumed },
      requests: { ...this.#requests },
      requestsPerJob: {
        submissions: perOne(this.#requests.submissions, submitted),
        status: perOne(this.#requests.status, submitted + resumed),
      },
      lagMs: percentilesOf(this.#lags.told),
      lagAtMostMs: percentilesOf(this.#lags['at-most']),
      lostTo429: {
        answers: { ...this.#answers429 },
        backOffMs: timeMs.load,
        slowedMs: timeMs.slowed,
        looksMs: Math.round(this.#delayedPollsMs / this.#time.limit),
      },
      pictures: { ...this.#pictures, bytesPerSecond: perOne(this.#pictures.bytes, tookMs / 1000, 0) },
      timeMs,
    };
  }

  get #now(): number {
    return this.#clock.elapsed();
  }

  #add(key: number, state: Slot['state'], acceptedAt: number): void {
    const now = this.#now;
    const seen = { sentAt: acceptedAt, acceptedAt, followedAt: now, askedAt: now, runningAt: undefined };
    this.#slots.set(key, { state, ...seen });
    this.#count(undefined, state);
  }

  #count(from: Slot['state'] | undefined, to: Slot['state'] | undefined): void {
    this.#updateQueueReason();
    if (from === to) return;
    const asState = (state: typeof from): SlotState | undefined =>
      state === 'queued' ? this.#queued.as : state;
    this.#time = withMove(this.#time, this.#now, asState(from), asState(to));
    this.#queued.slots += Number(to === 'queued') - Number(from === 'queued');
  }

  /** All that wait for the throttle wait for the same reason, which changes while they do. */
  #updateQueueReason(): void {
    const { slots, as } = this.#queued;
    const reason = this.#isSlowed.submit() ? 'slowed' : 'rate';
    if (reason === as) return;
    this.#time = withMove(this.#time, this.#now, as, reason, slots);
    this.#queued.as = reason;
  }
}

function lagHistogram(): RecordableHistogram {
  return createHistogram({ lowest: 1, highest: maxLagMs + 1, figures: 3 });
}

function percentilesOf(lags: RecordableHistogram): Percentiles | null {
  if (lags.count === 0) return null;
  return { jobs: lags.count, p50: lags.percentile(50) - 1, p95: lags.percentile(95) - 1 };
}

/** Null where there is nothing to divide by. */
function perOne(number: number, by: number, digits = 2): number | null {
  return by > 0 ? Number((number / by).toFixed(digits)) : null;
}
