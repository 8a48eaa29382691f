/** Promise: a mistyped word is met with the one that was meant, and a foreign one with none. */
import { expect, it } from 'vitest';
import { closest } from '../../src/commands/closest.ts';

const words = ['job-failed', 'job-timed-out', 'no-output', 'expired'];

it.each([
  ['job-faild', 'job-failed'],
  ['Expired', 'expired'],
  ['jobtimedout', 'job-timed-out'],
  ['no_output', 'no-output'],
  ['weather', undefined],
  ['', undefined],
])('%j is %j', (typed, meant) => {
  expect(closest(typed, words)).toBe(meant);
});
