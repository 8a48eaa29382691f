/** The measures that are shown of every comparison: name, unit, and how each follows from a result. */
import type { Load } from './load.ts';
import type { Result } from './run-side.ts';
import type { SideName } from './sides.ts';
import { median } from './statistics.ts';

interface Measure {
  name: string;
  digits: number;
  of: (result: Result, load: Load) => number;
}

const measures: readonly Measure[] = [
  {
    name: 'jobs a second, first submission to last collection',
    digits: 0,
    of: jobsPerSecond,
  },
  {
    name: 'jobs a second, whole process',
    digits: 0,
    of: ({ wallMs }, { scenes }) => (scenes * 1_000) / wallMs,
  },
  { name: 'wall time, s', digits: 2, of: ({ wallMs }) => wallMs / 1_000 },
  { name: 'CPU a job, ms', digits: 2, of: cpuMsPerJob },
  { name: 'peak memory, MB', digits: 0, of: ({ peakBytes }) => peakBytes / 1e6 },
  { name: 'status requests a job', digits: 2, of: requestsPerJob },
  { name: 'answers that are 429, %', digits: 2, of: (result) => 100 * shareTooMuch(result) },
  { name: 'lag, mean, ms', digits: 0, of: ({ service }) => service.lagMs.mean },
  { name: 'lag, median, ms', digits: 0, of: ({ service }) => service.lagMs.median },
  { name: 'lag, p95, ms', digits: 0, of: ({ service }) => service.lagMs.p95 },
  {
    name: "service's CPU a job, ms",
    digits: 2,
    of: ({ service }, { scenes }) => service.serviceCpuMs / scenes,
  },
  { name: 'most in flight', digits: 0, of: ({ service }) => service.mostInFlight },
];

export function jobsPerSecond({ service }: Result, { scenes }: Load): number {
  return (scenes * 1_000) / service.spanMs;
}

/** Returns the time from the first submission until the last picture is on disk and the process has ended. */
export function workMs({ endedAt, service }: Result): number {
  return endedAt - service.firstSubmissionAt;
}

export function cpuMsPerJob({ cpuMs }: Result, { scenes }: Load): number {
  return cpuMs / scenes;
}

export function requestsPerJob({ service }: Result, { scenes }: Load): number {
  return service.statusRequests / scenes;
}

/** Returns the share of answers that were 429, 0 to 1. */
export function shareTooMuch({ service: { tooMuch, submissions, statusRequests } }: Result): number {
  return tooMuch / (tooMuch + submissions + statusRequests);
}

/** Results by side. The peer has none if it did not run or failed. */
export type Results = Record<SideName, Result[]>;

export interface Spread {
  median: number;
  least: number;
  most: number;
}

export interface Comparison {
  measure: string;
  digits: number;
  ours: Spread;
  /** Undefined if the peer has no results. */
  peer: Spread | undefined;
  /** Our median divided by the peer's. */
  ratio: number;
}

export function compare(load: Load, results: Results): Comparison[] {
  return measures.map(({ name, digits, of }) => {
    const spreadOf = (side: SideName): Spread => spread(results[side].map((result) => of(result, load)));
    const ours = spreadOf('ours');
    const peer = results.peer.length === 0 ? undefined : spreadOf('peer');
    return { measure: name, digits, ours, peer, ratio: ours.median / (peer?.median ?? Number.NaN) };
  });
}

/** Returns the median of a measure over the rounds of one side. */
export function medianOf(results: Result[], value: (result: Result) => number): number {
  return median(results.map(value));
}

function spread(values: number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}
