/**
 * Promise: a store that sometimes answers 503 ends no run, and one that never answers is given up with a
 * message.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Bucket } from '../../../src/lib/s3/bucket.ts';
import { bucketPlace } from '../../../src/runner/images/bucket-place.ts';
import { claimed } from '../../../src/runner/images/place.ts';
import { findMissing } from '../../../src/runner/images/saved-files.ts';
import { uploadReport } from '../../../src/runner/images/saved-files.ts';
import { MemoryStore } from '../../fakes/memory-store.ts';

const type = 'image/png';
const run = { token: 'one', isKnown: () => true };
/** Claims the folder, as the start of a run does. */
const begin = (bucket: Bucket, batch = 'night'): Promise<void> => {
  const images = bucketPlace(bucket, 'images/');
  const place = claimed(images, bucketPlace(bucket), { batch, run, isAnyAccepted: false });
  return place.probe(() => place.prepare());
};

it('a start continues if any one of its requests is answered with 503', async () => {
  const quiet = await MemoryStore.start();
  await begin(await quiet.open('s3://any/night/'));
  expect(quiet.requests).toBeGreaterThan(8);
  for (let busy = 1; busy <= quiet.requests; busy++) {
    const store = await MemoryStore.start({ trouble: (n) => (n === busy ? 'busy' : undefined) });
    await begin(await store.open('s3://any/night/'));
    expect([busy, [...store.objects.keys()]]).toEqual([busy, ['any/night/batch.json']]);
  }
});

it('one of two batches has the folder, even if the store was busy when the first requested it', async () => {
  const trouble = (_: number, method: string, path: string) =>
    method === 'PUT' && path.endsWith('batch.json') && ++asked === 1 ? 'busy' : undefined;
  let asked = 0;
  const store = await MemoryStore.start({ trouble });
  const beginAs = async (batch: string): Promise<void> => begin(await store.open('s3://any/night/'), batch);
  const came = await Promise.allSettled([beginAs('one'), beginAs('two')]);
  expect(came.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
});

describe.each(['silent', 'dripping'] as const)('a store that is %s is given up with a message', (trouble) => {
  const quick = { answerMs: 30, patienceMs: 30 };
  const open = async (): Promise<Bucket> => {
    const store = await MemoryStore.start({ trouble: () => trouble });
    return store.open('s3://any/night/', quick);
  };
  const words = /s3:\/\/any\/night\/: it takes connections and has not answered within/;

  it.each<[string, (bucket: Bucket, folder: string) => Promise<unknown>]>([
    ['a start', (bucket) => begin(bucket)],
    ['an upload', (bucket) => bucket.put('a', Buffer.from('a'), { type })],
    ['a report', (bucket, folder) => uploadReport(bucketPlace(bucket, 'report/'), folder)],
    ['reading', (bucket) => bucket.get('a')],
    ['removing', (bucket) => bucket.remove('a')],
    ['comparing', (bucket) => findMissing(bucketPlace(bucket), [], new AbortController().signal)],
  ])('%s', async (_, work) => {
    const folder = mkdtempSync(join(tmpdir(), 'nightrender-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'index.html'), '');
    await expect(work(await open(), folder)).rejects.toThrow(words);
  });
});

it('a store that does not answer is reported after its first silence', async () => {
  const told: string[] = [];
  const store = await MemoryStore.start({ trouble: (n) => (n === 1 ? 'silent' : undefined) });
  const bucket = await store.open('s3://any/', { answerMs: 200, onTrouble: (text) => told.push(text) });
  await bucket.put('a', Buffer.from('a'), { type });
  expect(told).toEqual([expect.stringContaining('has not answered')]);
});

it('a start ends after the time that one request may take, even if every request fails once', async () => {
  const store = await MemoryStore.start({ trouble: (n) => (n % 2 === 1 ? 'busy' : undefined) });
  // Each request is repeated after at least 0.1 s.
  const bucket = await store.open('s3://any/night/', { patienceMs: 300, firstWaitMs: 200 });
  // Which request fails last depends on the speed of the machine.
  await expect(begin(bucket)).rejects.toThrow(/s3:\/\/any\/night\/: /);
});
