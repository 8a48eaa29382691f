/** When scenes were finished, counted in spans of time, as charts show it. */

/** Ms of the spans that are counted in. */
export const spanMs = 10_000;

/** How many finished in which span, by its number: the instant divided by `spanMs`, rounded down. */
export type Finishes = Map<number, number>;

/** Consecutive bins of equal length; the last holds the end of the reported time. */
export interface FinishCounts {
  /** Where the first bin begins, epoch ms. */
  from: number;
  /** Length of a bin. */
  stepMs: number;
  counts: number[];
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A longer pause parts one night from the one before. */
const maxPauseMs = 3 * hourMs;

const maxNightMs = 48 * hourMs;
const maxBins = 96;
const nightSteps = [1, 2, 5, 10, 15, 30].map((minutes) => minutes * minuteMs);

export function addFinish(finishes: Finishes, at: number): void {
  const span = Math.floor(at / spanMs);
  finishes.set(span, (finishes.get(span) ?? 0) + 1);
}

/** The hour up to `end`, by the minute. */
export function lastHourOf(finishes: Finishes, end: number): FinishCounts {
  return bins(finishes, end - hourMs + minuteMs, end, minuteMs);
}

/** The time up to `end` without a pause of hours in it, an hour at least. */
export function nightOf(finishes: Finishes, end: number): FinishCounts {
  const from = Math.min(beginOfNight(finishes, end), end - hourMs + minuteMs);
  const stepMs = nightSteps.find((step) => end - from < (maxBins - 1) * step) ?? 30 * minuteMs;
  return bins(finishes, from, end, stepMs);
}

function beginOfNight(finishes: Finishes, end: number): number {
  const instants = [...finishes.keys()].map((span) => span * spanMs).filter((at) => at <= end);
  let begin = end;
  for (const at of instants.toSorted((a, b) => b - a)) {
    if (begin - at > maxPauseMs || end - at > maxNightMs) break;
    begin = at;
  }
  return begin;
}

function bins(finishes: Finishes, from: number, end: number, stepMs: number): FinishCounts {
  const first = Math.floor(from / stepMs);
  const counts = Array.from({ length: Math.floor(end / stepMs) - first + 1 }, () => 0);
  for (const [span, count] of finishes) {
    const bin = Math.floor((span * spanMs) / stepMs) - first;
    if (counts[bin] !== undefined) counts[bin] += count;
  }
  return { from: first * stepMs, stepMs, counts };
}
