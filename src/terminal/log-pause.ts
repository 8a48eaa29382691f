/** How often a log is told how far the work is. */

/** A line each ten seconds for the first minute, then one each two minutes: 240 in eight hours. */
export function logPauseMs(sinceStartMs: number): number {
  return sinceStartMs < 60_000 ? 10_000 : 120_000;
}
