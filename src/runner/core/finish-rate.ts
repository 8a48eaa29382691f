/** When scenes were finished, counted by a few seconds, as charts show it. */

const secondMs = 1000;
const hourMs = 3600 * secondMs;

/** Of a bin, the shortest; every other step is a multiple of it. */
const tickMs = 5 * secondMs;

/** How many finished in which tick, by its number since the epoch. */
export type Finishes = Map<number, number>;

/** Consecutive bins of equal length, the first at `from` (epoch ms); the last holds the end of the reported time. */
export interface FinishCounts {
  from: number;
  stepMs: number;
  counts: number[];
}

export function addFinish(finishes: Finishes, at: number): void {
  const tick = Math.floor(at / tickMs);
  finishes.set(tick, (finishes.get(tick) ?? 0) + 1);
}

/** Seconds of a bin, the shortest that will do. */
const steps = [5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600];
const maxBins = 96;

/** From `from` to `end` (epoch ms), in a hundred bins at most; what is older is in none. */
export function countFinishes(finishes: Finishes, from: number, end: number): FinishCounts {
  const spanMs = Math.min(end - from, 94 * hourMs);
  const stepMs = (steps.find((step) => spanMs < maxBins * step * secondMs) ?? 3600) * secondMs;
  const first = Math.floor((end - spanMs) / stepMs);
  const counts = Array.from({ length: Math.floor(end / stepMs) - first + 1 }, () => 0);
  for (const [tick, count] of finishes) {
    const bin = Math.floor((tick * tickMs) / stepMs) - first;
    if (counts[bin] !== undefined) counts[bin] += count;
  }
  return { from: first * stepMs, stepMs, counts };
}
