/**
 * Decides how much a large test does. `npm test` has little time for each, `npm run test:rest` more, `npm run
 * test:soak` a night. All random choices of a run come from one seed, which vitest.config.ts sets and prints.
 */
import { describe as describeHere, it as itHere } from 'vitest';

/** True in `npm run test:rest`. Set by vitest.config.ts. */
export const isWhole = process.env['NIGHTRENDER_TEST_ALL'] === '1';

/** True in `npm run test:soak`. */
const isSoak = process.env['NIGHTRENDER_TEST_SOAK'] === '1';

/** Seconds that a test of weight 1 may take. The only such limit. */
const budgetSeconds = isSoak ? 2_000 : isWhole ? 30 : 0.2;

export const seed = Number(process.env['NIGHTRENDER_TEST_SEED']);

/** Returns a whole number in [0, bound). The same seed gives the same sequence. */
export const random = generator(seed);

interface Cost {
  /** Measured time of one case, in milliseconds. */
  ms: number;
  /** Share of the budget. Default: 1. */
  weight?: number;
  /** Largest share of the cases that `npm run test:rest` tries. Default: 1, all of them. */
  share?: number;
  /** Smallest number of cases that still tests the promise. Default: 1. */
  least?: number;
}

/** Returns how many of at most `most` cases this tier has time for. */
export function runs(most: number, { ms, weight = 1, share = 1, least = 1 }: Cost): number {
  const affordable = Math.floor((budgetSeconds * 1_000 * weight) / ms);
  return Math.min(isSoak ? most : Math.ceil(most * share), Math.max(least, affordable));
}

/**
 * Returns as many cases as this tier has time for: one from each of as many stretches of equal length, so that no
 * stretch is left out.
 */
export function sampled<Case>(cases: readonly Case[], cost: Cost): readonly Case[] {
  const count = runs(cases.length, cost);
  if (count === cases.length) return cases;
  const startOf = (i: number): number => Math.floor((i * cases.length) / count);
  return Array.from(
    { length: count },
    (_, i) => cases[startOf(i) + random(startOf(i + 1) - startOf(i))],
  ).flatMap((one) => (one === undefined ? [] : [one]));
}

/** Returns some of the whole numbers from 1 to `count`, such as the calls at which a run is killed. */
export function sampledUpTo(count: number, cost: Cost): readonly number[] {
  return sampled(
    Array.from({ length: count }, (_, i) => i + 1),
    cost,
  );
}

/** Accepts every call and property of `it` and `describe`, and declares nothing. */
const undeclared: object = new Proxy(() => undeclared, { get: () => undeclared });

/** Declare tests of the longer tier. In `npm test` they declare nothing. */
export const rest = {
  it: isWhole ? itHere : (undeclared as typeof itHere),
  describe: isWhole ? describeHere : (undeclared as typeof describeHere),
};

/** Declare tests that `npm test` tries in full, with the same cases. `npm run test:rest` leaves them to `npm test`. */
export const firstTier = {
  it: isWhole ? (undeclared as typeof itHere) : itHere,
  describe: isWhole ? (undeclared as typeof describeHere) : describeHere,
};

function generator(first: number): (bound: number) => number {
  let state = first;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}
