/** Promise: the reason that held a run back is shown in a few lines that fit the terminal. */
import { expect, it } from 'vitest';
import type { RunStats } from '../../src/runner/core/run-stats.ts';
import { belowLimit, describeStats } from '../../src/terminal/describe-ending.ts';
import { stats, timeMs } from '../fakes/stats.ts';

it('each reason is a line or two if there is room', () => {
  expect(describeStats(stats, 120)).toEqual([
    'What slowed the run down, in 8 h 0 min:',
    '  in flight below the limit of 64 for 26 % of the time: 14 % nothing left, 8 % the service answered 429, 3 %',
    '            `Retry-After` of the service',
    '  requests  1.05 submissions and 4.25 status requests a job',
    "  lag       210 ms at p50, 1.4 s at p95 (9,300 jobs) from completion to collection, by the service's times",
    '            at most 900 ms at p50, 2.5 s at p95 (100 jobs), since last seen running: the service reports no times',
    '  429       500 of 49,870 requests; lost to it: 38 min 24 s backing off, 14 min 24 s `Retry-After`, 4.1 s polling later',
    '  data      14.1 GB in 9,400 files, 490 kB a second',
  ]);
});

it.each([40, 60, 80, 120])('no line is wider than %i columns, and every word is shown', (columns) => {
  const lines = describeStats(stats, columns);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
  const words = (some: string[]): string => some.join(' ').replaceAll(/\s+/g, ' ');
  expect(lines.filter((line) => /^ +%/.test(line))).toEqual([]);
  expect(words(lines)).toBe(words(describeStats(stats, Infinity)));
});

it('values that are zero are left out', () => {
  const nothing: RunStats = {
    ...stats,
    tookMs: 4_000,
    requestsPerJob: { submissions: null, status: null },
    lagMs: null,
    lagAtMostMs: null,
    lostTo429: { answers: { submissions: 0, status: 0 }, backOffMs: 0, slowedMs: 0, looksMs: 0 },
    pictures: { files: 0, bytes: 0, bytesPerSecond: 0 },
    timeMs: timeMs({ nothingLeft: 4_000 }),
  };
  expect(describeStats(nothing, 80)).toEqual([
    'What slowed the run down, in 4.0 s:',
    '  in flight below the limit of 64 for 100 % of the time: 100 % nothing left',
  ]);
});

it.each([
  [{ inFlight: 1_000 }, 'at the limit of 64 all the time'],
  [{ inFlight: 99_800, disk: 200 }, 'at the limit of 64 for more than 99 % of the time'],
  [
    { inFlight: 772, nothingLeft: 156, load: 72 },
    'below the limit of 64 for 23 % of the time: 16 % nothing left, 7 % the service answered 429',
  ],
  // Three reasons with a third of a percent each add up to one percent.
  [{ inFlight: 2_970, nothingLeft: 10, load: 10, disk: 10 }, 'below the limit of 64 for 1 % of the time'],
])('says of %j that the run was %s', (spent, text) => {
  const tookMs = Object.values(spent).reduce((sum, ms) => sum + ms, 0);
  expect(belowLimit({ ...stats, tookMs, timeMs: timeMs(spent) })).toBe(text);
});
