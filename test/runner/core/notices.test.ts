/**
 * Promise: a run notifies once about failures and once about each stall, and its end is classified correctly.
 */
import { expect, it } from 'vitest';
import { type EndingKind, endings, type NoticeRules, NoticeWatch } from '../../../src/runner/core/ending.ts';

const none = { isStart: false, isFinish: false, isHalt: false };
const saved = { hasFailed: false, wasInFlight: true };
const failed = { hasFailed: true, wasInFlight: true };
const refused = { hasFailed: true, wasInFlight: false };

/** Returns a watch with two jobs in flight, submitted at 50 and 90. */
function busy(rules: NoticeRules): NoticeWatch {
  const watch = new NoticeWatch(rules, 0);
  watch.submitted(1, 50);
  watch.submitted(1, 90);
  return watch;
}

it('a stall counts from the last finished job, or from the first job after an idle time', () => {
  const rules = { ...none, stallMs: 100 };
  expect(new NoticeWatch(rules, 0).stallAt).toBeUndefined();
  expect(busy(rules).stallAt).toBe(150);
  for (const [how, at] of [
    [saved, 220],
    [failed, 220],
    [refused, 150],
  ] as const) {
    const watch = busy(rules);
    watch.finished(how, 120);
    expect(watch.stallAt).toBe(at);
  }
  const empty = busy(rules);
  empty.finished(saved, 120);
  empty.finished(saved, 130);
  expect(empty.stallAt).toBeUndefined();
  empty.submitted(3, 900);
  expect(empty.stallAt).toBe(1000);
  expect(busy(none).stallAt).toBeUndefined();
});

it('each stall is reported once', () => {
  const watch = busy({ ...none, stallMs: 100 });
  watch.stallReported();
  expect(watch.stallAt).toBeUndefined();
  watch.submitted(1, 300);
  expect(watch.stallAt).toBeUndefined();
  watch.finished(saved, 300);
  expect(watch.stallAt).toBe(400);
});

it('failures are reported once', () => {
  const watch = new NoticeWatch({ ...none, failures: 2 }, 0);
  watch.submitted(9, 0);
  const due = [failed, saved, refused, failed, failed].map((how) => watch.finished(how, 1));
  expect(due).toEqual([false, false, true, false, false]);
});

it('an end caused by a failure is a halt, any other end a finish', () => {
  const noticeOf = (rules: Partial<NoticeRules>, ending: EndingKind) =>
    new NoticeWatch({ ...none, ...rules }, 0).endNotice(ending);
  const both = { isFinish: true, isHalt: true };
  const halts = (Object.keys(endings) as EndingKind[]).filter((kind) => noticeOf(both, kind) === 'halt');
  expect(halts).toEqual(['bug', 'wrong-use', 'halted', 'not-allowed', 'output-unwritable']);
  expect(noticeOf({ isHalt: true }, 'interrupted')).toBeUndefined();
  expect(noticeOf({ isFinish: true }, 'halted')).toBe('finish');
  expect(noticeOf({}, 'complete')).toBeUndefined();
});
