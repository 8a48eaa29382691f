/** Polls are learned from what was seen, and stay within their bounds. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { nextPollMs, withObservation, type ObservedTimes } from '../../src/core/polling.ts';

const settings = { share: 0.2, shortestMs: 250, longestMs: 30_000 };
const observe = (times: number[]): ObservedTimes =>
  times.reduce<ObservedTimes>((observed, ms) => withObservation(observed, ms, 0.5), []);

it('never waits longer or shorter than allowed, whatever was seen', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(10_000_000), { maxLength: 700 }), fc.nat(20_000_000), (times, age) => {
      const wait = nextPollMs(age, observe(times), settings);
      expect(wait).toBeGreaterThanOrEqual(250);
      expect(wait).toBeLessThanOrEqual(30_000);
    }),
  );
});

it('keeps what it saw in order and bounded', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000_000), { maxLength: 1_200 }), (times) => {
      const observed = observe(times);
      expect(observed.length).toBe(Math.min(512, times.length));
      expect(observed).toEqual([...observed].toSorted((a, b) => a - b));
    }),
  );
});

it('looks first when the first fifth of such jobs has completed', () => {
  const observed = observe(Array.from({ length: 100 }, (_, i) => 8_000 + i * 10));
  const first = nextPollMs(0, observed, settings);
  expect(first).toBeGreaterThanOrEqual(8_150);
  expect(first).toBeLessThanOrEqual(8_250);
  expect(nextPollMs(8_500, observed, settings)).toBe(250);
});

it('asks far fewer times than once a second for the same jobs', () => {
  const observed = observe(Array.from({ length: 200 }, (_, i) => 20_000 + i * 100));
  let polls = 0;
  for (let age = 0; age < 30_000; polls++) age += nextPollMs(age, observed, settings);
  expect(polls).toBeLessThan(10);
});

it('grows its waits while nothing is known, and for a job that outlasts all others', () => {
  const waits = [0, 1_000, 10_000, 40_000].map((age) => nextPollMs(age, [], settings));
  expect(waits).toEqual([250, 500, 5_000, 20_000]);
  const observed = observe(Array.from({ length: 50 }, () => 1_000));
  expect(nextPollMs(100_000, observed, settings)).toBe(15_000);
});
