/** Promise: many webhooks to a host that never answers do not delay those to other hosts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, vi } from 'vitest';
import { theInternet } from '../../../src/lib/net/addresses.ts';
import { Sqlite } from '../../../src/lib/sqlite/database.ts';
import { jobSchema } from '../../../src/service/jobs/job-schema.ts';
import { JobStore } from '../../../src/service/jobs/job-store.ts';
import { Webhooks } from '../../../src/service/webhooks/webhooks.ts';
import { firstTier, rest } from '../../fakes/tier.ts';
import { accepted } from '../service-harness.ts';

let dir: string;
let store: JobStore;
let silent: Server;
let heard: Server;
let webhooks: Webhooks;
let onHeard: (body: string) => void;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'webhooks-of-many-'));
  store = new JobStore(join(dir, 'service.sqlite'), { retentionMs: 600_000, now: Date.now });
  silent = createServer(() => undefined);
  heard = createServer((request, response) => {
    if (request.url === '/hangs') return;
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      response.end();
      onHeard(body);
    });
  });
  // The servers listen on all addresses of this machine, because each address of 127.0.0.0/8 counts as
  // another host.
  await Promise.all([silent, heard].map(listen));
});

afterEach(async () => {
  await webhooks.stop();
  for (const server of [silent, heard]) {
    server.closeAllConnections();
    server.close();
  }
  store.close();
  rmSync(dir, { recursive: true, force: true });
});

function listen(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '0.0.0.0', resolve));
}

async function endedJob(server: Server, host = '127.0.0.1', keyId = 'one', path = ''): Promise<string> {
  const webhook = `http://${host}:${(server.address() as AddressInfo).port}/${path}`;
  const id = await accepted(store, 'farm', '{"scene": "a red cube"}', { webhook, keyId });
  await store.cancel('farm', id);
  return id;
}

function begin(parts: Partial<ConstructorParameters<typeof Webhooks>[0]> = {}): void {
  webhooks = new Webhooks({
    store,
    secrets: { of: () => [Buffer.alloc(32)] as [Buffer] },
    retentionMs: 600_000,
    onProblem: () => undefined,
    now: Date.now,
    hasPrivate: true,
    ...parts,
  });
}

function nextHeard(): Promise<string> {
  return new Promise<string>((resolve) => (onHeard = resolve));
}

firstTier.it('a webhook behind a thousand for a host that never answers is sent', async () => {
  await Promise.all(Array.from({ length: 1_000 }, () => endedJob(silent)));
  const id = await endedJob(heard);
  const told = nextHeard();
  begin();
  expect(JSON.parse(await told)).toMatchObject({ id, status: 'CANCELLED' });
});

firstTier.it.skipIf(process.platform === 'darwin')(
  'each host has a queue of its own: what hundreds to hosts that hang are in front of is sent at once (skipped on macOS, which has one loopback address only)',
  async () => {
    const hosts = Array.from({ length: 600 }, (_, index) => `127.1.0.${index % 120}`);
    await Promise.all(hosts.map((host) => endedJob(silent, host)));
    const ids = await Promise.all(Array.from({ length: 40 }, () => endedJob(heard)));
    const told: string[] = [];
    onHeard = (body) => void told.push((JSON.parse(body) as { id: string }).id);
    // Timers are fake from here on, so the service looks for due webhooks only once, at its start.
    vi.useFakeTimers({ toFake: ['setInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    begin();
    await expect.poll(() => told.length, { timeout: 60_000 }).toBe(40);
    expect(told.toSorted()).toEqual(ids.toSorted());
  },
);

firstTier.it(
  'a key whose webhooks hang at a receiver does not hold up those of another key to the same one',
  async () => {
    await Promise.all(Array.from({ length: 20 }, () => endedJob(heard, '127.0.0.1', 'one', 'hangs')));
    const id = await endedJob(heard, '127.0.0.1', 'other');
    const told = nextHeard();
    vi.useFakeTimers({ toFake: ['setInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    begin();
    expect(JSON.parse(await told)).toMatchObject({ id });
  },
);

firstTier.it(
  'a host that cannot be reached is asked a few times for hundreds of webhooks, and all of them wait',
  async () => {
    const cancelled = async (nth: number): Promise<void> => {
      const id = await accepted(store, 'farm', '{"scene": "x"}', { webhook: `http://gone.example/${nth}` });
      await store.cancel('farm', id);
    };
    await Promise.all(Array.from({ length: 300 }, (_, nth) => cancelled(nth)));
    let lookups = 0;
    const lookup = (): Promise<never> => Promise.reject(new Error(`no address, asked ${++lookups} times`));
    begin({ hasPrivate: false, internet: { ...theInternet, lookup } });
    const { db } = store.file;
    const tried = db.prepare<[], { jobs: number }>(
      "SELECT count(*) AS jobs FROM webhook WHERE tries = 1 AND dueAt IS NOT NULL AND why LIKE '%no address%'",
    );
    await expect.poll(() => tried.get()?.jobs, { timeout: 60_000 }).toBe(300);
    expect(lookups).toBeLessThan(20);
  },
);

firstTier.it('webhooks that are due in a store of an earlier version are sent', async () => {
  await endedJob(heard);
  const url = `http://127.0.0.1:${(heard.address() as AddressInfo).port}/`;
  store.close();
  const path = earlierStore(join(dir, 'service.sqlite'));
  store = new JobStore(path, { retentionMs: 600_000, now: Date.now });
  const told = nextHeard();
  begin();
  expect(JSON.parse(await told)).toMatchObject({ status: 'CANCELLED', webhook: url });
});

rest.it.skipIf(process.platform === 'darwin')(
  'a webhook for a host that answers is sent behind those for a thousand hosts that never do (skipped on macOS, which has one loopback address only)',
  async () => {
    let told = nextHeard();
    begin();
    const first = await endedJob(heard);
    expect(JSON.parse(await told)).toMatchObject({ id: first });
    const hosts = Array.from({ length: 1_000 }, (_, index) => `127.1.${index >> 8}.${index & 255}`);
    await Promise.all(hosts.map((host) => endedJob(silent, host)));
    told = nextHeard();
    const second = await endedJob(heard);
    expect(JSON.parse(await told)).toMatchObject({ id: second });
  },
);

/** Returns the path of a copy of the store in the format before webhooks had queues. */
function earlierStore(newer: string): string {
  const path = `${newer}.earlier`;
  const old = new Sqlite(path);
  const version = jobSchema.migrations.findIndex((statements) => statements.includes('webhookFailed'));
  for (const statements of jobSchema.migrations.slice(0, version)) old.exec(statements);
  old.pragma(`user_version = ${version}`);
  old.pragma(`application_id = ${jobSchema.applicationId}`);
  const parts = old
    .prepare<[], Record<'type' | 'name' | 'sql', string>>('SELECT type, name, sql FROM main.sqlite_schema')
    .all();
  const triggers = parts.filter(({ type }) => type === 'trigger');
  for (const { name } of triggers) old.exec(`DROP TRIGGER ${name}`);
  old.exec(`ATTACH '${newer}' AS newer; PRAGMA foreign_keys = OFF`);
  for (const { name: table } of parts.filter(
    ({ type, name }) => type === 'table' && !name.startsWith('sqlite_'),
  )) {
    const columns = (old.pragma(`main.table_info(${table})`) as { name: string }[]).map(({ name }) => name);
    old.exec(`DELETE FROM main.${table}`);
    old.exec(`INSERT INTO main.${table} (${columns.join()}) SELECT ${columns.join()} FROM newer.${table}`);
  }
  for (const { sql } of triggers) old.exec(sql);
  old.close();
  return path;
}
