/** What of a run is worth a notice: failures once, a stall once each, an end by what it means. */
import { expect, it } from 'vitest';
import {
  type EndingKind,
  endings,
  endNotice,
  finished,
  isFailureDue,
  newWatch,
  stallAt,
  submitted,
} from '../../../src/runner/core/ending.ts';

const none = { isStart: false, isFinish: false, isHalt: false };
const saved = { hasFailed: false, wasInFlight: true };
const failed = { hasFailed: true, wasInFlight: true };
const refused = { hasFailed: true, wasInFlight: false };

it('a stall counts from what was finished last, or from the first job after an idle time', () => {
  const rules = { ...none, stallMs: 100 };
  const idle = newWatch(0);
  expect(stallAt(rules, idle)).toBeUndefined();
  const busy = submitted(submitted(idle, 1, 50), 1, 90);
  expect(stallAt(rules, busy)).toBe(150);
  expect(stallAt(rules, finished(busy, saved, 120))).toBe(220);
  expect(stallAt(rules, finished(busy, failed, 120))).toBe(220);
  expect(stallAt(rules, finished(busy, refused, 120))).toBe(150);
  const empty = finished(finished(busy, saved, 120), saved, 130);
  expect(stallAt(rules, empty)).toBeUndefined();
  expect(stallAt(rules, submitted(empty, 3, 900))).toBe(1000);
  expect(stallAt(none, busy)).toBeUndefined();
});

it('a stall is told once, and the next one again', () => {
  const rules = { ...none, stallMs: 100 };
  const told = { ...submitted(newWatch(0), 2, 0), isStallReported: true };
  expect(stallAt(rules, told)).toBeUndefined();
  expect(stallAt(rules, submitted(told, 1, 300))).toBeUndefined();
  expect(stallAt(rules, finished(told, saved, 300))).toBe(400);
});

it('failures are told once', () => {
  const rules = { ...none, failures: 2 };
  let watch = submitted(newWatch(0), 9, 0);
  const due = [failed, saved, refused, failed, failed].map((how) => {
    const before = watch;
    watch = finished(watch, how, 1);
    return isFailureDue(rules, before, watch);
  });
  expect(due).toEqual([false, false, true, false, false]);
});

it('what ended by itself for trouble is a halt, everything else a finish', () => {
  const both = { ...none, isFinish: true, isHalt: true };
  const halts = (Object.keys(endings) as EndingKind[]).filter((kind) => endNotice(both, kind) === 'halt');
  expect(halts).toEqual(['bug', 'wrong-use', 'halted', 'not-allowed', 'output-unwritable']);
  expect(endNotice({ ...none, isHalt: true }, 'interrupted')).toBeUndefined();
  expect(endNotice({ ...none, isFinish: true }, 'halted')).toBe('finish');
  expect(endNotice(none, 'complete')).toBeUndefined();
});
