/**
 * Promise: a submission is repeated only while the service surely remembers its key, whatever the clocks did
 * meanwhile.
 */
import { expect, it } from 'vitest';
import { isKnownStill } from '../../../src/runner/core/attempt.ts';

const minutes = 60_000;
const failure = { kind: 'unanswered', text: '502' } as const;
const sentAt = Date.UTC(2030, 0, 1);
const known = 30 * minutes;

it.each<[string, { wall: number; elapsed?: number }, boolean]>([
  ['at once', { wall: 0, elapsed: 0 }, true],
  ['within the time, less a tenth', { wall: 26.9 * minutes, elapsed: 26.9 * minutes }, true],
  ['within its last tenth', { wall: 27 * minutes, elapsed: 27 * minutes }, false],
  ['after a sleep, in which the monotonic clock stands still', { wall: 90 * minutes, elapsed: 1_000 }, false],
  ['if the clock on the wall was set back', { wall: -90 * minutes, elapsed: 1_000 }, true],
  ['if it was set back, and too much time passed', { wall: -90 * minutes, elapsed: 28 * minutes }, false],
  ['by a later run, in time', { wall: 26 * minutes }, true],
  ['by a later run, too late', { wall: 28 * minutes }, false],
  ['by a later run, before whose start the clock was set back', { wall: -1 }, false],
])('%s', (_, { wall, elapsed }, isKnown) => {
  const lost = { failure, sentAt, sentBy: sentAt, ...(elapsed !== undefined && { sentElapsed: 500 }) };
  expect(isKnownStill(lost, known, sentAt + wall, 500 + (elapsed ?? 0))).toBe(isKnown);
});

it('leaves a minute at least for the request itself', () => {
  const lost = { failure, sentAt, sentBy: sentAt };
  expect(isKnownStill(lost, minutes, sentAt, 0)).toBe(false);
  expect(isKnownStill(lost, 2 * minutes, sentAt + 59_000, 0)).toBe(true);
  expect(isKnownStill(lost, 2 * minutes, sentAt + 60_000, 0)).toBe(false);
});
