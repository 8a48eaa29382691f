/**
 * Promise: a key submits no more than its limits allow, even with many submissions at once. Other keys are
 * not affected.
 */
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openForWriting } from '../../../src/lib/sqlite/database.ts';
import { endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import { jobSchema } from '../../../src/service/jobs/job-schema.ts';
import type { KeyForm } from '../../../src/service/keys/check-key.ts';
import { unlimited } from '../../../src/service/model/key.ts';
import { Quotas } from '../../../src/service/api/quotas.ts';
import { withKeys } from '../console/visit.ts';
import { ask, endpointId, makeDataDir, openService, openStore, type Reply } from '../service-harness.ts';
import { client } from './key-harness.ts';

const two = ['one', 'two'].map((id) => endpointSettings({ id, workers: 0 }));

async function openLimited(limits: Partial<KeyForm>, options: Parameters<typeof openService>[0] = {}) {
  const service = await openService(options);
  const added = (name: string, more: Partial<KeyForm>) =>
    withKeys(service.dataDir, (keys) => keys.add({ ...client(name), ...more }).key);
  const [key, other] = [added('guest', limits), added('other', {})];
  const askAs = (withKey: string, path: string, body?: object): Promise<Reply> => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    return ask(service.url, `/v2/${path}`, { ...init, headers: { Authorization: `Bearer ${withKey}` } });
  };
  return {
    ...service,
    run: (at: string, more: object = {}) => askAs(key, `${at}/run`, { input: { scene: 'x' }, ...more }),
    asGuest: (path: string, body?: object) => askAs(key, path, body),
    asOther: (path: string, body?: object) => askAs(other, path, body),
  };
}

function accepted(replies: Reply[]): string[] {
  const good = replies.filter(({ status }) => status === 200);
  expect(replies.every(({ status }) => status === 200 || status === 429)).toBe(true);
  return good.map(({ json }) => (json as { id: string }).id);
}

it('a key has at most its number of jobs in the queues of all endpoints, however many come at once', async () => {
  const { run, asGuest, asOther } = await openLimited({ maxQueued: '3' }, { endpoints: two });
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, nth) => run(nth % 2 === 0 ? 'one' : 'two')),
  );
  expect(accepted(replies)).toHaveLength(3);
  const refused = await run('one');
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '10']);
  expect(refused.json).toEqual({
    error: 'the key guest has 3 jobs in the queue, its maximum',
  });
  expect((await asOther('one/run', { input: { scene: 'x' } })).status).toBe(200);
  await asGuest('one/purge-queue', {});
  await asGuest('two/purge-queue', {});
  expect((await run('one')).status).toBe(200);
});

it('a key puts back no more failed jobs than it may have in the queue', async () => {
  const { run, held, asGuest } = await openLimited({ maxQueued: '3' });
  const failed: string[] = [];
  for (let nth = 0; nth < 8; nth++) {
    failed.push(...accepted([await run(endpointId)]));
    (await held.next()).fail(new Error('no'));
    await expect
      .poll(async () => (await asGuest(`${endpointId}/status/${failed[nth]}`)).text)
      .toContain('FAILED');
  }
  await asGuest(`${endpointId}/run`, { input: { scene: 'keeps the worker busy' } });
  await held.next();
  const replies = await Promise.all(failed.map((id) => asGuest(`${endpointId}/retry/${id}`, {})));
  expect(accepted(replies)).toHaveLength(3);
});

it('a key has at most its bytes of inputs in the queue, and an input that never fits is named', async () => {
  const { asGuest } = await openLimited({ maxQueuedBytes: '1kB' }, { endpoints: two });
  const submit = (length: number) => asGuest('one/run', { input: { scene: 'x'.repeat(length) } });
  expect(accepted(await Promise.all([1, 2, 3, 4, 5].map(() => submit(400))))).toHaveLength(2);
  expect(await submit(400)).toMatchObject({
    status: 429,
    text: expect.stringContaining('may have 1kB of inputs'),
  });
  expect(await submit(2_000)).toMatchObject({
    status: 400,
    text: expect.stringContaining('this one has 2012 bytes'),
  });
  expect((await submit(100)).status).toBe(200);
});

it('a key is refused once its waiting and running jobs may use up its quota', async () => {
  const { run, held, asGuest, troubles } = await openLimited({ quota: '30m' });
  const jobs = accepted(await Promise.all(Array.from({ length: 10 }, () => run(endpointId))));
  expect(jobs).toHaveLength(3);
  const refused = await run(endpointId);
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '10']);
  expect(refused.text).toContain('that wait or run may take 30m by their execution timeouts');
  // A job that took no time leaves room for one job, or for many that may take less.
  (await held.next()).complete('done');
  const running = (await held.next()).job.id;
  const short = await Promise.all(
    Array.from({ length: 15 }, () => run(endpointId, { policy: { executionTimeout: 60_000 } })),
  );
  expect(accepted(short).length).toBeGreaterThanOrEqual(9);
  expect(accepted(short).length).toBeLessThanOrEqual(10);
  await asGuest(`${endpointId}/cancel/${running}`, {});
  expect((await run(endpointId)).status).toBe(200);
  expect(troubles).toEqual([]);
});

it('a key submits one job after another if its quota is shorter than the time of one job', async () => {
  const { run, held } = await openLimited({ quota: '1m' });
  expect((await run(endpointId)).status).toBe(200);
  expect((await run(endpointId)).status).toBe(429);
  (await held.next()).complete('done');
  await expect.poll(async () => (await run(endpointId)).status, { timeout: 60_000 }).toBe(200);
});

it('a key submits no job whose timeout is longer than its quota of a day', async () => {
  const { run } = await openLimited({ quota: '1m' });
  const asking = (executionTimeout: number) => run(endpointId, { policy: { executionTimeout } });
  expect(await asking(20 * 86_400_000)).toMatchObject({
    status: 400,
    json: {
      error: 'the job asks for an execution timeout of 20d, and the key guest has a quota of 1m a day',
    },
  });
  expect((await asking(40_000)).status).toBe(200);
  expect((await asking(40_000)).status).toBe(429);
  expect((await asking(20_000)).status).toBe(200);
});

it('a key gets a limited number of answers a second, for requests of any kind', async () => {
  const { asGuest, asOther } = await openLimited({ requestsPerSecond: '5' }, { endpoints: two });
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const paths = ['one/health', 'two/health', 'one/status/x', 'two/status/y'];
  const statuses = async (as: typeof asGuest) =>
    (await Promise.all([...paths, ...paths].map((path) => as(path)))).map(({ status }) => status);
  expect((await statuses(asGuest)).filter((status) => status === 429)).toHaveLength(3);
  expect(await statuses(asOther)).not.toContain(429);
  vi.advanceTimersByTime(1_000);
  expect((await statuses(asGuest)).filter((status) => status === 429)).toHaveLength(3);
});

it('the limits of a key count waiting jobs in a store of an earlier version, and over a restart', async () => {
  const dir = await makeDataDir();
  const before = jobSchema.migrations.findIndex((text) => text.includes('ADD COLUMN inputBytes'));
  const old = openForWriting(join(dir, 'service.sqlite'), {
    ...jobSchema,
    migrations: jobSchema.migrations.slice(0, before),
  });
  old.exec(`INSERT INTO job (id, endpointId, state, acceptedAt, queuedAt, expiresAt, ttlMs, executionTimeoutMs,
      isLowPriority, maxRetries, retries, keyId, isPulled, summary)
    VALUES ('j1', 'e', 'IN_QUEUE', 1, 1, 9e15, 9e15, 60000, 0, 2, 0, 'k', 0, '');
    INSERT INTO input (job, text) VALUES (1, '{"a":"é"}');`);
  old.close();
  const limits = { ...unlimited.limits, maxQueuedBytes: 20 };
  const holder = { ...unlimited, id: 'k', name: 'k', kind: 'client' as const, limits };
  for (let start = 0; start < 2; start++) {
    const store = await openStore({}, dir);
    const quotas = new Quotas(store, Date.now);
    expect([quotas.refusal(holder, 10), quotas.refusal(holder, 11)?.status]).toEqual([undefined, 429]);
    const byQuota = { ...holder, limits: unlimited.limits, quotaMs: 60_000 };
    expect([quotas.refusal(byQuota)?.status, quotas.refusal({ ...byQuota, quotaMs: 60_001 })]).toEqual([
      429,
      undefined,
    ]);
    store.close();
  }
});
