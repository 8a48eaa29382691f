/**
 * Promise: readers of a run see its throughput and the remaining time, or nothing if they cannot be known.
 */
import { expect, it } from 'vitest';
import { throughputOf, type BatchOnRecord } from '../../../src/runner/core/forecast.ts';
import type { RunCondition, EndedAttempt } from '../../../src/runner/core/ending.ts';

const minute = 60_000;
const begun = 1_000_000_000;
const running: RunCondition = { kind: 'running', since: begun };

function attempt(at: number, tookMs = 8_000): EndedAttempt {
  return { at, submittedAt: at - tookMs, executionTimeMs: tookMs, hasFinished: true };
}

/** Attempts of eight workers, each with a job every eight seconds. */
function steady(count: number): EndedAttempt[] {
  return Array.from({ length: count }, (_, i) => attempt(begun + 8_000 + i * 1_000));
}

function batchOf(ended: EndedAttempt[], more: Partial<BatchOnRecord> = {}): BatchOnRecord {
  return { scenes: { waiting: 592, active: 8 }, part: null, inFlight: 8, ended, ...more };
}

it('shows throughput and remaining time, in whatever order the attempts are on record, and the same each time', () => {
  const ended = steady(300);
  const now = begun + 308_000;
  const pace = throughputOf(running, batchOf(ended), now);
  expect(pace?.perSecond).toBeCloseTo(1, 1);
  expect(Math.abs((pace?.leftMs ?? 0) / (10 * minute) - 1)).toBeLessThan(0.1);
  expect(throughputOf(running, batchOf(ended.toReversed()), now)).toEqual(pace);
});

it('counts scenes that were set aside as done, but not attempts that will be repeated', () => {
  const half = steady(300).map((each, i) => ({ ...each, hasFinished: i % 2 === 0 }));
  expect(throughputOf(running, batchOf(half), begun + 308_000)?.perSecond).toBeCloseTo(0.5, 1);
});

it('ignores the time before the run', () => {
  const before = Array.from({ length: 500 }, (_, i) => attempt(begun - 60 * minute + i * 10));
  const now = begun + 308_000;
  expect(throughputOf(running, batchOf([...before, ...steady(300)]), now)).toEqual(
    throughputOf(running, batchOf(steady(300)), now),
  );
});

it('does not count a job that an earlier run submitted in the throughput of this one', () => {
  const now = begun + 308_000;
  const resumed = Array.from({ length: 50 }, (_, i) => ({
    ...attempt(begun + 1_000 + i),
    submittedAt: begun - 1,
  }));
  expect(throughputOf(running, batchOf([...resumed, ...steady(100)]), now)).toEqual(
    throughputOf(running, batchOf(steady(100)), now),
  );
});

it('takes the time since its submission for the time of a job that states none, and nothing if that is unknown', () => {
  const now = begun + 308_000;
  const uneven = steady(300).map(({ at }, i) => attempt(at, i % 2 === 0 ? 6_000 : 10_000));
  const untimed = uneven.map((each) => ({ ...each, executionTimeMs: null }));
  expect(throughputOf(running, batchOf(untimed), now)).toEqual(throughputOf(running, batchOf(uneven), now));
  const adopted = untimed.map((each) => ({ ...each, submittedAt: null }));
  const pace = throughputOf(running, batchOf(adopted), now);
  expect(pace?.perSecond).toBeCloseTo(1, 1);
  expect(Math.abs((pace?.leftMs ?? 0) / (10 * minute) - 1)).toBeLessThan(0.1);
});

it('estimates the time of the last jobs by the latest ones', () => {
  const now = begun + 308_000;
  const slowAtFirst = steady(300).map(({ at }, i) => attempt(at, i < 150 ? 80_000 : 8_000));
  const sinceBegun = slowAtFirst.map((each) => ({ ...each, submittedAt: begun }));
  const even = steady(300).map((each) => ({ ...each, submittedAt: begun }));
  expect(throughputOf(running, batchOf(sinceBegun), now)).toEqual(throughputOf(running, batchOf(even), now));
});

it('shows no remaining time if a preview renders a part of the batch', () => {
  const pace = throughputOf(
    running,
    batchOf(steady(300), { part: { limit: 20, scenes: 20 } }),
    begun + 308_000,
  );
  expect(pace).toMatchObject({ leftMs: null });
});

it('works if the clock is set back', () => {
  expect(throughputOf(running, batchOf(steady(300)), begun)?.perSecond).toBeCloseTo(1, 1);
});

it.each<[string, RunCondition, EndedAttempt[]]>([
  ['of a run that has finished two', running, steady(2)],
  ['of one that is stalled', { kind: 'stalled', since: begun, quietSince: begun + 308_000 }, steady(300)],
  ['of one that was killed', { kind: 'killed', since: begun }, steady(300)],
  ['if no run is active', { kind: 'none' }, []],
])('shows nothing %s', (_, run, ended) => {
  expect(throughputOf(run, batchOf(ended), begun + 308_000)).toBeUndefined();
});
