/** Promise: with a real Ceph, an object is stored exactly as sent, or a message says why not. */
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bucketAddress } from '../../../src/lib/s3/bucket-address.ts';
import { Bucket, type BucketOptions } from '../../../src/lib/s3/bucket.ts';
import { noCeph, startCeph, type Ceph } from '../../engines/ceph.ts';

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const type = 'image/png';

describe.skipIf(noCeph !== undefined)(`a bucket (skipped if Ceph is not installed)`, () => {
  let ceph: Ceph;
  beforeAll(async () => {
    ceph = await startCeph();
    await ceph.ask('PUT', '/lib');
  });
  afterAll(() => ceph?.stop());

  async function open(url = 's3://lib/', options: BucketOptions = {}, env = {}): Promise<Bucket> {
    const bucket = await Bucket.open(bucketAddress(url, { ...ceph.env, ...env }), options);
    onTestFinished(() => bucket.close());
    return bucket;
  }

  it('passes its own probe, which leaves nothing behind', async () => {
    const bucket = await open('s3://lib/probed/');
    await bucket.probe();
    expect(await all(bucket, '')).toEqual([]);
  });

  it.each(['a.png', 'folder/b.png', 'odd #?%+ é\'()*!~&<>"/日本 🌊.png', 'a  b/c+d%20e.png'])(
    'stores %j unchanged, and can prove that without sending it',
    async (key) => {
      const bucket = await open(`s3://lib/keeps ${sha256Of(Buffer.from(key)).slice(0, 6)}/`);
      const bytes = randomBytes(10_000);
      await bucket.put(key, bytes, { type });
      expect(await bucket.get(key)).toEqual(bytes);
      const facts = await bucket.facts(key);
      expect([facts?.bytes, facts?.isOf(sha256Of(bytes)), facts?.isOf('00'.repeat(32))]).toEqual([
        10_000,
        true,
        false,
      ]);
      expect(await all(bucket, '')).toEqual([
        { key, bytes: 10_000, modifiedAt: expect.any(Number) as number },
      ]);
      const shown = await fetch(await bucket.signedUrl(key, 60));
      expect(Buffer.from(await shown.arrayBuffer())).toEqual(bytes);
      expect((await fetch(bucket.urlOf(key))).status).toBe(403);
      await bucket.remove(key);
      await bucket.remove(key);
      expect([await bucket.get(key), await bucket.facts(key)]).toEqual([undefined, undefined]);
    },
  );

  it('sends objects above 64 MB in parts, and recognizes them afterwards', async () => {
    const bucket = await open('s3://lib/large/');
    const bytes = Buffer.alloc(70 * 1024 * 1024, randomBytes(1024));
    await bucket.put('a', bytes, { type });
    const facts = await bucket.facts('a');
    expect([facts?.bytes, facts?.isOf(sha256Of(bytes)), facts?.isOf('00'.repeat(32))]).toEqual([
      bytes.length,
      true,
      false,
    ]);
    const dir = mkdtempSync(join(tmpdir(), 'nightrender-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const path = join(dir, 'file');
    writeFileSync(path, bytes);
    await bucket.putFile('b', path, type);
    expect((await bucket.get('b'))?.equals(bytes)).toBe(true);
    for (const key of ['a', 'b']) await bucket.remove(key);
  });

  it('reads nothing outside of its folder', async () => {
    await (await open('s3://lib/other/')).put('a', Buffer.from('a'), { type });
    expect(await (await open('s3://lib/own/')).get('../other/a')).toBeUndefined();
  });

  it('lists more than a thousand', async () => {
    const bucket = await open('s3://lib/many/');
    const keys = Array.from({ length: 1_100 }, (_, i) => `k/${String(i).padStart(5, '0')}`);
    await Promise.all(keys.map((key) => bucket.put(key, Buffer.from(key), { type })));
    expect((await all(bucket, 'k/')).map(({ key }) => key)).toEqual(keys);
    expect(await all(bucket, 'none/')).toEqual([]);
  });

  it.each([
    [
      'a wrong secret',
      { AWS_SECRET_ACCESS_KEY: 'x' },
      's3://lib/',
      'the secret key (AWS_SECRET_ACCESS_KEY) is wrong',
    ],
    [
      'a wrong key',
      { AWS_ACCESS_KEY_ID: 'x' },
      's3://lib/',
      'the access key (AWS_ACCESS_KEY_ID) is not known there',
    ],
    ['no such bucket', {}, 's3://nowhere/', 'there is no such bucket'],
  ])('reports at once: %s', async (_, env, url, text) => {
    const bucket = await open(url, {}, env);
    await expect(bucket.put('a', Buffer.from('a'), { type })).rejects.toThrow(text);
  });

  it('refuses other bytes than were announced', async () => {
    const bucket = await open();
    const putting = bucket.put('bad', Buffer.from('a'), { type, sha256: sha256Of(Buffer.from('b')) });
    await expect(putting).rejects.toThrow('the store received different bytes than were sent');
    expect(await bucket.facts('bad')).toBeUndefined();
  });

  it('repeats requests that fail for a passing reason, and reports that once', async () => {
    let left = 4;
    const proxy = await serve((request, response) => {
      const body: Buffer[] = [];
      request.on('data', (chunk: Buffer) => body.push(chunk));
      request.on('end', (): void => {
        left -= 1;
        if (left > 1) return void response.destroy();
        if (left > 0) return void response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>');
        response.writeHead(200, { etag: '"x"' }).end();
      });
    });
    const told: string[] = [];
    const bucket = await open(
      's3://lib/',
      { onTrouble: (text) => told.push(text) },
      { AWS_ENDPOINT_URL_S3: proxy },
    );
    await bucket.put('a', Buffer.from('a'), { type });
    expect(left).toBe(0);
    expect(told).toHaveLength(1);
  });
});

async function all(bucket: Bucket, folder: string): Promise<{ key: string; bytes: number }[]> {
  const found = [];
  for await (const object of bucket.list(folder)) found.push(object);
  return found;
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}`;
}
