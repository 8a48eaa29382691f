/** Promise: for a mistyped word the intended one is suggested, and for an unrelated word none. */
import { expect, it } from 'vitest';
import { closest, closestFew } from '../../../src/lib/text/closest.ts';

const words = ['job-failed', 'job-timed-out', 'no-output', 'expired'];

it.each([
  ['job-faild', 'job-failed'],
  ['Expired', 'expired'],
  ['jobtimedout', 'job-timed-out'],
  ['no_output', 'no-output'],
  ['weather', undefined],
  ['', undefined],
  ['x', undefined],
])('for %j the suggestion is %j', (typed, meant) => {
  expect(closest(typed, words)).toBe(meant);
});

it('the few likeliest suggestions are found among a hundred thousand names', () => {
  const ids = Array.from({ length: 100_000 }, (_, i) => `harbour-${i}`);
  expect(closestFew('harbour-4711O', ids, 3)).toEqual(['harbour-4711', 'harbour-47110', 'harbour-47111']);
  expect(closestFew('mountains', ids, 3)).toEqual([]);
});
