/** Decides how fast requests may follow each other (`rate`), and how long they wait after a 429. Pure; `RateLimiter` sends by it. */
import { backoffMs, fullWaitMs, type Backoff } from './retry-policy.ts';
import type { Failure } from './failure.ts';

/** A key of `rate` in pipeline.yaml. */
export interface RequestRate {
  atOnce: number;
  perTenSeconds: number;
}

/** Share of ten seconds' requests that may be sent in a burst. The rest is spread evenly within the limit. */
const burstShare = 0.01;

/** Token bucket: each request takes a token. All instants are monotonic ms. */
export class TokenBucket {
  #perMs = 0;
  #burst = 1;
  #tokens: number;
  #at: number;
  #pausedUntil = -Infinity;

  constructor(rate: RequestRate, at: number) {
    this.#at = at;
    this.#setRate(rate);
    this.#tokens = this.#burst;
  }

  /** Changes the rate from now on, for example when runners share it. */
  change(rate: RequestRate, now: number): void {
    this.#fill(now);
    this.#setRate(rate);
  }

  take(now: number): boolean {
    if (this.waitMs(now) > 0) return false;
    this.#tokens -= 1;
    return true;
  }

  waitMs(now: number): number {
    this.#fill(now);
    const untilTokenMs = this.#tokens >= 1 ? 0 : Math.ceil((1 - this.#tokens) / this.#perMs);
    return Math.max(untilTokenMs, Math.ceil(this.#pausedUntil - now));
  }

  tokensWithin(ms: number, now: number): number {
    this.#fill(now);
    const pausedMs = Math.max(0, this.#pausedUntil - now);
    return pausedMs > ms ? 0 : Math.ceil(this.#tokens + this.#perMs * (ms - pausedMs));
  }

  /** Gives out no token before `until`. */
  pause(until: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, until);
  }

  resume(): void {
    this.#pausedUntil = -Infinity;
  }

  isPaused(now: number): boolean {
    return now < this.#pausedUntil;
  }

  #setRate({ perTenSeconds }: RequestRate): void {
    this.#burst = Math.max(1, burstShare * perTenSeconds);
    this.#perMs = ((1 - burstShare) * perTenSeconds) / 10_000;
  }

  #fill(now: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + this.#perMs * (now - this.#at));
    this.#at = now;
  }
}

/** True if the service refuses a request temporarily: 429, or another refusal with a time to retry. */
export function isRefusal({ kind, retryAfterMs = 0 }: Failure): boolean {
  return kind === 'overloaded' || retryAfterMs > 0;
}

/** Maximum jitter. A request that waits longer leaves free capacity of the service unused. */
const maxJitterMs = 10_000;

/** Returns the wait in ms after the `tries`th consecutive failure. `random` is in [0, 1). */
export function retryWaitMs(failure: Failure, tries: number, settings: Backoff, random: number): number {
  if (!isRefusal(failure)) return backoffMs(tries, settings, random);
  // Full jitter: of many requests that were refused together, some retry at any moment.
  const jitterMs = Math.round(Math.min(maxJitterMs, fullWaitMs(tries, settings)) * random);
  return Math.max(failure.retryAfterMs ?? 0, jitterMs);
}

const minuteMs = 60_000;
/** Minimum number of answers. A few refusals by a full service are no reason to change a setting. */
const minAnswers = 20;

export class RefusalCount {
  #since = -Infinity;
  #answers = 0;
  #refusals = 0;
  #hasAdvised = false;

  /** Counts an answer. Returns advice once, if most requests of the previous minute were refused. */
  add(isRefused: boolean, now: number): string | undefined {
    const [answers, refusals] = [this.#answers, this.#refusals];
    const isOver = now - this.#since >= minuteMs;
    this.#since = isOver ? now : this.#since;
    this.#answers = (isOver ? 0 : answers) + 1;
    this.#refusals = (isOver ? 0 : refusals) + (isRefused ? 1 : 0);
    const isTooMany = isOver && answers >= minAnswers && refusals * 2 > answers;
    if (!isTooMany || this.#hasAdvised) return undefined;
    this.#hasAdvised = true;
    const accepted = Math.max(1, Math.ceil((answers - refusals) / 6));
    return `the service refused ${refusals.toLocaleString('en')} of ${answers.toLocaleString('en')} submissions within a minute. They are sent again, and no scene fails for it. Set \`rate.submit.perTenSeconds\` to about ${accepted.toLocaleString('en')}, or \`concurrency\` to the number of jobs that the service holds`;
  }
}
