/** How long to wait before trying again: growing, jittered, never longer than a bound. */

export interface WaitSettings {
  firstWaitMs: number;
  longestWaitMs: number;
}

/**
 * The wait after the `count`th trouble in a row (1 for the first): doubles with each, at most `longestWaitMs`,
 * of which the upper half is left to `random` (0 ≤ random < 1) so that many waiters do not come back together.
 */
export function growingWaitMs(count: number, settings: WaitSettings, random: number): number {
  const full = Math.min(settings.longestWaitMs, settings.firstWaitMs * 2 ** Math.min(count - 1, 40));
  return Math.round(full / 2 + (full / 2) * random);
}
