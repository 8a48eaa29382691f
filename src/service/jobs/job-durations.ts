/** Histograms of the times that jobs waited and executed since the start of the service. */
import type { EndedJob } from './job-history.ts';

/** Upper bounds of the buckets in seconds. Longer times are only in the count. */
export const bucketSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800] as const;

export interface Histogram {
  /** Number of values up to each bound. */
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

  /** Counts a job that ended, unless no worker ever had it. */
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

/** Adds a time in seconds. Negative times, after the clock was set back, count as 0. */
export function addTo(histogram: Histogram, bounds: readonly number[], given: number): void {
  const seconds = Math.max(0, given);
  histogram.count += 1;
  histogram.sumSeconds += seconds;
  for (const [index, bound] of bounds.entries())
    if (seconds <= bound) histogram.buckets[index] = (histogram.buckets[index] ?? 0) + 1;
}
