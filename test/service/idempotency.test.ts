/**
 * Promise: a submission that is repeated with its `Idempotency-Key` is answered with the same job, and no
 * second job is created.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { packageFile } from '../../src/lib/files/package-file.ts';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import type { AnswerOf } from '../../src/protocol/operations.ts';
import { cancelPath, healthPath, runPath } from '../../src/protocol/paths.ts';
import { endpointSettings } from '../../src/service/model/endpoint-settings.ts';
import { JobReserve } from '../../src/service/jobs/data-folder.ts';
import { jobSchema } from '../../src/service/jobs/job-schema.ts';
import { JobStore } from '../../src/service/jobs/job-store.ts';
import { KeyStore } from '../../src/service/keys/key-store.ts';
import { firstTier, runs } from '../fakes/tier.ts';
import { addKey } from './pull-harness.ts';
import { ask, endpointId, makeDataDir, openService, type Reply, statusOnce } from './service-harness.ts';

const body = '{"input":{"scene":"a hill","ends":true}}';

interface Sent {
  body?: string;
  path?: string;
  /** API key of the client, if it has its own. */
  apiKey?: string;
}

function send(url: string, key: string, { body: text = body, path, apiKey }: Sent = {}): Promise<Reply> {
  const headers = {
    'Content-Type': 'application/json',
    'Idempotency-Key': key,
    ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }),
  };
  return ask(url, path ?? runPath('v2', endpointId), { method: 'POST', body: text, headers });
}

async function idOf(reply: Reply | Promise<Reply>): Promise<string> {
  const { status, text, json } = await reply;
  expect(status, text).toBe(200);
  return (json as AnswerOf<'run'>).id;
}

/** Returns the number of jobs of the endpoint. */
async function jobsOf(url: string): Promise<number> {
  const { json } = await ask(url, healthPath('v2', endpointId));
  const { inQueue, inProgress, completed, failed } = (json as AnswerOf<'health'>).jobs;
  return inQueue + inProgress + completed + failed;
}

describe('a repeated submission', () => {
  firstTier.it(
    'is the same job each time, with its status of now, and says that the key is honoured',
    async () => {
      const { url, held } = await openService();
      const first = await send(url, 'night-1');
      const id = await idOf(first);
      expect(first.json).toEqual({ id, status: 'IN_QUEUE' });
      expect(first.headers.get('idempotency-key')).toBe('night-1');
      expect(first.headers.get('idempotency-retention')).toBe('1800');
      (await held.next()).complete([1]);
      await statusOnce(url, id, 'COMPLETED');
      expect((await send(url, 'night-1')).json).toEqual({ id, status: 'COMPLETED' });
      expect(await idOf(send(url, 'night-1', { path: runPath('v1', endpointId) }))).toBe(id);
      expect(await jobsOf(url)).toBe(1);
    },
  );

  firstTier.it('is the same job if all come at the same moment', async () => {
    const { url } = await openService({ workers: 0 });
    const keys = Array.from({ length: 60 }, (_, i) => `key-${i % 3}`);
    const ids = await Promise.all(keys.map((key) => idOf(send(url, key))));
    expect(new Set(ids).size).toBe(3);
    keys.forEach((key, i) => expect(ids[i]).toBe(ids[keys.indexOf(key)]));
    expect(await jobsOf(url)).toBe(3);
  });

  it('is waited for as the first was', async () => {
    const { url, held } = await openService();
    const path = `/v2/${endpointId}/runsync`;
    const both = [send(url, 'k', { path }), send(url, 'k', { path })];
    (await held.next()).complete([7]);
    const [first, second] = await Promise.all(both);
    expect(first?.json).toMatchObject({ status: 'COMPLETED', output: [7] });
    expect(second?.text).toBe(first?.text);
    expect(held.runs).toHaveLength(1);
  });

  firstTier.it('is recognized if it is long, and nothing is stored twice', async () => {
    const { url } = await openService({ workers: 0 });
    const long = JSON.stringify({ input: { scene: 'x'.repeat(600_000) } });
    const ids = await Promise.all([1, 2, 3].map(() => idOf(send(url, 'long', { body: long }))));
    expect(new Set(ids).size).toBe(1);
    expect(await jobsOf(url)).toBe(1);
  });

  firstTier.it(
    'is the same job with another `policy`, which a client may set before it asks again',
    async () => {
      const { url } = await openService({ workers: 0 });
      const policy = (executionTimeout: number): string =>
        body.replace('{', `{"policy":${JSON.stringify({ executionTimeout })},`);
      const bodies = [body, policy(1_800_000), policy(3_600_000), body];
      const ids = await Promise.all(bodies.map((sent) => idOf(send(url, 'k', { body: sent }))));
      expect(new Set(ids).size).toBe(1);
      expect(await jobsOf(url)).toBe(1);
    },
  );

  firstTier.it('is another job without a key, at another endpoint, and by another client', async () => {
    const endpoints = [endpointId, 'other'].map((id) => endpointSettings({ id, workers: 0 }));
    const { url, dataDir } = await openService({ endpoints });
    const clients = [addKey(dataDir, 'client'), addKey(dataDir, 'client')];
    const ids = [
      await idOf(send(url, 'k')),
      await idOf(send(url, 'k', { path: runPath('v2', 'other') })),
      ...(await Promise.all(clients.map((apiKey) => idOf(send(url, 'k', { apiKey }))))),
      await idOf(ask(url, runPath('v2', endpointId), { method: 'POST', body })),
    ];
    expect(new Set(ids).size).toBe(5);
    // A refusal must not reveal that another client uses this idempotency key.
    const other = await send(url, 'k', {
      body: '{"input":{"scene":"mine"}}',
      apiKey: addKey(dataDir, 'client'),
    });
    expect(other.status).toBe(200);
  });
});

firstTier.describe('an idempotency key', () => {
  it('that was used for another body is refused with a message, and the job stays', async () => {
    const { url } = await openService({ workers: 0 });
    const id = await idOf(send(url, 'k'));
    const withWebhook = body.replace(/}$/, ',"webhook":"https://studio.example/done"}');
    for (const other of ['{"input":{"scene":"a lake"}}', withWebhook]) {
      const reply = await send(url, 'k', { body: other });
      expect(reply.status).toBe(422);
      expect(reply.json).toEqual({
        error: expect.stringContaining('Idempotency-Key was used for another body') as string,
      });
    }
    expect(await idOf(send(url, 'k'))).toBe(id);
    expect(await jobsOf(url)).toBe(1);
  });

  it.each([
    ['empty', ''],
    ['with a space', 'a b'],
    ['with a letter that is not ASCII', 'nächte'],
    ['too long', 'k'.repeat(256)],
  ])('that is %s is refused with a message, and nothing is accepted', async (_, key) => {
    const { url } = await openService({ workers: 0 });
    const reply = await send(url, key);
    expect(reply.status).toBe(400);
    expect(reply.text).toContain('1 to 255 ASCII characters');
    expect(reply.headers.get('idempotency-key')).toBeNull();
    expect(await jobsOf(url)).toBe(0);
  });

  it('may have 255 characters', async () => {
    const { url } = await openService({ workers: 0 });
    expect(await idOf(send(url, '~'.repeat(255)))).toBe(await idOf(send(url, '~'.repeat(255))));
  });

  it('is gone with its job: at the instant from the answers, and from the disk after it', async () => {
    let now = 1_000_000;
    const { url, held, dataDir, close } = await openService({ retentionMs: 10_000, now: () => now });
    const id = await idOf(send(url, 'k'));
    (await held.next()).complete([1]);
    await statusOnce(url, id, 'COMPLETED');
    now += 9_999;
    expect(await idOf(send(url, 'k'))).toBe(id);
    now += 1;
    const next = await idOf(send(url, 'k', { body: '{"input":{"scene":"a lake"}}' }));
    expect(next).not.toBe(id);
    (await held.next()).complete([2]);
    await statusOnce(url, next, 'COMPLETED');
    now += 10_000;
    await close();
    expect(rowsIn(dataDir)).toEqual({ jobs: 0, keys: 0 });
  });

  it('finds its job if nothing new is accepted: queue full, disk full, quota used', async () => {
    let now = Date.UTC(2030, 0, 1);
    const endpoints = [endpointSettings({ id: endpointId, maxQueued: 1, quickStart: true })];
    const { url, held, dataDir } = await openService({ endpoints, now: () => now });
    const keys = new KeyStore(join(dataDir, 'keys.sqlite'), { now: Date.now });
    const { key: apiKey } = keys.add({ name: 'few', kind: 'client', endpoints: null, quota: '12m' });
    keys.close();
    const id = await idOf(send(url, 'k', { apiKey }));
    const run = await held.next();
    await idOf(send(url, 'waits', { apiKey }));
    expect((await send(url, 'one-more', { apiKey })).status).toBe(429);
    expect(await idOf(send(url, 'k', { apiKey }))).toBe(id);
    now += 120_000;
    run.complete([1]);
    await statusOnce(url, id, 'COMPLETED');
    expect((await send(url, 'one-more', { apiKey })).text).toContain('quota');
    expect(await idOf(send(url, 'k', { apiKey }))).toBe(id);
    vi.spyOn(JobReserve.prototype, 'spend').mockImplementation(function (this: JobReserve, work) {
      this.isFull = true;
      return work();
    });
    vi.spyOn(JobReserve.prototype, 'refill').mockReturnValue(false);
    onTestFinished(() => void vi.restoreAllMocks());
    await ask(url, cancelPath('v2', endpointId, id), { method: 'POST' });
    expect((await send(url, 'one-more')).status).toBe(507);
    expect(await idOf(send(url, 'k', { apiKey }))).toBe(id);
  });

  it('is kept if its job is cancelled, and if it is retried', async () => {
    const { url, held } = await openService();
    const id = await idOf(send(url, 'k'));
    (await held.next()).fail('no');
    await statusOnce(url, id, 'FAILED');
    expect((await send(url, 'k')).json).toEqual({ id, status: 'FAILED' });
    await ask(url, `/v2/${endpointId}/retry/${id}`, { method: 'POST' });
    expect(await idOf(send(url, 'k'))).toBe(id);
    await ask(url, cancelPath('v2', endpointId, id), { method: 'POST' });
    expect((await send(url, 'k')).json).toEqual({ id, status: 'CANCELLED' });
  });
});

it('holds over kills of the service, whichever answers were lost', { timeout: 300_000 }, async () => {
  const dataDir = await makeDataDir();
  const ids = new Map<string, string>();
  let service = await start(dataDir);
  const kills = runs(5, { ms: 600 });
  for (let kill = 0; kill < kills; kill++) {
    const keys = Array.from({ length: 40 }, (_, i) => `key-${kill}-${i}`);
    const sent = keys.map(async (key) => {
      const reply = await send(service.url, key).catch(() => undefined);
      if (reply !== undefined) ids.set(key, await idOf(reply));
    });
    await Promise.race(sent);
    service.child.kill('SIGKILL');
    await Promise.all(sent);
    service = await start(dataDir);
    for (const key of keys) {
      const id = await idOf(send(service.url, key));
      expect(id).toBe(ids.get(key) ?? id);
    }
  }
  expect(await jobsOf(service.url)).toBe(40 * kills);
});

firstTier.describe('the time for which submissions are known', () => {
  it('is also part of the health of an endpoint', async () => {
    const { url } = await openService({ retentionMs: 90_500 });
    const { headers } = await ask(url, healthPath('v2', endpointId));
    expect(headers.get('idempotency-retention')).toBe('90');
  });

  it('does not include the time before the service honoured keys', async () => {
    const dataDir = await makeDataDir();
    const path = join(dataDir, 'service.sqlite');
    const old = new Sqlite(path);
    const version = jobSchema.migrations.findIndex((statements) => statements.includes('idempotencyKey'));
    for (const statements of jobSchema.migrations.slice(0, version)) old.exec(statements);
    old.pragma(`user_version = ${version}`);
    old.pragma(`application_id = ${jobSchema.applicationId}`);
    old.exec(
      `INSERT INTO job (id, endpointId, state, acceptedAt, queuedAt, expiresAt, ttlMs, executionTimeoutMs, isLowPriority,
         maxRetries, retries, keyId, isPulled, summary) VALUES ('j', 'e', 'IN_QUEUE', 0, 0, 1e15, 1, 1, 0, 0, 0, 'k', 0, '')`,
    );
    old.close();
    let now = Date.now();
    const store = new JobStore(path, { retentionMs: 1_800_000, now: () => now });
    onTestFinished(() => store.close());
    expect(store.expiry.idempotencyMs).toBe(0);
    now += 60_000;
    expect(store.expiry.idempotencyMs).toBeGreaterThan(30_000);
    expect(store.expiry.idempotencyMs).toBeLessThan(61_000);
    now += 1_800_000;
    expect(store.expiry.idempotencyMs).toBe(1_800_000);
  });
});

function rowsIn(dataDir: string): unknown {
  const db = new Sqlite(join(dataDir, 'service.sqlite'), { readonly: true });
  const row = db
    .prepare('SELECT (SELECT count(*) FROM job) AS jobs, (SELECT count(*) FROM input) AS keys')
    .get();
  db.close();
  return row;
}

async function start(dataDir: string): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(packageFile('dist/test/fixtures/service-process.js'), [dataDir, '0']);
  onTestFinished(() => void child.kill('SIGKILL'));
  const [url] = (await once(child, 'message')) as [string];
  return { child, url };
}
