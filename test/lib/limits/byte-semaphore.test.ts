/**
 * Promise: bytes are given out in turn and never above the limit, except to a single large request alone. No
 * request waits forever.
 */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteSemaphore } from '../../../src/lib/limits.ts';

it('the semaphore is first come, first served, even if a small request behind would fit', async () => {
  const memory = new ByteSemaphore(100);
  expect(memory.tryTake(60)).toBe(true);
  const order: string[] = [];
  const large = memory.take(50).then(() => order.push('large'));
  const small = memory.take(1).then(() => order.push('small'));
  expect(memory.tryTake(1)).toBe(false);
  memory.giveBack(60);
  await Promise.all([large, small]);
  expect(order).toEqual(['large', 'small']);
});

it('the semaphore admits waiting requests if the request before them is withdrawn', async () => {
  const memory = new ByteSemaphore(100);
  memory.tryTake(60);
  const leaving = new AbortController();
  const large = memory.take(50, leaving.signal);
  const small = memory.take(40);
  leaving.abort();
  expect([await large, await small]).toEqual([false, true]);
  expect(await memory.take(1, leaving.signal)).toBe(false);
});

it('the semaphore finishes for any amounts, and is never above its limit except for one request alone', async () => {
  const amounts = fc.array(fc.integer({ min: 1, max: 150 }), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(amounts, async (all) => {
      const memory = new ByteSemaphore(100);
      const held: number[] = [];
      const use = async (bytes: number): Promise<void> => {
        await memory.take(bytes);
        held.push(bytes);
        if (held.length > 1) expect(held.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(100);
        await new Promise((resolve) => setImmediate(resolve));
        held.splice(held.indexOf(bytes), 1);
        memory.giveBack(bytes);
      };
      await Promise.all(all.map(use));
      expect(memory.tryTake(1_000)).toBe(true);
    }),
  );
});
