/** `npm test` goes through a seeded fortieth of what has thousands of cases; `npm run test:rest` goes through all of them, or a share. */
import { randomInt } from 'node:crypto';
import { isSoak, isWhole } from './whole.ts';

export const seed = Number(process.env['NIGHTRENDER_TEST_SEED'] ?? randomInt(2 ** 31));
process.stdout.write(`seed: ${seed} (NIGHTRENDER_TEST_SEED=${seed} repeats it)\n`);

/** Whole numbers below `bound`, the same for the same seed. */
export const random = generator(seed);

/**
 * One of each forty in a row, so that no stretch of them is left out; where the test is to be whole one of each `whole`, and all of
 * them in `npm run test:soak`.
 */
export function sampled<Case>(cases: readonly Case[], whole = 1): readonly Case[] {
  const size = isSoak ? 1 : isWhole ? whole : 40;
  if (size === 1) return cases;
  const groups = Array.from({ length: Math.ceil(cases.length / size) }, (_, i) =>
    cases.slice(i * size, i * size + size),
  );
  return groups.flatMap((some) => some.slice(random(some.length)).slice(0, 1));
}

function generator(first: number): (bound: number) => number {
  let state = first;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}
