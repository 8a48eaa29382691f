/** When to look at a job again: often enough to collect it soon, seldom enough to be a good guest. */

export interface PollSettings {
  /**
   * Look when the chance that the job has completed since the last look reaches this share (0 to 1).
   * Smaller: results are collected sooner, for more requests.
   */
  share: number;
  shortestMs: number;
  /** Far below the retention period, so that no result expires between two looks. */
  longestMs: number;
}

/** Ms that the latest jobs took, ascending: of this run, from submission to completion, where polls are planned. */
export type ObservedTimes = readonly number[];

const enoughObservations = 8;
const mostObservations = 512;
const unknownGrowth = 0.5;
const overdueGrowth = 0.15;

/** Ms to wait before the next look at a job submitted `ageMs` ago that has not completed yet. */
export function nextPollMs(ageMs: number, observed: ObservedTimes, settings: PollSettings): number {
  const wait =
    observed.length < enoughObservations ? ageMs * unknownGrowth : learnedWaitMs(ageMs, observed, settings);
  return Math.round(Math.min(settings.longestMs, Math.max(settings.shortestMs, wait)));
}

/** The times with one more; beyond a bound one is dropped, `random` (0 ≤ random < 1) telling which. */
export function withObservation(observed: ObservedTimes, ms: number, random: number): ObservedTimes {
  const kept =
    observed.length < mostObservations
      ? observed
      : observed.toSpliced(Math.floor(random * observed.length), 1);
  return kept.toSpliced(countUpTo(ms, kept), 0, ms);
}

/** The time that the given share (0 to 1) of the times does not exceed; undefined where there are none. */
export function shareOf(times: ObservedTimes, share: number): number | undefined {
  return times[Math.max(0, Math.ceil(times.length * share) - 1)];
}

/** The time at which the wanted share of the jobs that take longer than `ageMs` has completed. */
function learnedWaitMs(ageMs: number, observed: ObservedTimes, settings: PollSettings): number {
  const passed = countUpTo(ageMs, observed);
  const left = observed.length - passed;
  const target = observed[passed + Math.ceil(left * settings.share)];
  return target === undefined ? ageMs * overdueGrowth : target - ageMs;
}

/** How many of the ascending `times` are at most `ms`. */
function countUpTo(ms: number, times: ObservedTimes): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? Infinity) <= ms) low = middle + 1;
    else high = middle;
  }
  return low;
}
