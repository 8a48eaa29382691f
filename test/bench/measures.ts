/** What is compared: each measure with its name, its unit and how it follows from a result. */
import type { Result } from './run-side.ts';
import type { Scenario } from './scenario.ts';
import type { SideName } from './sides.ts';
import { median } from './statistics.ts';

interface Measure {
  name: string;
  digits: number;
  of: (result: Result, scenario: Scenario) => number;
}

const measures: readonly Measure[] = [
  {
    name: 'jobs a second, first submission to last collection',
    digits: 0,
    of: ({ account }, { scenes }) => (scenes * 1_000) / account.spanMs,
  },
  {
    name: 'jobs a second, whole process',
    digits: 0,
    of: ({ wallMs }, { scenes }) => (scenes * 1_000) / wallMs,
  },
  { name: 'wall time, s', digits: 2, of: ({ wallMs }) => wallMs / 1_000 },
  { name: 'CPU a job, ms', digits: 2, of: ({ cpuMs }, { scenes }) => cpuMs / scenes },
  { name: 'peak memory, MB', digits: 0, of: ({ peakBytes }) => peakBytes / 1e6 },
  {
    name: 'status requests a job',
    digits: 2,
    of: ({ account }, { scenes }) => account.statusRequests / scenes,
  },
  { name: 'lag, mean, ms', digits: 0, of: ({ account }) => account.lagMs.mean },
  { name: 'lag, median, ms', digits: 0, of: ({ account }) => account.lagMs.median },
  { name: 'lag, p95, ms', digits: 0, of: ({ account }) => account.lagMs.p95 },
  {
    name: "service's CPU a job, ms",
    digits: 2,
    of: ({ account }, { scenes }) => account.serviceCpuMs / scenes,
  },
  { name: 'most in flight', digits: 0, of: ({ account }) => account.mostInFlight },
];

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
  peer: Spread;
  /** Of the medians, ours by the peer's. */
  ratio: number;
}

export function compare(scenario: Scenario, results: Results): Comparison[] {
  return measures.map(({ name, digits, of }) => {
    const spreadOf = (side: SideName): Spread => spread(results[side].map((result) => of(result, scenario)));
    const sides = { ours: spreadOf('ours'), peer: spreadOf('peer') };
    return { measure: name, digits, ...sides, ratio: sides.ours.median / sides.peer.median };
  });
}

function spread(values: number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}
