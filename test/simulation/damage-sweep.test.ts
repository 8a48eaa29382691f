/** Promise: if any file of a batch is missing, empty, truncated, old or has a flipped byte, the next start saves no wrong picture, reports every payment and ends with a message. */
import { expect, it } from 'vitest';
import { isWhole, sampled } from '../fakes/tier.ts';
import { sweep } from './sweep.ts';

/** The complete sweep is `npm run simulate -- --sweep`. */
const seed = Number(process.env['SWEEP_SEED'] ?? 1);

it(`damaged files of a batch lose nothing silently, SWEEP_SEED=${seed}`, { timeout: 600_000 }, async () => {
  const result = await sweep(seed, {
    flips: isWhole ? 12 : 2,
    isWhole: false,
    emit: () => undefined,
    choose: (damages) => (isWhole ? damages : sampled(damages, { ms: 70, weight: 6 })),
  });
  expect(result.wrong.slice(0, 5)).toEqual([]);
  expect(result.cases).toBeGreaterThan(isWhole ? 200 : 10);
  if (isWhole) expect(result.refused).toBeGreaterThan(20);
});
