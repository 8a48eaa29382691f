/** Promise: the axes of charts have readable numbers and times. */
import { expect, it } from 'vitest';
import { clockTicks, rateUnit, roundTop } from '../../../src/web/shared/number-words.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const noon = new Date(2024, 5, 1, 12).getTime();

it.each([
  [noon - 75 * second, noon, ['11:59:00', '11:59:30', '12:00:00']],
  [noon - 10 * minute, noon, ['11:50', '11:55', '12:00']],
  [noon - 9 * hour, noon, ['04:00', '06:00', '08:00', '10:00', '12:00']],
  [noon - 30 * hour, noon, ['Fri 12:00', 'Sat 00:00', 'Sat 12:00']],
])('an axis from %i to %i has the times %j', (from, to, texts) => {
  const ticks = clockTicks(from, to);
  expect(ticks.map(({ text }) => text)).toEqual(texts);
  expect(ticks.at(-1)?.at).toBe(1);
});

it('the axis has no times for an empty period', () => {
  expect(clockTicks(noon + 1, noon + 1)).toEqual([]);
});

it.each([
  [0, 1],
  [0.4, 1],
  [7, 8],
  [41, 50],
  [2235, 3000],
  [99, 100],
])('an axis of %d ends at %d', (most, top) => {
  expect(roundTop(most)).toBe(top);
});

it.each([
  [41, 1, 'a second'],
  [0.9, 60, 'a minute'],
  [0.01, 3600, 'an hour'],
  [0, 3600, 'an hour'],
])('%d a second is counted by %i seconds', (perSecond, seconds, words) => {
  expect(rateUnit(perSecond)).toEqual({ seconds, words });
});
