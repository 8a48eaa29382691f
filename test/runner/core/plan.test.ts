/** When a list seems to be cut off. */
import { expect, it } from 'vitest';
import { isCutOff } from '../../../src/runner/core/plan.ts';

it.each([
  { what: '57 of 60 rows', before: 60, unchanged: 3, withdrawn: 57, isCut: true },
  { what: 'all rows', before: 60, withdrawn: 60, isCut: true },
  { what: 'a third, and no more', before: 60, unchanged: 40, withdrawn: 20, isCut: false },
  { what: 'all rows for others', before: 60, added: 3, withdrawn: 60, isCut: false },
  { what: 'most rows, and one is edited', before: 60, changed: 1, unchanged: 2, withdrawn: 57, isCut: false },
  { what: 'most rows, and earlier ones come back', before: 60, unchanged: 30, withdrawn: 60, isCut: false },
  { what: 'most of a line', before: 60, added: 1, unchanged: 2, withdrawn: 58, isTorn: true, isCut: true },
  {
    what: 'most of a line that keeps its id',
    before: 60,
    changed: 1,
    withdrawn: 59,
    isTorn: true,
    isCut: true,
  },
  { what: 'nothing of an empty batch', before: 0, isCut: false },
])('a list that loses $what: $isCut', ({ before, isTorn = false, isCut, ...plan }) => {
  const none = { added: 0, changed: 0, unchanged: 0, withdrawn: 0 };
  expect(isCutOff({ ...none, ...plan }, before, isTorn)).toBe(isCut);
});
