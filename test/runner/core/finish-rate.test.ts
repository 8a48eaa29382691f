/** Promise: charts hold each scene that was finished once, in the bin of its time. */
import { describe, expect, it } from 'vitest';
import { addFinish, lastHourOf, nightOf, type Finishes } from '../../../src/runner/core/finish-rate.ts';

const minute = 60_000;
const hour = 60 * minute;
const noon = Date.UTC(2024, 5, 1, 12);

function finishesAt(instants: number[]): Finishes {
  const finishes: Finishes = new Map();
  for (const at of instants) addFinish(finishes, at);
  return finishes;
}

const sum = (counts: number[]): number => counts.reduce((all, count) => all + count, 0);

it('tells the last hour by the minute, the one under way included', () => {
  const finishes = finishesAt([noon - hour, noon - 59 * minute, noon - 1, noon, noon + 5_000]);
  const { from, stepMs, counts } = lastHourOf(finishes, noon + 5_000);
  expect([from, stepMs, counts.length]).toEqual([noon - 59 * minute, minute, 60]);
  expect([counts[0], counts[58], counts[59]]).toEqual([1, 1, 2]);
  expect(sum(counts)).toBe(4);
});

describe('the night', () => {
  it('is one without a pause of hours in it, and holds each of its scenes once', () => {
    const lastNight = Array.from({ length: 50 }, (_, i) => noon - 30 * hour + i * minute);
    const tonight = Array.from({ length: 600 }, (_, i) => noon - i * minute);
    const { from, stepMs, counts } = nightOf(finishesAt([...lastNight, ...tonight]), noon);
    expect(sum(counts)).toBe(600);
    expect(counts.length).toBeLessThanOrEqual(96);
    expect(from).toBeGreaterThan(noon - 10 * hour - stepMs);
    expect(from + counts.length * stepMs).toBeGreaterThan(noon);
  });

  it('is an hour at least, also where nothing was finished', () => {
    expect(nightOf(new Map(), noon).counts).toHaveLength(60);
    expect(sum(nightOf(finishesAt([noon]), noon).counts)).toBe(1);
  });

  it('has few bins, however long it is', () => {
    const long = Array.from({ length: 2_000 }, (_, i) => noon - i * 10 * minute);
    expect(nightOf(finishesAt(long), noon).counts.length).toBeLessThanOrEqual(100);
  });
});
