/**
 * Promise: charts of any number of values need only a few bins, and the order of the values does not matter.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NumberBins } from '../../../src/runner/report/gallery-row.ts';

/** Excludes values so close to 0 that they vanish beside the largest one. */
const number = fc
  .double({ noNaN: true, min: -1e150, max: 1e150 })
  .filter((value) => value === 0 || Math.abs(value) > 1e-150);
const numbers = fc.array(number, { minLength: 1 });

function binsOf(values: number[]): ReturnType<NumberBins['result']> {
  const bins = new NumberBins();
  for (const value of values) bins.add(value);
  return bins.result();
}

it('each number is counted once, in its bin', () => {
  fc.assert(
    fc.property(numbers, (values) => {
      const { least, most, from, width, bins } = binsOf(values) ?? expect.fail();
      expect([least, most]).toEqual([Math.min(...values), Math.max(...values)]);
      expect(bins.length).toBeLessThanOrEqual(48);
      const counted = bins.map(() => 0);
      for (const value of values) {
        const bin = Math.floor(value / width) - from / width;
        counted[bin] = (counted[bin] ?? 0) + 1;
      }
      expect(bins).toEqual(counted);
    }),
  );
});

it('the bins do not depend on the order', () => {
  fc.assert(
    fc.property(numbers, (values) => {
      expect(binsOf(values.toReversed())).toEqual(binsOf(values));
    }),
  );
});

it('the distribution of scores is shown, and nothing if there are none', () => {
  const { from, width, bins } = binsOf([0.1, 0.11, 0.5, 0.9]) ?? expect.fail();
  expect(bins.length).toBeGreaterThan(20);
  expect(bins.map((count, bin) => [from + bin * width, count]).filter(([, count]) => count !== 0)).toEqual([
    [0.09375, 2],
    [0.5, 1],
    [0.875, 1],
  ]);
  expect(binsOf([])).toBeUndefined();
});
