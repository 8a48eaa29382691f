/** How long to wait before trying again: growing, jittered, never longer than a bound. */

/** The keys `retry.firstWait` and `retry.longestWait` of pipeline.yaml, in ms. */
export interface Backoff {
  firstWait: number;
  longestWait: number;
}

/**
 * The wait after the `count`th failure in a row (1 for the first): doubles with each, at most `longestWait`,
 * of which the upper half is left to `random` (0 ≤ random < 1) so that many waiters do not come back together.
 */
export function backoffMs(count: number, settings: Backoff, random: number): number {
  const full = fullWaitMs(count, settings);
  return Math.round(full / 2 + (full / 2) * random);
}

/** Who waits longer than this for a service to be less busy comes back too late when it is. */
const maxLoadWaitMs = 15_000;

/**
 * So often one that the service was too busy for lines up again at once, since the throttle lets it through when there is
 * room; one that is refused more often contradicts the throttle, and waits by itself.
 */
const patientTries = 4;

/** The wait of one of many that were put off `tries` times in a row: anything up to the bound ("full jitter"). */
export function fullJitterMs(tries: number, settings: Backoff, random: number): number {
  if (tries <= patientTries) return 0;
  return Math.round(Math.min(maxLoadWaitMs, fullWaitMs(tries - patientTries, settings)) * random);
}

/** A service that is to be asked again sooner than this has not said when, and would be asked without a pause. */
const minRetryAfterMs = 1_000;

/** What the service asked for, or `ownMs` where that is no wait at all. */
export function orRetryAfterMs(retryAfterMs: number | undefined, ownMs: number): number {
  return retryAfterMs !== undefined && retryAfterMs >= minRetryAfterMs ? retryAfterMs : ownMs;
}

function fullWaitMs(count: number, { firstWait, longestWait }: Backoff): number {
  return Math.min(longestWait, firstWait * 2 ** Math.min(count - 1, 40));
}
