/** Promise: equal rows are counted, whatever rows stand between them. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { equalRows } from '../../../src/runner/core/expansion.ts';
import { fingerprintOf } from '../../../src/runner/core/scene.ts';

test('each row has the number that a plain count gives it', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1500), { maxLength: 3000 }), (rows) => {
      const countEqual = equalRows();
      const counts = new Map<number, number>();
      for (const row of rows) {
        const count = (counts.get(row) ?? 0) + 1;
        counts.set(row, count);
        expect(countEqual(fingerprintOf({ row }))).toBe(count);
      }
    }),
    { numRuns: 20 },
  );
});

test('nor is one taken for another, however many there are and wherever they are kept', () => {
  const countEqual = equalRows();
  // All begin at the same place of 1,024, and at two places of 2,048.
  const prints = Array.from({ length: 700 }, (_, row) => (row * 1024).toString(16).padStart(12, '0'));
  for (const count of [1, 2, 3]) expect(prints.map(countEqual)).toEqual(prints.map(() => count));
});
