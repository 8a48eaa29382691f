/**
 * Promise: a run sends more submissions as the service answers them, and only one at a time while it answers
 * none.
 */
import { expect, it } from 'vitest';
import { Reachability } from '../../../src/runner/pipeline/halt-monitor.ts';

const waits = { firstWait: 2_000, longestWait: 120_000 };

function reachability(): { of: Reachability; pass: (ms: number) => void } {
  let now = 0;
  return {
    of: new Reachability(
      waits,
      () => now,
      () => 0.5,
    ),
    pass: (ms) => void (now += ms),
  };
}

it('sends one submission at a time until one is accepted, and with each answer twice as many', () => {
  const { of } = reachability();
  for (let refusals = 0; refusals < 9; refusals++) of.answered('submit');
  expect([of.allowedSubmissions(0, false), of.allowedSubmissions(1, false)]).toEqual([1, 0]);
  const windows = Array.from({ length: 9 }, () => {
    const allowed = of.allowedSubmissions(0, false);
    expect(of.allowedSubmissions(1, false)).toBe(Math.max(0, allowed - 1));
    of.answered('submit', allowed === 1);
    return allowed;
  });
  expect(windows).toEqual([1, 2, 4, 8, 16, 32, 64, 128, Infinity]);
  expect(of.allowedSubmissions(5_000, false)).toBe(Infinity);
});

it('learns nothing of submissions from answers to status requests', () => {
  const { of } = reachability();
  for (let answers = 0; answers < 9; answers++) of.answered('status');
  expect(of.allowedSubmissions(0, false)).toBe(1);
});

it('starts again from one submission, with growing waits, once five in a row were not answered', () => {
  const { of, pass } = reachability();
  for (let answers = 0; answers < 9; answers++) of.answered('submit', true);
  for (let silent = 0; silent < 4; silent++) of.silent('submit');
  expect([of.isOutage(), of.allowedSubmissions(0, false), of.pauseMs()]).toEqual([false, Infinity, 0]);
  of.silent('submit');
  expect([of.isOutage(), of.allowedSubmissions(0, false)]).toEqual([true, 0]);
  const first = of.pauseMs();
  expect(first).toBeGreaterThan(0);
  pass(first - 1);
  expect([of.allowedSubmissions(0, false), of.pauseMs()]).toEqual([0, 1]);
  pass(1);
  expect([of.allowedSubmissions(0, false), of.allowedSubmissions(1, false), of.pauseMs()]).toEqual([1, 0, 0]);
  of.silent('submit');
  expect(of.pauseMs()).toBeGreaterThan(first);
  of.answered('submit');
  expect([of.isOutage(), of.allowedSubmissions(0, false), of.pauseMs()]).toEqual([false, 2, 0]);
});

it('sends probes alone once the status of no job can be read for a minute', () => {
  const { of, pass } = reachability();
  for (let silent = 0; silent < 5; silent++) of.silent('status');
  expect([of.isOutage(), of.allowedSubmissions(0, false), of.pauseMs()]).toEqual([false, 1, 0]);
  pass(60_000);
  expect([of.allowedSubmissions(0, false), of.allowedSubmissions(0, true)]).toEqual([0, 1]);
  expect(of.pauseMs()).toBeGreaterThan(0);
  of.answered('status');
  expect([of.allowedSubmissions(0, false), of.pauseMs()]).toEqual([1, 0]);
});
