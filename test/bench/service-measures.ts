/** Measures of a side: what it asked of the service, as the service saw it. */
import type { Job, JobStore } from './job-book.ts';
import { mean, median, percentile } from './statistics.ts';
import type { Second } from './traffic.ts';
import type { UseAfterChange } from './workers.ts';

/** Durations in ms. */
export interface ServiceMeasures {
  submissions: number;
  /** Different inputs among the submissions. */
  scenes: number;
  /** Those that were answered with a status. */
  statusRequests: number;
  /** Requests that were answered with an error other than 429. */
  refused: number;
  /** Requests that were answered with 429, by the service's own rule. */
  tooMuch: number;
  completed: number;
  /** Jobs whose COMPLETED was handed out. */
  collected: number;
  /** Submitted and not yet collected, at most. */
  mostInFlight: number;
  /** Epoch ms. */
  firstSubmissionAt: number;
  /** From the first submission to the last time a job was first handed out as COMPLETED. */
  spanMs: number;
  /** From completion to the first time COMPLETED was handed out. */
  lagMs: { mean: number; median: number; p95: number };
  /** Jobs collected a second, for each fifth of the collections in their order. */
  fifths: number[];
  /** From the first request on. */
  seconds: Second[];
  usesAfterChanges: UseAfterChange[];
  /** User and system time of the service itself, which shares the machine with the side that is measured. */
  serviceCpuMs: number;
}

export function measureService(store: JobStore): ServiceMeasures {
  const jobs = [...store.jobs.values()];
  const collections = jobs.flatMap(({ collectedAt }) => collectedAt ?? []).toSorted((a, b) => a - b);
  const lags = jobs.flatMap(lagsOf);
  const firstAt = jobs[0]?.submittedAt ?? 0;
  const { user, system } = process.cpuUsage();
  return {
    submissions: jobs.length,
    scenes: store.inputs.size,
    statusRequests: store.statusRequests,
    refused: store.refused,
    tooMuch: store.traffic.seconds.reduce((sum, { tooMuch }) => sum + tooMuch, 0),
    completed: jobs.filter((job) => job.completedAt !== undefined).length,
    collected: collections.length,
    mostInFlight: store.mostInFlight,
    firstSubmissionAt: performance.timeOrigin + firstAt,
    spanMs: (collections.at(-1) ?? 0) - firstAt,
    lagMs: { mean: mean(lags), median: median(lags), p95: percentile(lags, 0.95) },
    fifths: fifthsOf(collections),
    seconds: store.traffic.seconds,
    usesAfterChanges: store.workers.usesAfterChanges,
    serviceCpuMs: (user + system) / 1_000,
  };
}

function lagsOf({ completedAt, collectedAt }: Job): number[] {
  return completedAt === undefined || collectedAt === undefined ? [] : [collectedAt - completedAt];
}

function fifthsOf(ascending: number[]): number[] {
  const size = Math.floor(ascending.length / 5);
  return [0, 1, 2, 3, 4].map((i) => {
    const lastedMs = (ascending[(i + 1) * size - 1] ?? 0) - (ascending[i * size] ?? 0);
    return ((size - 1) * 1_000) / lastedMs;
  });
}
