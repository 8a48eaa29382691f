/** Promise: equal rows are numbered, whatever rows are between them. */
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

test('rows with colliding hashes are counted separately', () => {
  const countEqual = equalRows();
  // All of them hash to the same slot of 1,024, and to two slots of 2,048.
  const prints = Array.from({ length: 700 }, (_, row) => (row * 1024).toString(16).padStart(12, '0'));
  for (const count of [1, 2, 3]) expect(prints.map(countEqual)).toEqual(prints.map(() => count));
});
