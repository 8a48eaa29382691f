/**
 * Promise: no ten seconds have more requests than `rate` says, and a refused request waits at least as long
 * as it was asked to.
 */
import { describe, expect, it } from 'vitest';
import { isRefusal, RefusalCount, retryWaitMs, TokenBucket } from '../../../src/runner/core/request-rate.ts';

const settings = { firstWait: 2_000, longestWait: 120_000 };

it.each([1, 6, 50, 100, 1_000])(
  'a rate of %i in ten seconds is used, and never exceeded',
  (perTenSeconds) => {
    const bucket = new TokenBucket({ atOnce: 1, perTenSeconds }, 0);
    const sent: number[] = [];
    for (let now = 0; now < 60_000; now += Math.max(1, bucket.waitMs(now)))
      while (bucket.take(now)) sent.push(now);
    for (const [i, at] of sent.entries())
      expect(sent.slice(i).filter((other) => other < at + 10_000).length).toBeLessThanOrEqual(perTenSeconds);
    expect(sent.length).toBeGreaterThan(0.95 * 6 * perTenSeconds);
  },
);

it('a shared rate leaves each its part', () => {
  const bucket = new TokenBucket({ atOnce: 1, perTenSeconds: 10_000 }, 0);
  bucket.change({ atOnce: 1, perTenSeconds: 10 }, 0);
  expect([bucket.take(0), bucket.take(0)]).toEqual([true, false]);
  expect(bucket.waitMs(0)).toBe(1_011);
});

it('a pause holds until its end, whatever is requested later, unless it is ended', () => {
  const bucket = new TokenBucket({ atOnce: 1, perTenSeconds: 1_000 }, 0);
  bucket.pause(5_000);
  bucket.pause(1_000);
  expect([bucket.waitMs(0), bucket.isPaused(4_999), bucket.tokensWithin(500, 4_000)]).toEqual([
    5_000,
    true,
    0,
  ]);
  expect([bucket.take(4_999), bucket.isPaused(5_000), bucket.take(5_000)]).toEqual([false, false, true]);
  bucket.pause(9_000);
  bucket.resume();
  expect(bucket.take(6_000)).toBe(true);
});

describe('a failed request', () => {
  const busy = { kind: 'overloaded', text: '429' } as const;
  const broken = { kind: 'poll-failed', text: '503' } as const;

  it('that was refused waits for any time up to a bound, which grows to ten seconds', () => {
    const bounds = [1, 2, 3, 4, 100].map((tries) => retryWaitMs(busy, tries, settings, 0.999_999));
    expect(bounds).toEqual([2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(retryWaitMs(busy, 9, settings, 0)).toBe(0);
  });

  it.each([busy, broken])('waits as long as the service says, or longer (%o)', (failure) => {
    const wait = (retryAfterMs: number): number =>
      retryWaitMs({ ...failure, retryAfterMs }, 4, settings, 0.5);
    expect([wait(1_000), wait(7_000), wait(600_000)]).toEqual([5_000, 7_000, 600_000]);
  });

  it('without a time to come back waits longer with each try, if it was no refusal', () => {
    expect(
      [0, undefined].map((retryAfterMs) =>
        isRefusal({ ...broken, ...(retryAfterMs === 0 && { retryAfterMs }) }),
      ),
    ).toEqual([false, false]);
    expect(retryWaitMs({ ...broken, retryAfterMs: 0 }, 100, settings, 0)).toBe(60_000);
  });
});

describe('the setting to change', () => {
  const adviceAfter = (refused: number, answers: number): (string | undefined)[] => {
    const count = new RefusalCount();
    const minute = Array.from({ length: answers }, (_, i) => count.add(i < refused, 1_000 + i));
    return [...minute, count.add(true, 61_000), count.add(true, 121_000), count.add(true, 181_000)];
  };

  it('is said once, after a minute in which more than half was refused', () => {
    const advice = adviceAfter(420, 700);
    expect(advice.filter((text) => text !== undefined)).toEqual([
      'the service refused 420 of 700 submissions within a minute. They are sent again, and no scene fails for it. Set `rate.submit.perTenSeconds` to about 47, or `concurrency` to the number of jobs that the service holds',
    ]);
    expect(advice[700]).toBeDefined();
  });

  it.each([
    [350, 700],
    [15, 15],
  ])('is not said if %i of %i were refused', (refused, answers) => {
    expect(adviceAfter(refused, answers).filter((text) => text !== undefined)).toEqual([]);
  });
});
