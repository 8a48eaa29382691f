/** The latest times of something that takes a while, such as jobs, kept in order and bounded in number. */

/** Ascending ms. */
export type ObservedTimes = readonly number[];

const maxObservations = 512;

/** The times with one more; beyond a bound one is dropped, chosen by `random` (0 ≤ random < 1). */
export function withObservation(observed: ObservedTimes, ms: number, random: number): ObservedTimes {
  const kept =
    observed.length < maxObservations
      ? observed
      : observed.toSpliced(Math.floor(random * observed.length), 1);
  return kept.toSpliced(countUpTo(ms, kept), 0, ms);
}

/** The time that the given share (0 to 1) of the times does not exceed; undefined where there are none. */
export function shareOf(times: ObservedTimes, share: number): number | undefined {
  return times[Math.max(0, Math.ceil(times.length * share) - 1)];
}

/** How many of the ascending `times` are at most `ms`. */
export function countUpTo(ms: number, times: ObservedTimes): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? Infinity) <= ms) low = middle + 1;
    else high = middle;
  }
  return low;
}
