/** Promise: how long a result lay there is told as it is known, or as a bound, or not at all. */
import { expect, it } from 'vitest';
import { lagOf, type CollectedJob } from '../../../src/runner/core/run-stats.ts';

const job: CollectedJob = {
  sentAt: 800,
  acceptedAt: 1_000,
  followedAt: 1_000,
  runningAt: 7_000,
  collectedAt: 9_000,
  toldMs: 7_400,
};

it.each([
  ['the service tells its times', {}, { kind: 'told', ms: 600 }],
  ['it was done before its acceptance was heard of', { toldMs: 8_150 }, { kind: 'told', ms: 0 }],
  ['it says that it is done in the future', { toldMs: 8_300 }, { kind: 'at-most', ms: 2_000 }],
  ['it tells none', { toldMs: undefined }, { kind: 'at-most', ms: 2_000 }],
  ['it says that it was done when it was seen running', { toldMs: 5_900 }, { kind: 'at-most', ms: 2_000 }],
  ['it was never seen running', { toldMs: undefined, runningAt: undefined }, { kind: 'at-most', ms: 8_000 }],
] as const)('of a job of this run where %s', (_, seen, lag) => {
  expect(lagOf({ ...job, ...seen })).toEqual(lag);
});

it.each([
  ['it was done in this run', {}, { kind: 'told', ms: 600 }],
  ['it was done before this run', { runningAt: undefined, toldMs: 3_000 }, undefined],
  ['nobody can tell', { runningAt: undefined, toldMs: undefined }, undefined],
  ['it was seen running in this run', { toldMs: undefined }, { kind: 'at-most', ms: 2_000 }],
] as const)('of a job of an earlier run where %s', (_, seen, lag) => {
  expect(lagOf({ ...job, sentAt: 1_000, followedAt: 6_500, ...seen })).toEqual(lag);
});
