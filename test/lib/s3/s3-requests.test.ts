/**
 * Promise: a request that fails for a passing reason is repeated, with no more requests at once than the
 * store accepts, until the run ends.
 */
import { expect, it } from 'vitest';
import { MemoryStore } from '../../fakes/memory-store.ts';

const type = 'image/png';
const one = Buffer.from('a');

it('reports once that a store fails, and again after it had recovered', async () => {
  const told: string[] = [];
  const options = { answerMs: 100, onTrouble: (text: string) => told.push(text) };
  const first = new Set(['/any/a', '/any/b']);
  const store = await MemoryStore.start({
    trouble: (_, __, path) => (first.delete(path) ? 'silent' : undefined),
  });
  const bucket = await store.open('s3://any/', options);
  await bucket.put('a', one, { type });
  expect(told).toHaveLength(1);
  await bucket.put('b', one, { type });
  expect([told.length, store.objects.size]).toEqual([2, 2]);
});

it('reports once that a store answers but fails, at the third time', async () => {
  const told: string[] = [];
  const store = await MemoryStore.start({ trouble: (n) => (n <= 4 ? 'busy' : undefined) });
  const bucket = await store.open('s3://any/', { onTrouble: (text) => told.push(text) });
  await bucket.put('a', one, { type });
  expect(told).toEqual(['s3://any/: it asks for fewer requests (503 SlowDown)']);
});

it('sends again what arrived damaged, three times', async () => {
  const once = await MemoryStore.start({ trouble: (n) => (n === 1 ? 'garbled' : undefined) });
  await (await once.open('s3://any/')).put('a', one, { type });
  expect([once.requests, once.objects.size]).toEqual([2, 1]);
  const always = await MemoryStore.start({ trouble: () => 'garbled' });
  const putting = (await always.open('s3://any/')).put('a', one, { type });
  await expect(putting).rejects.toThrow('the store received different bytes than were sent (400 BadDigest)');
  expect(always.requests).toBe(4);
});

it('sends nothing again once the run is to end', async () => {
  const store = await MemoryStore.start({ trouble: () => 'busy' });
  const bucket = await store.open('s3://any/', { signal: AbortSignal.abort() });
  await expect(bucket.get('a')).rejects.toThrow('503 SlowDown');
  expect(store.requests).toBe(1);
});

it('gives up requests in progress, and all later ones, when the work is abandoned', async () => {
  const abandoned = new AbortController();
  const store = await MemoryStore.start({ trouble: () => 'held' });
  const bucket = await store.open('s3://any/', { abandoned: abandoned.signal });
  const words = 's3://any/: the request was given up because the run is ending';
  const given = expect(bucket.get('a')).rejects.toThrow(words);
  await expect.poll(() => store.held).toBe(1);
  abandoned.abort();
  await given;
  await expect(bucket.get('b')).rejects.toThrow(words);
  expect(store.requests).toBe(1);
});

it('sends half as many at once to an overloaded store, and slowly more again', async () => {
  const store = await MemoryStore.start({ trouble: (n) => (n === 1 ? 'busy' : 'held') });
  const bucket = await store.open('s3://any/');
  const state = { left: 200 };
  const puts = Array.from({ length: state.left }, async (_, i) => {
    await bucket.put(String(i), one, { type });
    state.left -= 1;
  });
  // Requests that were in progress when the store was overloaded are answered first.
  await expect.poll(() => store.held).toBeGreaterThanOrEqual(63);
  store.release();
  let [most, before, turns] = [0, 0, 0];
  while (state.left > 0) {
    await new Promise((resolve) => setImmediate(resolve));
    turns = store.held === before ? turns + 1 : 0;
    before = store.held;
    // All requests that are sent at once have arrived.
    if (turns < 100 || before < Math.min(32, state.left)) continue;
    most = Math.max(most, before);
    store.release();
  }
  await Promise.all(puts);
  expect(most).toBeGreaterThan(32);
  expect(most).toBeLessThan(50);
});
