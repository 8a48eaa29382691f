/** Promise: memory is shared out in turn, and never so that all wait for each other. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { nextClaim, type Claim } from '../../../src/runner/core/next-reservation.ts';

const [a, b, c] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];

it('is first come, first served, also where a small one behind would fit', () => {
  const held = new Map([[a, 60]]);
  expect(
    nextClaim(100, held, [
      { holder: b, bytes: 50 },
      { holder: c, bytes: 1 },
    ]),
  ).toBeUndefined();
  expect(
    nextClaim(110, held, [
      { holder: b, bytes: 50 },
      { holder: c, bytes: 1 },
    ])?.holder,
  ).toBe(b);
});

it('lets through alone what is larger than all of it', () => {
  expect(nextClaim(100, new Map(), [{ holder: a, bytes: 500 }])?.holder).toBe(a);
  expect(nextClaim(100, new Map([[b, 1]]), [{ holder: a, bytes: 500 }])).toBeUndefined();
});

it('puts who holds something before who holds nothing, and never has the oldest of them wait', () => {
  const held = new Map([
    [a, 50],
    [b, 50],
  ]);
  const waiting = [
    { holder: c, bytes: 1 },
    { holder: b, bytes: 10 },
  ];
  expect(nextClaim(105, held, waiting)).toBeUndefined();
  expect(nextClaim(110, held, waiting)?.holder).toBe(b);
  expect(nextClaim(100, held, [...waiting, { holder: a, bytes: 999 }])?.holder).toBe(a);
});

it('comes to an end for any number of jobs that take any amounts in any number of steps', () => {
  const steps = fc.array(fc.integer({ min: 1, max: 150 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 12 }), fc.nat(), (jobs, turn) => {
      const mostAtOnce = finishAll(100, jobs, turn);
      // More than the limit only ever is what one job takes.
      const largest = Math.max(0, ...jobs.map((amounts) => amounts.reduce((sum, amount) => sum + amount)));
      expect(mostAtOnce).toBeLessThanOrEqual(100 + largest);
    }),
  );
});

/** Each takes its amounts one after the other and gives all back; returns the most that was held together. */
function finishAll(limit: number, jobs: number[][], turn: number): number {
  const held = new Map<object, number>();
  const left = new Map<object, number[]>(jobs.map((amounts, i) => [{ i }, [...amounts]]));
  const waiting: Claim[] = Array.from(left, ([holder, amounts]) => ({ holder, bytes: amounts.shift() ?? 0 }));
  const working: object[] = [];
  let most = 0;
  while (left.size > 0) {
    for (let claim = nextClaim(limit, held, waiting); claim; claim = nextClaim(limit, held, waiting)) {
      waiting.splice(waiting.indexOf(claim), 1);
      held.set(claim.holder, (held.get(claim.holder) ?? 0) + claim.bytes);
      working.push(claim.holder);
      most = Math.max(
        most,
        [...held.values()].reduce((sum, bytes) => sum + bytes, 0),
      );
    }
    const [holder] = working.splice(turn % Math.max(1, working.length), 1);
    if (holder === undefined) throw new Error('all wait for each other');
    const bytes = left.get(holder)?.shift();
    if (bytes !== undefined) waiting.push({ holder, bytes });
    else if (held.delete(holder)) left.delete(holder);
  }
  return most;
}
