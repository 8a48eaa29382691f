/** How long jobs waited and executed, counted since the start of the service as histograms. */
import type { EndedJob } from './job-history.ts';

/** Upper bounds of the buckets, in seconds; what is longer is in the count alone. */
export const bucketSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800] as const;

export interface Histogram {
  /** As many as there are bounds: how many were no longer than each. */
  buckets: number[];
  count: number;
  sumSeconds: number;
}

export interface Durations {
  delay: Histogram;
  execution: Histogram;
}

export class JobDurations {
  readonly #byEndpoint = new Map<string, Durations>();

  /** A job that no worker had counts for nothing. */
  noteEnd({ endpointId, queuedAt, startedAt, endedAt }: EndedJob): void {
    if (startedAt === null) return;
    const { delay, execution } = this.of(endpointId);
    addTo(delay, bucketSeconds, (startedAt - queuedAt) / 1_000);
    addTo(execution, bucketSeconds, (endedAt - startedAt) / 1_000);
  }

  of(endpointId: string): Durations {
    const known = this.#byEndpoint.get(endpointId) ?? {
      delay: emptyHistogram(bucketSeconds),
      execution: emptyHistogram(bucketSeconds),
    };
    this.#byEndpoint.set(endpointId, known);
    return known;
  }
}

export function emptyHistogram(bounds: readonly number[]): Histogram {
  return { buckets: bounds.map(() => 0), count: 0, sumSeconds: 0 };
}

/** Negative ones, where the clock was set back, count as none. */
export function addTo(histogram: Histogram, bounds: readonly number[], given: number): void {
  const seconds = Math.max(0, given);
  histogram.count += 1;
  histogram.sumSeconds += seconds;
  for (const [index, bound] of bounds.entries())
    if (seconds <= bound) histogram.buckets[index] = (histogram.buckets[index] ?? 0) + 1;
}
