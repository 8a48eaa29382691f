/** Polling intervals are learned from observed times, and stay within their limits. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type LearnedTimes,
  nextPollMs,
  nothingLearned,
  type ObservedTimes,
  type PollRole,
  type PollState,
  untilLagMs,
  withCompleted,
  withObservation,
} from '../../../src/runner/core/polling.ts';

const settings = { lag: 0.05, shortest: 10, longest: 30_000 };
const learn = (executions: number[], delayMs = 0): LearnedTimes =>
  executions.reduce<LearnedTimes>(
    (learned, executionMs) => withCompleted(learned, { delayMs, executionMs }, 0.5),
    nothingLearned,
  );
const unseen: PollState = { seen: 'nothing', ageMs: 0, executedMs: 0 };
const executing = (ms: number): PollState => ({ seen: 'executing', ageMs: ms, executedMs: ms });
const amongMany: PollRole = { lastOf: undefined, isProbe: false };
const next = (sight: PollState, learned: LearnedTimes, company = amongMany): number =>
  nextPollMs(sight, learned, settings, company, 0.5);

it('never waits longer or shorter than allowed, whatever was seen', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(10_000_000), { maxLength: 700 }),
      fc.constantFrom<PollState['seen']>('nothing', 'waiting', 'executing'),
      fc.nat(20_000_000),
      fc.option(fc.integer({ min: 0, max: 300 }), { nil: undefined }),
      (times, seen, age, lastOf) => {
        const sight = { seen, ageMs: age, executedMs: seen === 'executing' ? age : 0 };
        const wait = next(sight, learn(times, age / 2), { lastOf, isProbe: false });
        expect(wait).toBeGreaterThanOrEqual(settings.shortest);
        expect(wait).toBeLessThanOrEqual(30_000);
      },
    ),
  );
});

it('keeps observations in order and bounded', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000_000), { maxLength: 1_200 }), (times) => {
      const observed = times.reduce<ObservedTimes>((seen, ms) => withObservation(seen, ms, 0.5), []);
      expect(observed.length).toBe(Math.min(512, times.length));
      expect(observed).toEqual([...observed].toSorted((a, b) => a - b));
    }),
  );
});

it('a poll happens when the expected lag has grown to its price', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 100_000 }), { minLength: 1, maxLength: 100 }),
      fc.integer({ min: 1, max: 50_000 }),
      (times, price) => {
        const at = untilLagMs(
          times.toSorted((a, b) => a - b),
          price,
        );
        const lag = times.reduce((sum, ms) => sum + Math.max(0, at - ms), 0) / times.length;
        expect(lag).toBeCloseTo(price, 3);
      },
    ),
  );
});

it('polls first when some similar jobs are done, and polls waiting jobs no sooner than one could be done', () => {
  const learned = learn(Array.from({ length: 100 }, (_, i) => 8_000 + ((i * 37) % 100) * 20));
  const first = next(unseen, learned);
  expect(first).toBeGreaterThan(8_250);
  expect(first).toBeLessThan(9_500);
  expect(next({ seen: 'waiting', ageMs: 60_000, executedMs: 0 }, learned)).toBeGreaterThan(8_000);
  expect(next(executing(8_500), learned)).toBeLessThan(1_000);
});

it('polls more often if everything else waits for the job', () => {
  const learned = learn(Array.from({ length: 100 }, (_, i) => 40_000 + i * 400));
  const last = next(executing(50_000), learned, { lastOf: 1, isProbe: false });
  expect(last).toBeLessThan(next(executing(50_000), learned) / 2);
});

it('increases its waits while nothing is known, those of probes slowly', () => {
  const scout = { lastOf: undefined, isProbe: true };
  const ages = [0, 1_000, 10_000, 40_000];
  const queued = (ageMs: number): PollState => ({ seen: 'waiting', ageMs, executedMs: 0 });
  expect(ages.map((age) => next(queued(age), nothingLearned, scout))).toEqual([10, 250, 2_500, 10_000]);
  expect(ages.map((age) => next(queued(age), nothingLearned))).toEqual([625, 1_500, 15_000, 30_000]);
});

it('polls a job that outlasts all others ever more rarely', () => {
  const learned = learn(Array.from({ length: 50 }, () => 10_000));
  const waits = [20_000, 100_000, 1_000_000].map((ms) => next(executing(ms), learned));
  expect(waits[0]).toBeLessThan(waits[1] ?? 0);
  expect(waits[1]).toBeLessThan(waits[2] ?? 0);
});

it('does not wait for the longest jobs with one that is a little late among the shortest', () => {
  const learned = learn([
    ...Array.from({ length: 100 }, () => 20_000),
    ...Array.from({ length: 300 }, () => 500),
  ]);
  const ages = [550, 1_200];
  const waits = ages.map((ms) => next(executing(ms), learned));
  expect(waits.every((wait, i) => wait <= (ages[i] ?? 0))).toBe(true);
  expect(next(executing(100), learned)).toBeGreaterThan(250);
});
