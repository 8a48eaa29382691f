/** Measures of a side, from the requests that the service has seen. */
import type { Job, JobStore } from './job-book.ts';
import { mean, median, percentile } from './statistics.ts';
import type { Second } from './traffic.ts';
import type { UseAfterChange } from './workers.ts';

/** Durations in ms. */
export interface ServiceMeasures {
  submissions: number;
  /** Number of different inputs among the submissions. */
  scenes: number;
  /** Number of status requests that were answered with a status. */
  statusRequests: number;
  /** Number of requests that were answered with an error other than 429. */
  refused: number;
  /** Number of requests that were answered with 429 because of the service's limits. */
  tooMuch: number;
  completed: number;
  /** Number of jobs whose COMPLETED was delivered. */
  collected: number;
  /** Highest number of jobs that were submitted and not yet collected. */
  mostInFlight: number;
  /** Epoch ms. */
  firstSubmissionAt: number;
  /** Time from the first submission until COMPLETED was first delivered for the last job. */
  spanMs: number;
  /** Time from completion until COMPLETED was first delivered. */
  lagMs: { mean: number; median: number; p95: number };
  /** Jobs collected a second, for each fifth of the collections in order. */
  fifths: number[];
  /** Counts by second since the first request. */
  seconds: Second[];
  usesAfterChanges: UseAfterChange[];
  /** User and system time of the service, which shares the machine with the measured side. */
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
