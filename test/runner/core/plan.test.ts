/** A list that seems truncated, and a changed endpoint, are noticed and explained before anything is sent. */
import { expect, it } from 'vitest';
import { endpointChange, isCutOff, ListCutOff } from '../../../src/runner/core/batch-plan.ts';

it.each([
  { what: '57 of 60 rows', before: 60, unchanged: 3, withdrawn: 57, isCut: true },
  { what: 'all rows', before: 60, withdrawn: 60, isCut: true },
  { what: 'a third, and no more', before: 60, unchanged: 40, withdrawn: 20, isCut: false },
  { what: 'all rows for others', before: 60, added: 3, withdrawn: 60, isCut: false },
  { what: 'most rows, and one is edited', before: 60, changed: 1, unchanged: 2, withdrawn: 57, isCut: true },
  { what: 'most rows, and others have their ids', before: 60, changed: 20, withdrawn: 40, isCut: false },
  { what: 'most rows for a new one', before: 60, added: 1, unchanged: 2, withdrawn: 58, isCut: false },
  { what: 'most rows, and earlier ones come back', before: 60, unchanged: 30, withdrawn: 60, isCut: false },
  {
    what: 'most of a line',
    before: 60,
    added: 1,
    unchanged: 2,
    withdrawn: 58,
    isOneEdited: true,
    isCut: true,
  },
  {
    what: 'most of a line that keeps its id',
    before: 60,
    changed: 1,
    withdrawn: 59,
    isOneEdited: true,
    isCut: true,
  },
  { what: 'nothing of an empty batch', before: 0, isCut: false },
])('a list that loses $what: $isCut', ({ before, isOneEdited = false, isCut, ...plan }) => {
  const none = { added: 0, changed: 0, unchanged: 0, withdrawn: 0 };
  expect(isCutOff({ ...none, ...plan }, before, () => isOneEdited)).toBe(isCut);
});

it('the refusal of a truncated list says how many scenes are missing, and names the first', () => {
  const plan = { added: 0, changed: 0, unchanged: 3, withdrawn: 1_057 };
  const first = { id: 'sea', source: 'a.csv:4' };
  expect(new ListCutOff(plan, 1_060, first).message).toMatch(
    /^1,057 of 1,060 scenes are no longer in the list \(the first is sea, which was at a.csv:4\), and none is new\. Nothing/,
  );
  expect(new ListCutOff(plan, 1_060, undefined).message).toMatch(/in the list, and none is new\. Nothing/);
});

it('a changed endpoint is reported with the scenes that were rendered at each', () => {
  const here = { baseUrl: 'https://api.example.com', id: 'new', version: 'v2' };
  const made = [
    { endpoint: here, scenes: 5 },
    { endpoint: { ...here, id: 'old' }, scenes: 1_000 },
  ];
  const counts = { waiting: 1, active: 0, saved: 1_005, failed: 2, withdrawn: 7, unneeded: 0, invalid: 0 };
  const change = (waiting: number, all = made) => endpointChange(all, { ...counts, waiting }, here);
  expect(change(1)).toBe(
    'the endpoint has changed: 1,000 of 1,008 scenes were made at https://api.example.com/v2/old; the waiting scene goes to https://api.example.com/v2/new',
  );
  expect(change(3)).toMatch(/; the 3 that wait go to/);
  expect([change(0), change(3, made.slice(0, 1))]).toEqual([undefined, undefined]);
});
