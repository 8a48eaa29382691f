/** What is shown of every comparison: each measure with its name, its unit and how it follows from a result. */
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

/** From the first submission until the last picture is on the disk and the process has ended. */
export function workMs({ endedAt, service }: Result): number {
  return endedAt - service.firstSubmissionAt;
}

export function cpuMsPerJob({ cpuMs }: Result, { scenes }: Load): number {
  return cpuMs / scenes;
}

export function requestsPerJob({ service }: Result, { scenes }: Load): number {
  return service.statusRequests / scenes;
}

/** Of the answers, those that were 429 (0 to 1). */
export function shareTooMuch({ service: { tooMuch, submissions, statusRequests } }: Result): number {
  return tooMuch / (tooMuch + submissions + statusRequests);
}

/** The peer has none where it was not asked or did not get through. */
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
  /** Undefined where the peer has no results. */
  peer: Spread | undefined;
  /** Of the medians, ours by the peer's. */
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

/** Of one side, over the rounds. */
export function medianOf(results: Result[], value: (result: Result) => number): number {
  return median(results.map(value));
}

function spread(values: number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}
