/** Readers of a batch see the state of its run: none, running, stalled, ended or killed. */
import { describe, expect, it } from 'vitest';
import { type RunTrace, runConditionOf } from '../../../src/runner/core/ending.ts';

const minute = 60_000;
const begun = { startedAt: 1_000_000, endedAt: null, exitCode: null, ending: null };
const working: RunTrace = {
  isInUse: true,
  lastRun: begun,
  inFlight: 4,
  ended: [jobThatTook(10_000)],
};

/** Returns an attempt that took `ms` and ended last. */
function jobThatTook(ms: number) {
  return { at: 2_000_000, submittedAt: 2_000_000 - ms, executionTimeMs: null, hasFinished: true };
}

it('a batch waits if nothing ever ran, and its run is recognized before it is on record', () => {
  expect(runConditionOf({ ...working, isInUse: false, lastRun: null }, 0)).toEqual({ kind: 'none' });
  expect(runConditionOf({ ...working, lastRun: null }, 0)).toEqual({ kind: 'starting' });
  const ended = { ...begun, endedAt: 3, exitCode: 0, ending: 'every scene is saved' };
  expect(runConditionOf({ ...working, lastRun: ended }, 0)).toEqual({ kind: 'starting' });
});

it('an ended run is recognized with its exit code, and a killed run as killed', () => {
  const ended = { ...begun, endedAt: 3, exitCode: 3, ending: 'some scenes are not saved' };
  expect(runConditionOf({ ...working, isInUse: false, lastRun: ended }, 0)).toEqual({
    kind: 'ended',
    at: 3,
    exitCode: 3,
    ending: 'some scenes are not saved',
  });
  expect(runConditionOf({ ...working, isInUse: false }, 0)).toEqual({ kind: 'killed', since: 1_000_000 });
});

describe('a run at which nothing finishes', () => {
  it('is stalled after five minutes at the earliest, since the last that finished', () => {
    expect(runConditionOf(working, 2_000_000 + 5 * minute).kind).toBe('running');
    expect(runConditionOf(working, 2_000_001 + 5 * minute)).toEqual({
      kind: 'stalled',
      since: 1_000_000,
      quietSince: 2_000_000,
    });
  });

  it('is given three times as long as the slowest of the latest jobs took', () => {
    const slow = { ...working, ended: [jobThatTook(10 * minute)] };
    expect(runConditionOf(slow, 2_000_000 + 30 * minute).kind).toBe('running');
    expect(runConditionOf(slow, 2_000_001 + 30 * minute).kind).toBe('stalled');
  });

  it('is given time for the workers to start if nothing is known yet, counted from its own beginning', () => {
    const first = { ...working, ended: [] };
    expect(runConditionOf(first, 1_000_000 + 20 * minute).kind).toBe('running');
    expect(runConditionOf(first, 1_000_001 + 20 * minute).kind).toBe('stalled');
    const resumed = {
      ...first,
      ended: [{ at: 5, submittedAt: null, executionTimeMs: null, hasFinished: false }],
    };
    expect(runConditionOf(resumed, 1_000_000 + 20 * minute).kind).toBe('running');
  });

  it('is not stalled if nothing is in flight, because it waits for its next attempt or for its limits', () => {
    expect(runConditionOf({ ...working, inFlight: 0 }, 2_000_000 + 60 * minute).kind).toBe('running');
  });
});
