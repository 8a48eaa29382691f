/** When scenes were finished, counted by the minute, as charts show it. */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** How many finished in which minute, by its number since the epoch. */
export type Finishes = Map<number, number>;

/** Consecutive bins of equal length, the first at `from` (epoch ms); the last holds the end of the reported time. */
export interface FinishCounts {
  from: number;
  stepMs: number;
  counts: number[];
}

export function addFinish(finishes: Finishes, at: number): void {
  const minute = Math.floor(at / minuteMs);
  finishes.set(minute, (finishes.get(minute) ?? 0) + 1);
}

/** The hour up to `end`, by the minute. */
export function lastHourOf(finishes: Finishes, end: number): FinishCounts {
  return bins(finishes, end - hourMs + minuteMs, end, 1);
}

/** The time up to `end` without a pause of three hours before its last hour, an hour at least and two days at most. */
export function nightOf(finishes: Finishes, end: number): FinishCounts {
  let from = end - hourMs + minuteMs;
  for (const minute of [...finishes.keys()].toSorted((a, b) => b - a)) {
    const at = minute * minuteMs;
    if (from - at > 3 * hourMs || end - at > 48 * hourMs) break;
    from = Math.min(from, at);
  }
  return bins(finishes, from, end, [1, 2, 5, 10, 15].find((step) => end - from < 95 * step * minuteMs) ?? 30);
}

function bins(finishes: Finishes, from: number, end: number, minutes: number): FinishCounts {
  const stepMs = minutes * minuteMs;
  const first = Math.floor(from / stepMs);
  const counts = Array.from({ length: Math.floor(end / stepMs) - first + 1 }, () => 0);
  for (const [minute, count] of finishes) {
    const bin = Math.floor(minute / minutes) - first;
    if (counts[bin] !== undefined) counts[bin] += count;
  }
  return { from: first * stepMs, stepMs, counts };
}
