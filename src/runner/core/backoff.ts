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

/** Returns the wait after the `count`th failure in a row, before jitter. */
export function fullWaitMs(count: number, { firstWait, longestWait }: Backoff): number {
  return Math.min(longestWait, firstWait * 2 ** Math.min(count - 1, 40));
}
