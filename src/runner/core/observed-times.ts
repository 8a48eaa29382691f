/** Sorted sample of recent durations, such as those of jobs, of bounded size. */

/** Durations in ascending ms. */
export type ObservedTimes = readonly number[];

const maxObservations = 512;

/** Returns the sample with one more duration. If it is full, a random element is dropped; `random` is in [0, 1). */
export function withObservation(observed: ObservedTimes, ms: number, random: number): ObservedTimes {
  const isFull = observed.length >= maxObservations;
  const kept = isFull ? observed.toSpliced(Math.floor(random * observed.length), 1) : observed;
  const place = kept.findIndex((other) => other > ms);
  return kept.toSpliced(place === -1 ? kept.length : place, 0, ms);
}

/** Returns the quantile of the sample for a share in [0, 1], or undefined if it is empty. */
export function shareOf(times: ObservedTimes, share: number): number | undefined {
  return times[Math.max(0, Math.ceil(times.length * share) - 1)];
}
