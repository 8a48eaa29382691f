/** `npm test` goes through a seeded tenth of what has thousands of cases; what `npm run test:all` adds goes through all of them. */
import { randomInt } from 'node:crypto';

/** Set by vitest.config.ts. */
export const isWhole = process.env['NIGHTRENDER_TEST_ALL'] === '1';

export const seed = Number(process.env['NIGHTRENDER_TEST_SEED'] ?? randomInt(2 ** 31));
process.stdout.write(`seed: ${seed} (NIGHTRENDER_TEST_SEED=${seed} repeats it)\n`);

/** Whole numbers below `bound`, the same for the same seed. */
export const random = generator(seed);

/** One of each ten in a row, so that no stretch of them is left out; all of them where the test is to be whole. */
export function sampled<Case>(cases: readonly Case[]): readonly Case[] {
  if (isWhole) return cases;
  const tens = Array.from({ length: Math.ceil(cases.length / 10) }, (_, ten) =>
    cases.slice(ten * 10, ten * 10 + 10),
  );
  return tens.flatMap((ten) => ten.slice(random(ten.length)).slice(0, 1));
}

function generator(first: number): (bound: number) => number {
  let state = first;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}
