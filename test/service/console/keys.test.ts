/** Promise: keys can be created, limited and revoked in the console, and a new key is shown once. */
import { expect, it } from 'vitest';
import type { KeyView } from '../../../src/protocol/console-data.ts';
import { ask, bytesInUse, endpointId, instantWorkload, statusOnce } from '../service-harness.ts';
import { enter, openWithConsole, type Visit } from './visit.ts';

async function addKey(visit: Visit, form: object): Promise<{ key: string; view: KeyView }> {
  const { status, body } = await visit.ask('POST', 'keys', { endpoints: null, ...form });
  expect([status, body]).toEqual([201, body]);
  return body as { key: string; view: KeyView };
}

function run(url: string, withKey: string) {
  const headers = { Authorization: `Bearer ${withKey}` };
  return ask(url, `/v2/${endpointId}/run`, { method: 'POST', body: '{"input":{"a":1}}', headers });
}

it('creates a key that is valid at once, shows it once, and shows its usage', async () => {
  const { url, dataDir } = await openWithConsole({ workload: instantWorkload(() => 'done') });
  const visit = await enter(url);
  expect(await visit.keys()).toEqual([]);
  const { key, view } = await addKey(visit, { name: 'My farm', kind: 'client', endpoints: [endpointId] });
  expect(view).toMatchObject({
    name: 'My farm',
    kind: 'client',
    endpoints: [endpointId],
    revokedAt: null,
    usage: [],
  });
  const reply = await run(url, key);
  expect(reply.status).toBe(200);
  const { id } = reply.json as { id: string };
  await statusOnce(url, id, 'COMPLETED');
  const [listed] = await visit.keys();
  expect(listed).toMatchObject({ id: view.id, usage: [{ endpointId, jobs: 1, gpuMs: expect.any(Number) }] });
  expect(listed?.lastUsedAt).not.toBeNull();
  expect((await visit.job(id)).key).toBe('My farm');
  expect(JSON.stringify(listed)).not.toContain(key);
  expect(await bytesInUse(dataDir)).not.toContain(key);
});

it('counts what the jobs of a key execute as they end, has it pay for that, and lets it submit up to its quota', async () => {
  let now = Date.parse('2026-03-01T20:00:00Z');
  const hour = 3_600_000;
  const first = await openWithConsole({ now: () => now, workers: 1 });
  const visit = await enter(first.url);
  const terms = { quota: '2h', price: '0.0004' };
  const { key, view } = await addKey(visit, { name: 'night', kind: 'client', ...terms });
  expect(view).toMatchObject({ quotaMs: 2 * hour, price: 0.0004, todayMs: 0, usage: [] });
  const done = ((await run(first.url, key)).json as { id: string }).id;
  const interrupted = ((await run(first.url, key)).json as { id: string }).id;
  const job = await first.held.next();
  now += hour;
  job.complete('done');
  await statusOnce(first.url, done, 'COMPLETED');
  expect(await visit.keys()).toMatchObject([{ todayMs: hour, usage: [{ jobs: 2, gpuMs: hour }] }]);
  // Neither this attempt nor the time while the service is down counts.
  await first.held.next();
  now += hour / 2;
  await first.close();
  now += hour / 2;
  const { url, held } = await openWithConsole({ now: () => now, workers: 1, dataDir: first.dataDir });
  const again = await held.next();
  expect(again.job.id).toBe(interrupted);
  expect((await run(url, key)).status).toBe(200);
  now += hour;
  again.complete('done');
  await statusOnce(url, interrupted, 'COMPLETED');
  const later = await enter(url);
  expect(await later.keys()).toMatchObject([{ todayMs: 2 * hour, usage: [{ jobs: 3, gpuMs: 2 * hour }] }]);
  const refused = await run(url, key);
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, String(3_600)]);
  expect(refused.json).toEqual({
    error:
      'the key night has used its quota of 2h of execution time a day; the next quota begins at 2026-03-02T00:00:00.000Z',
  });
  // A job that was accepted earlier continues, and counts on the day on which it ends.
  const last = await held.next();
  now += hour;
  last.complete('done');
  await expect.poll(async () => (await later.keys())[0]).toMatchObject({ todayMs: hour });
  expect((await run(url, key)).status).toBe(200);
});

it('shows the work done for a key from the environment, also once the service is started without it', async () => {
  const first = await openWithConsole({ workload: instantWorkload(() => 'done') });
  const id = await (await enter(first.url)).submit(endpointId, { a: 1 });
  await (await enter(first.url)).jobOnce(id, ({ status }) => status === 'COMPLETED');
  const usage = [{ endpointId, jobs: 1, gpuMs: expect.any(Number) as number }];
  const of = { id: 'given-1', name: 'given-1', kind: 'admin', createdAt: null, revokedAt: null, usage };
  expect(await (await enter(first.url)).get('keys')).toMatchObject([{ ...of, origin: 'given' }]);
  const { key: admin } = await addKey(await enter(first.url), { name: 'mine', kind: 'admin' });
  await first.close();
  const second = await openWithConsole({ dataDir: first.dataDir, keys: [] });
  const visit = await enter(second.url, admin);
  expect(await visit.get('keys')).toMatchObject([
    { name: 'mine', origin: 'book' },
    { ...of, origin: 'gone' },
  ]);
  expect((await visit.ask('POST', 'keys/given-1/revoke')).status).toBe(404);
});

it('creates a key that sees only its own jobs', async () => {
  const { url } = await openWithConsole({ workers: 0 });
  const visit = await enter(url);
  const other = await visit.submit(endpointId, { a: 1 });
  const { key, view } = await addKey(visit, { name: 'customer', kind: 'client', ownJobs: true });
  expect(view.hasOwnJobsOnly).toBe(true);
  expect(await visit.keys()).toMatchObject([{ name: 'customer', hasOwnJobsOnly: true }]);
  const headers = { Authorization: `Bearer ${key}` };
  expect((await ask(url, `/v2/${endpointId}/status/${other}`, { headers })).status).toBe(404);
  const own = ((await run(url, key)).json as { id: string }).id;
  expect((await ask(url, `/v2/${endpointId}/status/${own}`, { headers })).status).toBe(200);
  // A signed-in admin sees all jobs.
  expect((await visit.job(own)).key).toBe('customer');
});

it('revokes a key, which also ends its session', async () => {
  const { url } = await openWithConsole();
  const visit = await enter(url);
  const client = await addKey(visit, { name: 'c', kind: 'client' });
  const admin = await addKey(visit, { name: 'a', kind: 'admin' });
  const other = await enter(url, admin.key);
  for (const { view } of [client, admin])
    expect((await visit.ask('POST', `keys/${view.id}/revoke`)).status).toBe(204);
  expect((await run(url, client.key)).status).toBe(401);
  expect((await other.ask('GET', 'overview')).status).toBe(401);
  expect((await visit.keys()).every(({ revokedAt }) => revokedAt !== null)).toBe(true);
});

it('reports the problems of a key beside its fields', async () => {
  const visit = await enter((await openWithConsole()).url);
  await addKey(visit, { name: 'taken', kind: 'client' });
  const wrong: [form: object, fields: string[]][] = [
    [{ name: '', kind: 'client' }, ['name']],
    [{ name: 'TAKEN', kind: 'client' }, ['name']],
    [{ name: 'given-1', kind: 'client' }, ['name']],
    [{ name: '<script>alert(1)</script>', kind: 'client' }, ['name']],
    [{ name: 'n'.repeat(65), kind: 'god' }, ['name', 'kind']],
    [{ name: 'x', kind: 'admin', endpoints: [endpointId] }, ['endpoints']],
    [{ name: 'x', kind: 'client', endpoints: [] }, ['endpoints']],
    [{ name: 'x', kind: 'worker', ownJobs: true }, ['ownJobs']],
    [{ name: 'x', kind: 'client', ownJobs: 'yes' }, []],
    [{ name: 'x', kind: 'client', endpoints: ['../..'] }, ['endpoints']],
    [{ name: 7, kind: null, endpoints: 'all' }, []],
    [{}, []],
  ];
  for (const [form, fields] of wrong) {
    const { status, body } = await visit.ask('POST', 'keys', form);
    const { problems = [] } = body as { problems?: { field: string }[] };
    expect([form, status, problems.map(({ field }) => field)]).toEqual([form, 422, fields]);
  }
  expect(await visit.keys()).toHaveLength(1);
});

it('creates a key with limits, and reports problems of the limits', async () => {
  const visit = await enter((await openWithConsole()).url);
  const { view } = await addKey(visit, {
    name: 'guest',
    kind: 'client',
    maxQueued: '100',
    maxQueuedBytes: '1MB',
  });
  const limits = { requestsPerSecond: null, maxQueued: 100, maxQueuedBytes: 1_000_000, maxHeld: null };
  expect([view.limits, (await visit.keys())[0]?.limits]).toEqual([limits, limits]);
  const form = { name: 'other', kind: 'client', endpoints: null };
  const refused = await visit.ask('POST', 'keys', { ...form, maxHeld: 'many', requestsPerSecond: '5' });
  expect([refused.status, refused.body]).toMatchObject([422, { problems: [{ field: 'maxHeld' }] }]);
  expect((await visit.ask('POST', 'keys', { ...form, maxHeld: 5 })).status).toBe(422);
});
