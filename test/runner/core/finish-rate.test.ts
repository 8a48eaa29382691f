/** Promise: charts hold each scene that was finished once, in the bin of its time. */
import { expect, it } from 'vitest';
import { addFinish, countFinishes, type Finishes } from '../../../src/runner/core/finish-rate.ts';

const minute = 60_000;
const hour = 60 * minute;
const noon = Date.UTC(2024, 5, 1, 12);

function finishesAt(instants: number[]): Finishes {
  const finishes: Finishes = new Map();
  for (const at of instants) addFinish(finishes, at);
  return finishes;
}

const sum = (counts: number[]): number => counts.reduce((all, count) => all + count, 0);

it.each([
  [2 * minute, 5_000],
  [30 * minute, 30_000],
  [hour, minute],
  [8 * hour, 10 * minute],
  [40 * hour, 30 * minute],
])('a run of %i ms fills its chart, in bins of %i ms', (spanMs, stepMs) => {
  const finishes = finishesAt([noon - spanMs - hour, noon - spanMs, noon - spanMs / 2, noon - 1, noon]);
  const counted = countFinishes(finishes, noon - spanMs, noon);
  expect([counted.from, counted.stepMs]).toEqual([noon - spanMs, stepMs]);
  expect(counted.counts).toHaveLength(spanMs / stepMs + 1);
  expect([counted.counts[0], counted.counts.at(-2), counted.counts.at(-1)]).toEqual([1, 1, 1]);
  expect(sum(counted.counts)).toBe(4);
});

it('shows what is under way, also where nothing was finished', () => {
  expect(countFinishes(new Map(), noon, noon).counts).toEqual([0]);
  const longest = countFinishes(finishesAt([noon]), noon - 1000 * hour, noon).counts;
  expect(longest.length).toBeLessThanOrEqual(100);
  expect(sum(longest)).toBe(1);
});
