/** The latest times of something that takes a while, such as jobs, kept in order and bounded in number. */

/** Ascending ms. */
export type ObservedTimes = readonly number[];

const maxObservations = 512;

/** The times with one more; beyond a bound one is dropped, chosen by `random` (0 ≤ random < 1). */
export function withObservation(observed: ObservedTimes, ms: number, random: number): ObservedTimes {
  const isFull = observed.length >= maxObservations;
  const kept = isFull ? observed.toSpliced(Math.floor(random * observed.length), 1) : observed;
  const place = kept.findIndex((other) => other > ms);
  return kept.toSpliced(place === -1 ? kept.length : place, 0, ms);
}

/** The time that the given share (0 to 1) of the times does not exceed; undefined where there are none. */
export function shareOf(times: ObservedTimes, share: number): number | undefined {
  return times[Math.max(0, Math.ceil(times.length * share) - 1)];
}
