/** Promise: a read-only key changes nothing, an expired key is refused, and a rotated key keeps its jobs. */
import { describe, expect, it } from 'vitest';
import type { AnswerOf } from '../../../src/protocol/operations.ts';
import type { KeyForm } from '../../../src/service/keys/check-key.ts';
import { KeyRefused } from '../../../src/service/keys/key-store.ts';
import { enter, openWithConsole, withKeys } from '../console/visit.ts';
import { ask, endpointId, openService, submit } from '../service-harness.ts';
import { client, openJobStore } from './key-harness.ts';

const day = 86_400_000;

function madeIn(dataDir: string, asked: Partial<KeyForm>): string {
  return withKeys(dataDir, (keys) => keys.add({ ...client('made'), ...asked })).key;
}

function statusFor(url: string, key: string, path: string, method = 'GET', body?: string): Promise<number> {
  const headers = { Authorization: `Bearer ${key}` };
  const init = { method, headers, ...(body !== undefined && { body }) };
  return ask(url, `/v2/${endpointId}/${path}`, init).then(({ status }) => status);
}

describe('a read-only key', () => {
  it.each(['client', 'admin'])('of kind %s sees jobs, and changes none', async (kind) => {
    const { url, dataDir } = await openService({ workers: 0 });
    const id = await submit(url, { scene: 'x' });
    const key = madeIn(dataDir, { kind, readOnly: true });
    for (const [status, method, path] of [
      [200, 'GET', `status/${id}`],
      [200, 'POST', `status/${id}`],
      [200, 'GET', `status-sync/${id}?wait=0`],
      [200, 'GET', 'health'],
      [403, 'GET', `stream/${id}`],
      [403, 'POST', `cancel/${id}`],
      [403, 'POST', `retry/${id}`],
      [403, 'POST', 'purge-queue'],
      [403, 'POST', 'run'],
      [403, 'POST', 'runsync'],
      [403, 'POST', 'render'],
    ] as const)
      expect([path, await statusFor(url, key, path, method)]).toEqual([path, status]);
    expect((await ask(url, `/v2/${endpointId}/health`)).json).toMatchObject({ jobs: { inQueue: 1 } });
  });

  it('of kind admin sees the console without secrets, and changes nothing in it', async () => {
    const { url, dataDir } = await openWithConsole({ workers: 0 });
    const admin = await enter(url);
    const command = ['cat', '--token=secret'];
    const workers = { min: 0, max: 1 };
    await admin.make({ id: 'own', name: 'Own', command, workers, environment: { TOKEN: 'secret' } });
    const visit = await enter(url, madeIn(dataDir, { kind: 'admin', readOnly: true }));
    expect(await visit.overview()).toMatchObject({ isReadOnly: true });
    expect((await visit.endpoint('own'))?.settings).toMatchObject({
      environment: { TOKEN: '••••' },
      command: ['cat', '••••'],
    });
    expect((await admin.endpoint('own'))?.settings).toMatchObject({
      environment: { TOKEN: 'secret' },
      command,
    });
    const id = await admin.submit(endpointId, { scene: 'x' });
    expect(await visit.job(id)).toMatchObject({ status: 'IN_QUEUE' });
    for (const [method, path] of [
      ['POST', 'keys'],
      ['POST', 'keys/made/revoke'],
      ['POST', 'keys/made/rotate'],
      ['POST', 'endpoints'],
      ['PUT', 'endpoints/own'],
      ['DELETE', 'endpoints/own'],
      ['POST', 'endpoints/own/pause'],
      ['POST', `endpoints/${endpointId}/jobs`],
      ['POST', `jobs/${id}/cancel`],
      ['POST', 'jobs/cancel'],
    ] as const)
      expect([path, await visit.ask(method, path, {})]).toMatchObject([
        path,
        { status: 403, body: { error: 'the key made is read-only: it changes nothing' } },
      ]);
    expect((await visit.ask('DELETE', 'session')).status).toBe(204);
  });
});

describe('a key that expires', () => {
  it('is refused from then on by the system clock, and so is its session', async () => {
    let now = Date.now();
    // The clock for the ages of jobs stands still.
    const { url } = await openWithConsole({ workers: 0, now: () => now, elapsed: () => 0 });
    const owner = await enter(url);
    const form = { kind: 'admin', endpoints: null, expires: '2h' };
    const { status, body } = await owner.ask('POST', 'keys', { ...form, name: 'guest' });
    const { key, view } = body as { key: string; view: { expiresAt: number } };
    expect([status, view.expiresAt]).toEqual([201, now + day / 12]);
    const guest = await enter(url, key);
    now += day / 12 - 1;
    expect([await statusFor(url, key, 'health'), (await guest.ask('GET', 'overview')).status]).toEqual([
      200, 200,
    ]);
    now += 1;
    expect([await statusFor(url, key, 'health'), (await guest.ask('GET', 'overview')).status]).toEqual([
      401, 401,
    ]);
    expect((await enter(url)).cookie).not.toBe('');
  });

  it('leaves its place to another', () => {
    let now = 0;
    const keys = openJobStore(undefined, { now: () => now });
    for (let index = 0; index < 1_000; index++) keys.add({ ...client(`k${index}`), expires: '1d' });
    expect(() => keys.add(client('one too many'))).toThrow('there are 1,000 keys');
    now = day;
    expect(keys.add(client('another')).record.expiresAt).toBeNull();
  });
});

it('shows when and from where a key was last used', async () => {
  const { url, dataDir } = await openService({ workers: 0, proxies: ['127.0.0.1'] });
  const key = madeIn(dataDir, {});
  const headers = { Authorization: `Bearer ${key}`, 'X-Forwarded-For': '203.0.113.7' };
  await ask(url, `/v2/${endpointId}/health`, { headers });
  const [used] = withKeys(dataDir, (keys) => keys.list());
  expect(used).toMatchObject({ lastUsedFrom: '203.0.113.7', lastUsedAt: expect.any(Number) });
});

describe('a rotated key', () => {
  it('sees the jobs that it submitted before, and pays for none again', async () => {
    const { url, dataDir } = await openService({ workers: 0 });
    const first = madeIn(dataDir, { name: 'customer', ownJobs: true });
    const submitted = async (key: string): Promise<string> => {
      const headers = { Authorization: `Bearer ${key}`, 'Idempotency-Key': 'scene-7' };
      const init = { method: 'POST', body: '{"input":{"scene":"x"}}', headers };
      return ((await ask(url, `/v2/${endpointId}/run`, init)).json as AnswerOf<'run'>).id;
    };
    const id = await submitted(first);
    const second = withKeys(dataDir, (keys) => keys.rotate('customer', {}))?.key ?? '';
    expect(await statusFor(url, first, `status/${id}`)).toBe(401);
    expect(await statusFor(url, second, `status/${id}`)).toBe(200);
    expect(await submitted(second)).toBe(id);
    expect((await ask(url, `/v2/${endpointId}/health`)).json).toMatchObject({ jobs: { inQueue: 1 } });
  });

  it('has both texts for as long as they overlap, and none once it is revoked', () => {
    let now = 0;
    const keys = openJobStore(undefined, { now: () => now });
    const { key: first, record } = keys.add(client('customer'));
    const second = keys.rotate('customer', { overlap: '1d' })?.key ?? '';
    const ids = (): (string | undefined)[] => [first, second].map((key) => keys.find(key)?.id);
    now = day - 1;
    expect(ids()).toEqual([record.id, record.id]);
    now = day;
    expect(ids()).toEqual([undefined, record.id]);
    keys.revoke('customer');
    expect(ids()).toEqual([undefined, undefined]);
    expect(() => keys.rotate('customer', {})).toThrow('the key customer is revoked; add another one');
    expect(keys.rotate('nobody', {})).toBeUndefined();
  });

  it('has a new life on request', () => {
    let now = 0;
    const keys = openJobStore(undefined, { now: () => now });
    keys.add({ ...client('customer'), expires: '1d' });
    expect(keys.rotate('customer', {})?.record.expiresAt).toBe(day);
    now = day;
    expect(() => keys.rotate('customer', {})).toThrow('the key customer has expired');
    const rotated = keys.rotate('customer', { expires: '2d' });
    expect([keys.find(rotated?.key)?.name, rotated?.record.expiresAt]).toEqual(['customer', 3 * day]);
    for (const wrong of [{ overlap: 'soon' }, { expires: '0s' }])
      expect(() => keys.rotate('customer', wrong)).toThrow(KeyRefused);
  });

  it('is made in the console, which shows it once', async () => {
    const { url, dataDir } = await openWithConsole();
    madeIn(dataDir, { name: 'customer' });
    const visit = await enter(url);
    const [{ id } = { id: '' }] = await visit.keys();
    const { status, body } = await visit.ask('POST', `keys/${id}/rotate`, { overlap: '1d' });
    const { key, view } = body as { key: string; view: { id: string } };
    expect([status, view.id, await statusFor(url, key, 'health')]).toEqual([200, id, 200]);
    const wrong = await visit.ask('POST', `keys/${id}/rotate`, { overlap: 'soon' });
    expect(wrong).toMatchObject({ status: 422, body: { problems: [{ field: 'overlap' }] } });
    expect((await visit.ask('POST', `keys/${id}/rotate`, { overlap: 1 })).status).toBe(422);
    expect((await visit.ask('POST', 'keys/nobody/rotate', {})).status).toBe(404);
  });
});
