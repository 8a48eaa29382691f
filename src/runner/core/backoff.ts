/** Computes the wait before another try: it grows exponentially, has jitter and is bounded. */

/** Keys `retry.firstWait` and `retry.longestWait` of pipeline.yaml, in ms. */
export interface Backoff {
  firstWait: number;
  longestWait: number;
}

/**
 * Returns the wait in ms after the `count`th failure in a row, counted from 1. It doubles with each failure,
 * up to `longestWait`. Its upper half is multiplied by `random`, in [0, 1), so that many waiters do not retry
 * together.
 */
export function backoffMs(count: number, settings: Backoff, random: number): number {
  const full = fullWaitMs(count, settings);
  return Math.round(full / 2 + (full / 2) * random);
}

/** Returns the wait in ms after the `count`th failure in a row, before jitter. */
export function fullWaitMs(count: number, { firstWait, longestWait }: Backoff): number {
  return Math.min(longestWait, firstWait * 2 ** Math.min(count - 1, 40));
}
