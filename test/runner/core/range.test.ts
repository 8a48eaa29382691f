/** Promise: a range gives exactly the numbers that a person would write down. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { isRange, readRange } from '../../../src/runner/core/expansion.ts';

it.each([
  ['1..4', [1, 2, 3, 4]],
  ['1..10 step 4', [1, 5, 9]],
  ['4..1', [4, 3, 2, 1]],
  ['10..1 step 4', [10, 6, 2]],
  ['0.5..2 step 0.5', [0.5, 1, 1.5, 2]],
  ['0.1..0.7 step 0.1', [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]],
  ['-1..1', [-1, 0, 1]],
  [' 5 .. 5 ', [5]],
  ['-0.2..-0.4 step 0.1', [-0.2, -0.3, -0.4]],
])('%s', (text, values) => {
  expect(readRange(text)).toEqual({ values });
});

it.each(['oil', '1-10', '1..', '..3', '1...3', '1..10 step', '1..10 by 2', '01..10', '1..x', ''])(
  'no range: %j',
  (text) => {
    expect(readRange(text)).toBeUndefined();
    expect(isRange(text)).toBe(false);
  },
);

it.each([
  ['1..10 step 0', 'a step above 0'],
  ['1..10 step -1', 'a step above 0'],
  ['1..100001', 'at most 100,000 values'],
  ['0..9007199254740993', 'at most 15 digits'],
  ['0..1 step 0.0000000000000001', 'at most 15 digits'],
])('a range that cannot be walked: %s', (text, expected) => {
  expect(readRange(text)).toEqual({ expected: expect.stringContaining(expected) as string });
});

it('every number of a range is the one that is written so', () => {
  const part = fc.integer({ min: -5000, max: 5000 });
  fc.assert(
    fc.property(
      part,
      part,
      fc.integer({ min: 1, max: 500 }),
      fc.constantFrom(0, 1, 2, 3),
      (a, b, s, places) => {
        const shown = (whole: number): string => (whole / 10 ** places).toFixed(places);
        const range = readRange(`${shown(a)}..${shown(b)} step ${shown(s)}`);
        const steps = Math.floor(Math.abs(b - a) / s);
        const values = Array.from({ length: steps + 1 }, (_, i) =>
          Number(shown(a + Math.sign(b - a) * i * s)),
        );
        expect(range).toEqual({ values: values.map((value) => value + 0) });
      },
    ),
  );
});
