/** Promise: an object is stored exactly as sent, also in parts, and a store that loses data is not used. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Bucket, ListedObject } from '../../../src/lib/s3/bucket.ts';
import { hexOf } from '../../../src/lib/s3/s3-requests.ts';
import { rest } from '../../fakes/tier.ts';
import { MemoryStore } from '../../fakes/memory-store.ts';

const type = 'image/png';

it.each(['a.png', 'folder/b.png', 'odd #?%+ é\'()*!~&<>"/日本 🌊.png', 'a  b/c+d%20e.png'])(
  'stores %j unchanged, below its folder, and can prove that without sending it',
  async (key) => {
    const store = await MemoryStore.start();
    const bucket = await store.open('s3://any/night/');
    const bytes = randomBytes(10_000);
    await bucket.put(key, bytes, { type });
    expect([...store.objects.keys()]).toEqual([`any/night/${key}`]);
    expect(await bucket.get(key)).toEqual(bytes);
    const facts = await bucket.facts(key);
    expect([facts?.bytes, facts?.isOf(hexOf(bytes)), facts?.isOf('00'.repeat(32))]).toEqual([
      10_000,
      true,
      false,
    ]);
    expect(await all(bucket, '')).toEqual([{ key, bytes: 10_000, modifiedAt: expect.any(Number) as number }]);
    const shown = await fetch(await bucket.signedUrl(key, 60));
    expect(Buffer.from(await shown.arrayBuffer())).toEqual(bytes);
    expect(bucket.urlOf(key).endsWith(`/any/night/${key.split('/').map(encodeURIComponent).join('/')}`)).toBe(
      true,
    );
    await bucket.remove(key);
    await bucket.remove(key);
    expect([await bucket.get(key), await bucket.facts(key)]).toEqual([undefined, undefined]);
  },
);

it('signs a URL for as long as requested, and only below its folder', async () => {
  const bucket = await (await MemoryStore.start()).open('s3://any/night/');
  const query = new URL(await bucket.signedUrl('a', 60)).searchParams;
  expect([query.get('X-Amz-Expires'), query.get('X-Amz-SignedHeaders')]).toEqual(['60', 'host']);
  expect(bucket.name).toBe('s3://any/night/');
});

it('does not overwrite an existing object if requested', async () => {
  const bucket = await (await MemoryStore.start()).open('s3://any/');
  await bucket.put('a', Buffer.from('first'), { type, isFirst: true });
  const again = bucket.put('a', Buffer.from('second'), { type, isFirst: true });
  await expect(again).rejects.toMatchObject({ code: 'PreconditionFailed' });
  expect((await bucket.get('a'))?.toString()).toBe('first');
  await bucket.put('a', Buffer.from('third'), { type });
  expect((await bucket.get('a'))?.toString()).toBe('third');
});

it('reads nothing outside of its folder', async () => {
  const store = await MemoryStore.start();
  store.put('any/a', 'a', 0);
  const bucket = await store.open('s3://any/own/');
  expect([await bucket.get('../a'), await bucket.get('./../a')]).toEqual([undefined, undefined]);
  expect(store.requests).toBe(0);
});

it('returns undefined for a missing object, and throws on a failure', async () => {
  const store = await MemoryStore.start({
    trouble: (_, __, path) => (path.includes('busy') ? 'busy' : undefined),
  });
  const bucket = await store.open('s3://any/', { patienceMs: 0 });
  expect(await bucket.get('none')).toBeUndefined();
  await expect(bucket.get('busy')).rejects.toThrow('s3://any/: it asks for fewer requests (503 SlowDown)');
});

describe('a list', () => {
  const keys = Array.from({ length: 25 }, (_, i) => `k/${i + 10} & <more>+é`);

  it('has all objects, however few a store returns at once', async () => {
    const store = await MemoryStore.start({ listsAtOnce: 10 });
    for (const key of [...keys, 'other', 'l']) store.put(`any/night/${key}`, 'xyz', 5_000);
    const listed = await all(await store.open('s3://any/night/'), 'k/');
    expect(listed).toEqual(keys.map((key) => ({ key, bytes: 3, modifiedAt: 5_000 })));
    expect(store.requests).toBe(3);
    expect(await all(await store.open('s3://any/night/'), 'none/')).toEqual([]);
  });

  it.each([
    ['at no place', 0],
    ['where it began', 10],
  ])('that goes on %s ends with a message', async (_, listsAtOnce) => {
    const store = await MemoryStore.start({ listsAtOnce, repeatsLists: true });
    for (const key of keys) store.put(`any/${key}`, 'x', 0);
    const listing = all(await store.open('s3://any/'), '');
    await expect(listing).rejects.toThrow('does not continue at the place that it names');
  });
});

describe('an object above 64 MB', () => {
  const large = Buffer.alloc(65 * 1024 * 1024, randomBytes(1_021));

  it('is sent in parts, and is recognized afterwards', async () => {
    const store = await MemoryStore.start();
    const bucket = await store.open('s3://any/');
    await bucket.put('a', large, { type });
    const facts = await bucket.facts('a');
    expect([facts?.bytes, facts?.isOf(hexOf(large)), facts?.isOf('00'.repeat(32))]).toEqual([
      large.length,
      true,
      false,
    ]);
    expect((await bucket.get('a'))?.equals(large)).toBe(true);
    expect(store.log.filter((line) => line.startsWith('PUT'))).toHaveLength(9);
  });

  rest.it('is sent in parts from a file, and a smaller file in one request', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'nightrender-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'file');
    const store = await MemoryStore.start();
    const bucket = await store.open('s3://any/');
    writeFileSync(path, large);
    await bucket.putFile('b', path, type);
    const whole = await bucket.facts('b');
    expect([whole?.isOf(hexOf(large)), whole?.isOf('00'.repeat(32))]).toEqual([true, false]);
    expect((await bucket.get('b'))?.equals(large)).toBe(true);
    await expect(bucket.putFile('b', path, type, '00'.repeat(32))).rejects.toThrow('the file changed');
    truncateSync(path, 1_000);
    await bucket.putFile('c', path, type);
    const facts = await bucket.facts('c');
    expect([facts?.bytes, facts?.isOf(hexOf(large.subarray(0, 1_000)))]).toEqual([1_000, true]);
    expect(store.log.filter((line) => line.startsWith('POST'))).toHaveLength(2);
  });

  rest.it('leaves nothing to be billed if a part of it fails', async () => {
    const trouble = (_: number, __: string, path: string) =>
      path.includes('partNumber=2') ? 'busy' : undefined;
    const store = await MemoryStore.start({ trouble });
    const bucket = await store.open('s3://any/', { patienceMs: 0 });
    await expect(bucket.put('a', large, { type })).rejects.toThrow('503 SlowDown');
    expect([store.uploads.size, store.objects.size]).toEqual([0, 0]);
  });

  rest.it('is stored if only the answer to its last request was lost', async () => {
    let lost = '';
    const store = await MemoryStore.start({
      losesAnswer: (method, path) => method === 'POST' && path.includes('uploadId') && lost !== (lost = path),
    });
    const bucket = await store.open('s3://any/');
    await bucket.put('a', large, { type });
    expect((await bucket.facts('a'))?.bytes).toBe(large.length);
    expect(store.log.filter((line) => line.startsWith('DELETE'))).toEqual([]);
  });
});

describe('a store that cannot be relied on', () => {
  it.each([
    ['takes other bytes than were announced', { comparesChecksums: false }, 'does not compare checksums'],
    ['forgets the checksums', { comparesChecksums: false, keepsChecksums: false }, 'keeps no checksums'],
  ])('is refused: it %s', async (_, traits, text) => {
    const store = await MemoryStore.start(traits);
    await expect((await store.open('s3://any/')).probe()).rejects.toThrow(text);
    expect(store.objects.size).toBe(0);
  });
});

describe('a probe', () => {
  it('leaves nothing behind of a store that is reliable', async () => {
    const store = await MemoryStore.start();
    await (await store.open('s3://any/')).probe();
    expect(store.objects.size).toBe(0);
  });

  it('removes the objects of crashed probes, and none of a probe that may still run', async () => {
    const store = await MemoryStore.start();
    const [hour, now] = [3_600_000, Date.now()];
    store.put('any/night/.nightrender-probe-dead', 'x', now - 2 * hour);
    store.put('any/night/.nightrender-probe-alive', 'x', now - hour / 2);
    store.put('any/night/images/a.png', 'x', now - 2 * hour);
    await (await store.open('s3://any/night/')).probe();
    expect([...store.objects.keys()].toSorted()).toEqual([
      'any/night/.nightrender-probe-alive',
      'any/night/images/a.png',
    ]);
  });

  it('sends no further requests to a store that cannot be reached', async () => {
    const store = await MemoryStore.start({ trouble: () => 'busy' });
    await expect((await store.open('s3://any/', { patienceMs: 0 })).probe()).rejects.toThrow('SlowDown');
    expect(store.requests).toBe(1);
  });
});

async function all(bucket: Bucket, folder: string): Promise<ListedObject[]> {
  const found = [];
  for await (const object of bucket.list(folder)) found.push(object);
  return found;
}
