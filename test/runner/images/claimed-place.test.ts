/**
 * Promise: if several batches start in the same folder of a bucket at once, only one can use it. The others
 * fail before anything is paid for.
 */
import { expect, it } from 'vitest';
import { bucketPlace } from '../../../src/runner/images/bucket-place.ts';
import { claimed, type ClaimedPlace } from '../../../src/runner/images/place.ts';
import { MemoryStore } from '../../fakes/memory-store.ts';

const placeIn = async (store: MemoryStore, batch: string, isAnyAccepted = false): Promise<ClaimedPlace> => {
  const bucket = await store.open('s3://any/night/');
  return claimed(bucketPlace(bucket, 'images/'), bucketPlace(bucket), {
    batch,
    run: { token: `run of ${batch}`, isKnown: (token) => token === `run of ${batch}` },
    isAnyAccepted,
  });
};

it('only one of two batches that begin at once in an unused folder gets it', async () => {
  const store = await MemoryStore.start();
  const places = [await placeIn(store, 'a'), await placeIn(store, 'b')];
  const begun = await Promise.allSettled(places.map((place) => place.prepare()));
  expect(begun.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  const [refused] = begun.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
  expect(refused).toContain('belongs to another batch');
  // The batch that claimed the folder can continue, also in its next run.
  const claim = JSON.parse(String(store.objects.get('any/night/batch.json')?.bytes)) as { batch: string };
  const winner = await placeIn(store, claim.batch);
  await winner.prepare();
  await winner.put('a.png', Buffer.from('a'));
  await (await placeIn(store, claim.batch)).prepare();
});

it('only one batch gets the folder if the store ignores conditional writes, once one batch has begun', async () => {
  const store = await MemoryStore.start({ knowsConditions: false });
  await (await placeIn(store, 'a')).prepare();
  await expect((await placeIn(store, 'b')).prepare()).rejects.toThrow('belongs to another batch');
});

it('several runs of one batch may begin there together', async () => {
  const store = await MemoryStore.start();
  const places = await Promise.all([1, 2, 3].map(() => placeIn(store, 'a')));
  await Promise.all(places.map((place) => place.prepare()));
});

it('claims the folder with the first picture if a person has accepted the existing objects', async () => {
  const store = await MemoryStore.start();
  const place = await placeIn(store, 'a', true);
  await place.prepare();
  expect(store.objects.size).toBe(0);
  await place.put('a.png', Buffer.from('a'));
  expect([...store.objects.keys()].toSorted()).toEqual(['any/night/batch.json', 'any/night/images/a.png']);
});
