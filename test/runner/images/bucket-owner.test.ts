/** Promise: of batches that begin in one folder of a bucket at once, one has it, before anything is paid for. */
import { expect, it } from 'vitest';
import { BucketOwner } from '../../../src/runner/images/bucket-owner.ts';
import { MemoryStore } from '../../fakes/memory-store.ts';

const ownerIn = async (store: MemoryStore, batch: string, isAnyAccepted = false): Promise<BucketOwner> =>
  new BucketOwner(await store.open('s3://any/night/'), {
    batch,
    run: { token: `run of ${batch}`, isKnown: (token) => token === `run of ${batch}` },
    isAnyAccepted,
  });

it("gives a folder that is nobody's to one of two batches that begin there at once", async () => {
  const store = await MemoryStore.start();
  const owners = [await ownerIn(store, 'a'), await ownerIn(store, 'b')];
  const begun = await Promise.allSettled(owners.map((owner) => owner.begin('images/')));
  expect(begun.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  const [refused] = begun.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
  expect(refused).toContain('where another batch has begun');
  // Whoever has it goes on, also in its next run.
  const mark = JSON.parse(String(store.objects.get('any/night/batch.json')?.bytes)) as { batch: string };
  const winner = await ownerIn(store, mark.batch);
  await winner.begin('images/');
  await winner.claim();
  await (await ownerIn(store, mark.batch)).begin('images/');
});

it('does so as well where the store overlooks conditions, once one has begun', async () => {
  const store = await MemoryStore.start({ knowsConditions: false });
  await (await ownerIn(store, 'a')).begin('images/');
  await expect((await ownerIn(store, 'b')).begin('images/')).rejects.toThrow('where another batch has begun');
});

it('lets runs of one batch begin there together', async () => {
  const store = await MemoryStore.start();
  const owners = await Promise.all([1, 2, 3].map(() => ownerIn(store, 'a')));
  await Promise.all(owners.map((owner) => owner.begin('images/')));
});

it('leaves the mark to the first picture where a person has accepted what is there', async () => {
  const store = await MemoryStore.start();
  await (await ownerIn(store, 'a', true)).begin('images/');
  expect(store.objects.size).toBe(0);
});
