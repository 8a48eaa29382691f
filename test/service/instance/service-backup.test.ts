/**
 * Promise: a backup of a running service is complete and private, and a service started from it pays for
 * nothing twice.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Sqlite } from '../../../src/lib/sqlite/database.ts';
import type { AnswerOf } from '../../../src/protocol/operations.ts';
import { endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import type { JobStore } from '../../../src/service/jobs/job-store.ts';
import { backUpService } from '../../../src/service/instance/service-backup.ts';
import { inProcess } from '../../e2e/cli.ts';
import { canMount, mountSmallDisk } from '../../e2e/small-disk.ts';
import { checkLine } from '../../terminal/check-line.ts';
import { enter, openWithConsole } from '../console/visit.ts';
import { addKey } from '../pull-harness.ts';
import { accepted, endpointId, makeDataDir, openStore, statusOnce, submit } from '../service-harness.ts';

const long = 'x'.repeat(300_000);

let dataDir: string;
let to: string;

beforeEach(async () => {
  dataDir = await makeDataDir();
  to = join(await makeDataDir(), 'of today');
});

const backup = (...args: string[]) => inProcess(['backup', ...args, '--data', dataDir], { cwd: dirname(to) });

function allIn(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' }).toSorted();
}

function modesIn(dir: string): string[] {
  const modes = ['', ...allIn(dir)].map((name) => statSync(join(dir, name)).mode & 0o777);
  return [...new Set(modes.map((mode) => mode.toString(8)))].toSorted();
}

it('a backup is written while the service runs; waiting and running jobs of that moment wait for a person once it is put back', async () => {
  const endpoints = [endpointSettings({ id: endpointId }), endpointSettings({ id: 'other' })];
  const first = await openWithConsole({ dataDir, endpoints });
  const client = addKey(dataDir, 'client');
  const visit = await enter(first.url);
  const done = await submit(first.url, { picture: long });
  (await first.held.next()).complete({ picture: long });
  await statusOnce(first.url, done, 'COMPLETED');
  const running = await submit(first.url, { scene: 'running' });
  await first.held.next();
  const waiting = await submit(first.url, { scene: 'waiting', picture: long });
  writeFileSync(join(dataDir, 'audit.jsonl'), '{"signedIn":"admin"}\n', { mode: 0o644 });

  await backup(to)
    .exits(
      0,
      /^Backed up to of today, and checked: 3 jobs \(2 waiting or running\), 1 key, 5 files/,
      'endpoints with waiting or running jobs are paused',
    )
    .warnsOnly('');
  expect(readdirSync(dirname(to))).toEqual(['of today']);
  expect(modesIn(to)).toEqual(['600', '700']);
  expect(readdirSync(to).toSorted()).toEqual([
    'audit.jsonl',
    'cluster.key',
    'inputs',
    'keys.sqlite',
    'results',
    'service.sqlite',
    'streams',
  ]);
  const after = await submit(first.url, { scene: 'after' });

  const second = await openWithConsole({ dataDir: to, endpoints, keys: [] });
  const headers = { Authorization: `Bearer ${client}` };
  const statusOf = async (id: string): Promise<AnswerOf<'status'>> =>
    (await (
      await fetch(`${second.url}/v2/${endpointId}/status/${id}`, { headers })
    ).json()) as AnswerOf<'status'>;
  expect(await statusOf(done)).toMatchObject({ status: 'COMPLETED', output: { picture: long } });
  expect(await statusOf(running)).toMatchObject({ status: 'IN_QUEUE' });
  expect(await statusOf(waiting)).toMatchObject({ status: 'IN_QUEUE' });
  expect(await statusOf(after)).toMatchObject({ error: expect.any(String) as string });
  const admin = addKey(to, 'admin');
  expect((await visit.ask('GET', 'overview')).status).toBe(200);
  const restored = await enter(second.url, admin);
  expect([await restored.endpoint(endpointId), await restored.endpoint('other')]).toMatchObject([
    { isPaused: true, jobs: { inQueue: 2 } },
    { isPaused: false },
  ]);
  await restored.ask('POST', `endpoints/${endpointId}/resume`);
  for (const id of [running, waiting]) {
    const run = await second.held.next();
    expect(run.job.id).toBe(id);
    run.complete(1);
  }
  // Sessions are not part of a backup, so users must sign in again.
  expect(
    (await fetch(`${second.url}/console/api/overview`, { headers: { Cookie: visit.cookie } })).status,
  ).toBe(401);
});

it('a backup says the same as JSON, as the published schema has it', async () => {
  const store = await openStore({}, dataDir);
  await accepted(store, 'a', JSON.stringify({ picture: long }));
  const [line = {}] = await backup(to, '--json').lines();
  checkLine(line);
  const counts = { jobs: 1, openJobs: 1, keys: 0, files: 1, lost: 0 };
  expect(line).toMatchObject({ type: 'backed-up', dir: to, ...counts });
  expect(line['bytes']).toBeGreaterThan(300_000);
});

/** Ends a job of endpoint `a` with a long result, and returns its id. */
async function ended(store: JobStore): Promise<string> {
  const id = await accepted(store, 'a', '{}');
  const [job] = await store.work.take('a', [{ workerId: 'w', isPulled: true }]);
  await store.work.settle(
    { id: job?.id ?? '', workerId: job?.workerId ?? '' },
    { state: 'COMPLETED', output: `"${long}"` },
  );
  return id;
}

/** Deletes a job as the service does: first the row, then the file. */
function forget({ file: { db } }: JobStore, id: string): void {
  const name = db
    .prepare<[string], string>('DELETE FROM job WHERE id = ? RETURNING outputFile')
    .pluck()
    .get(id);
  rmSync(join(dataDir, name ?? ''));
}

const unstopped = new AbortController().signal;

it('a backup has no job whose result was deleted while it was written', async () => {
  const store = await openStore({}, dataDir);
  const [kept, early] = [await ended(store), await ended(store)];
  let late = '';
  const events = [
    // Called before the store is copied for the first time.
    () => undefined,
    () => {
      forget(store, early);
      const { db } = store.file;
      const columns = db.pragma('table_info(job)') as { name: string }[];
      const changed: Record<string, string> = { number: '99', id: "'late'", outputFile: "'results/late'" };
      const values = columns.map(({ name }) => changed[name] ?? name);
      db.exec(`INSERT INTO job SELECT ${values.join()} FROM job WHERE id = '${kept}'`);
      writeFileSync(join(dataDir, 'results/late'), long);
      late = 'late';
    },
    // The copy has the row of the third job by now.
    () => forget(store, late),
  ];
  const signal = Object.assign(new AbortController().signal, { throwIfAborted: () => events.shift()?.() });
  const made = await backUpService(dataDir, { temporary: `${to}.tmp`, to, signal });
  expect([events, made]).toMatchObject([[], { jobs: 1, files: 1, lost: 0 }]);
  const restored = await openStore({}, to);
  expect(restored.reads.has('a', kept)).toBe(true);
  expect([restored.reads.has('a', early), restored.reads.has('a', late)]).toEqual([false, false]);
  expect(readdirSync(join(to, 'results'))).toHaveLength(1);
});

it('a backup does not say that it knows what was submitted after the backup', async () => {
  let now = 1_000_000;
  const options = { now: () => now, retentionMs: 60_000 };
  const store = await openStore(options, dataDir);
  await accepted(store, 'a', '{}');
  await backUpService(dataDir, { temporary: `${to}.tmp`, to, signal: unstopped });
  expect(store.expiry.idempotencyMs).toBe(60_000);
  now += 30_000;
  const restored = await openStore(options, to);
  expect(restored.expiry.idempotencyMs).toBe(0);
  now += 10_000;
  expect(restored.expiry.idempotencyMs).toBe(10_000);
  restored.close();
  expect((await openStore(options, to)).expiry.idempotencyMs).toBe(10_000);
});

it('a backup says how many files the service itself has lost', async () => {
  const store = await openStore({}, dataDir);
  await ended(store);
  for (const name of readdirSync(join(dataDir, 'results'))) rmSync(join(dataDir, 'results', name));
  await backup(to).exits(0, "1 file is missing in the service's folder");
});

it('a backup leaves nothing behind if it is stopped', async () => {
  await openStore({}, dataDir);
  const stopped = AbortSignal.abort(new Error('stopped'));
  await expect(backUpService(dataDir, { temporary: `${to}.tmp`, to, signal: stopped })).rejects.toThrow(
    'stopped',
  );
  expect(readdirSync(dirname(to))).toEqual([]);
});

describe('a backup is refused with a message, and nothing is written', () => {
  const refused = async (dir: string): Promise<string> => {
    const before = existsSync(dirname(to)) ? allIn(dirname(to)) : [];
    const { stderr } = await backup(dir).exits(2);
    expect(allIn(dirname(to))).toEqual(before);
    return stderr;
  };

  it('for a folder that is not empty, or a file', async () => {
    await openStore({}, dataDir);
    mkdirSync(to);
    writeFileSync(join(to, 'notes'), '');
    expect(await refused(to)).toContain('of today: the folder is not empty; choose a new one');
    expect(await refused(join(to, 'notes'))).toContain('a file has this name');
  });

  it('for one inside of the data folder, also by a link', async () => {
    await openStore({}, dataDir);
    symlinkSync(dataDir, to);
    for (const dir of [dataDir, join(dataDir, 'backups/monday'), join(to, 'monday')])
      expect(await refused(dir)).toMatch(/in the service's own data folder|not empty/);
    expect(existsSync(join(dataDir, 'backups'))).toBe(false);
  });

  it('for a folder that no service has used', async () => {
    expect(await refused(to)).toContain('no service has its data here: name its folder with --data');
  });

  it('for a store in PostgreSQL, which has a tool of its own', async () => {
    mkdirSync(join(dataDir, 'shared'));
    expect(await refused(to)).toContain('back the database up with `pg_dump --format=custom');
  });

  it('for a damaged database', async () => {
    const store = await openStore({}, dataDir);
    await Promise.all(
      Array.from({ length: 40 }, () => accepted(store, 'a', `{"scene":"${'x'.repeat(20_000)}"}`)),
    );
    const root = store.file.db
      .prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'jobListed'")
      .pluck()
      .get();
    store.close();
    const db = new Sqlite(join(dataDir, 'service.sqlite'));
    db.unsafeMode(true);
    db.pragma('writable_schema = ON');
    db.prepare("UPDATE sqlite_schema SET rootpage = ? WHERE name = 'jobEnded'").run(root);
    db.close();
    expect(await refused(to)).toMatch(/service\.sqlite is damaged, or its copy is/);
  });

  it('for one that only an earlier version has used', async () => {
    const store = await openStore({}, dataDir);
    store.file.db.pragma('user_version = 9');
    store.close();
    expect(await refused(to)).toContain('was last used by an earlier version of nightrender');
  });
});

it.skipIf(!canMount)(
  'a backup is refused if there is too little space, with the number (skipped if this user may not mount a disk)',
  async () => {
    const store = await openStore({}, dataDir);
    for (let job = 0; job < 4; job++) await accepted(store, 'a', `{"picture":"${long}"}`);
    const disk = join(dirname(to), 'disk');
    mountSmallDisk(disk, 1);
    await backup(join(disk, 'of today')).fails(
      14,
      /the backup takes 1\.\d MB, and the disk of disk\/of today has 1\.0 MB free: free \d+ kB, or/,
    );
    expect(readdirSync(disk)).toEqual([]);
    await backup(disk).warns('a disk is mounted there; choose a new folder in it, such as disk/service');
  },
);
