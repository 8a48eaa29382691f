/** Promise: the pace is that of the last minutes, and nothing is said where nobody can tell. */
import { expect, it } from 'vitest';
import { recentPace } from '../../src/core/recent-pace.ts';

const now = 1_000_000_000;
const every = (ms: number, count: number): number[] => Array.from({ length: count }, (_, i) => now - i * ms);

it('tells the pace and the time left', () => {
  expect(recentPace(every(500, 101), 200, now)).toEqual({ perSecond: 2, leftMs: 100_000 });
});

it('forgets what was saved long ago', () => {
  const long = every(100, 50).map((at) => at - 3_600_000);
  expect(recentPace([...every(1_000, 61), ...long], 60, now)).toEqual({ perSecond: 1, leftMs: 60_000 });
});

it('becomes slower while nothing is saved', () => {
  const before = recentPace(every(1_000, 61), 60, now)?.perSecond ?? 0;
  const after = recentPace(every(1_000, 61), 60, now + 60_000)?.perSecond ?? 0;
  expect(after).toBeLessThan(before * 0.6);
});

it.each([[[]], [[now, now - 100]], [[now, now, now]], [every(1_000, 10).map((at) => at - 600_000)]])(
  'says nothing of %j',
  (savedAt) => {
    expect(recentPace(savedAt, 10, now)).toBeUndefined();
  },
);
