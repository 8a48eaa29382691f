/** How much of a large test `npm test` does; `npm run test:rest` does all of it. */

/** Set by vitest.config.ts. */
export const isWhole = process.env['NIGHTRENDER_TEST_ALL'] === '1';

/** Set by `npm run test:soak`, which has a night for it. */
export const isSoak = process.env['NIGHTRENDER_TEST_SOAK'] === '1';

/** How many runs of a property: a quarter of these in `npm test`. */
export function runs(count: number): number {
  return isWhole ? count : Math.ceil(count / 4);
}
