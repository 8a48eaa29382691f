/** Jobs can be cancelled, and the health of an endpoint counts jobs and workers. */
import { join } from 'node:path';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { describe, expect, it } from 'vitest';
import { jobSchema } from '../../src/service/jobs/job-schema.ts';
import { cancelPath, healthPath, type Version, versions } from '../../src/protocol/paths.ts';
import {
  ask,
  askStatus,
  endpointId,
  makeDataDir,
  openService,
  type Reply,
  statusOnce,
  submit,
} from './service-harness.ts';

function cancel(url: string, id: string, version: Version = 'v2'): Promise<Reply> {
  return ask(url, cancelPath(version, endpointId, id), { method: 'POST' });
}

async function healthOf(url: string, endpoint = endpointId): Promise<unknown> {
  return (await ask(url, healthPath('v2', endpoint))).json;
}

describe('a cancelled job', () => {
  it.each(versions)('that waits never runs, and says CANCELLED (%s)', async (version) => {
    const { url, held } = await openService();
    await submit(url, { scene: 'first' });
    const unwanted = await submit(url, { scene: 'unwanted' });
    const last = await submit(url, { scene: 'last' });
    const reply = await cancel(url, unwanted, version);
    expect([reply.status, reply.json]).toEqual([200, { id: unwanted, status: 'CANCELLED' }]);
    expect((await askStatus(url, unwanted, version)).json).toEqual({ id: unwanted, status: 'CANCELLED' });
    (await held.next()).complete([1]);
    const run = await held.next();
    expect(run.job.id).toBe(last);
    run.complete([1]);
    await statusOnce(url, last, 'COMPLETED');
    expect(held.runs.length).toBe(2);
  });

  it('that runs is told to stop, frees its worker at once, and its result is dropped', async () => {
    let now = 1_000_000;
    const { url, held, troubles } = await openService({ now: () => now });
    const id = await submit(url, { scene: 'running' });
    const run = await held.next();
    const next = await submit(url, { scene: 'next' });
    now += 700;
    expect((await cancel(url, id)).json).toEqual({ id, status: 'CANCELLED' });
    expect(run.signal.aborted).toBe(true);
    const other = await held.next();
    expect(other.job.id).toBe(next);
    run.complete([{ rendered_image: 'aGk=' }]);
    other.complete([1]);
    await statusOnce(url, next, 'COMPLETED');
    const cancelled = {
      delayTime: 0,
      executionTime: 700,
      id,
      status: 'CANCELLED',
      workerId: expect.any(String) as string,
    };
    expect((await askStatus(url, id)).json).toEqual(cancelled);
    expect(troubles).toEqual([]);
  });

  it('stays cancelled over a restart, whether it waited or ran', async () => {
    const dataDir = await makeDataDir();
    const first = await openService({ dataDir });
    const ids = [
      await submit(first.url, { scene: 'running' }),
      await submit(first.url, { scene: 'waiting' }),
    ];
    const last = await submit(first.url, { scene: 'last' });
    await first.held.next();
    for (const id of ids.toReversed()) await cancel(first.url, id);
    await first.close();

    const second = await openService({ dataDir });
    expect((await second.held.next()).job.id).toBe(last);
    for (const id of ids)
      expect((await askStatus(second.url, id)).json).toMatchObject({ status: 'CANCELLED' });
  });

  it('that was put back into the queue has no times of its former run', async () => {
    const dataDir = await makeDataDir();
    let now = 1_000_000;
    const first = await openService({ dataDir, now: () => now });
    const id = await submit(first.url, { scene: 'x' });
    await first.held.next();
    now += 500;
    await first.close();
    const second = await openService({ dataDir, workers: 0, now: () => now });
    await cancel(second.url, id);
    expect((await askStatus(second.url, id)).json).toEqual({ id, status: 'CANCELLED' });
  });
});

it('leaves an ended job unchanged, and says how it ended', async () => {
  const { url, held } = await openService();
  const done = await submit(url, { scene: 'done' });
  (await held.next()).complete([1]);
  await statusOnce(url, done, 'COMPLETED');
  const failed = await submit(url, { scene: 'failed' });
  (await held.next()).fail(new Error('no'));
  await statusOnce(url, failed, 'FAILED');
  const before = (await askStatus(url, done)).text;
  expect((await cancel(url, done)).json).toEqual({ id: done, status: 'COMPLETED' });
  expect((await cancel(url, failed)).json).toEqual({ id: failed, status: 'FAILED' });
  expect((await askStatus(url, done)).text).toBe(before);
});

describe('health', () => {
  const jobs = { completed: 0, failed: 0, inProgress: 0, inQueue: 0, retried: 0 };
  const workers = { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy: 0 };

  it('counts the jobs and the workers of the endpoint', async () => {
    const { url, held } = await openService({ workers: 2 });
    expect(await healthOf(url)).toEqual({ jobs, workers: { ...workers, idle: 2, ready: 2 } });
    const ids = [];
    for (let count = 0; count < 6; count++) ids.push(await submit(url, { count }));
    (await held.next()).complete([1]);
    (await held.next()).fail(new Error('no'));
    await statusOnce(url, ids[0] ?? '', 'COMPLETED');
    await statusOnce(url, ids[1] ?? '', 'FAILED');
    await held.next();
    await held.next();
    await cancel(url, ids[5] ?? '');
    expect(await healthOf(url)).toEqual({
      jobs: { completed: 1, failed: 1, inProgress: 2, inQueue: 1, retried: 0 },
      workers: { ...workers, running: 2 },
    });
  });

  it('keeps its counts over a restart, and counts jobs that were put back', async () => {
    const dataDir = await makeDataDir();
    const first = await openService({ dataDir });
    const done = await submit(first.url, { scene: 'done' });
    (await first.held.next()).complete([1]);
    await statusOnce(first.url, done, 'COMPLETED');
    await submit(first.url, { scene: 'running' });
    await first.held.next();
    await first.close();
    const second = await openService({ dataDir, workers: 0 });
    expect(await healthOf(second.url)).toEqual({
      jobs: { ...jobs, completed: 1, inQueue: 1, retried: 1 },
      workers,
    });
  });

  it('still counts an ended job when its result is deleted', async () => {
    const dataDir = await makeDataDir();
    let now = 1_000_000;
    const options = { dataDir, retentionMs: 1_000, now: () => now };
    const first = await openService(options);
    const id = await submit(first.url, { scene: 'x' });
    (await first.held.next()).complete([1]);
    await statusOnce(first.url, id, 'COMPLETED');
    now += 1_000;
    await first.close();
    const second = await openService({ ...options, workers: 0 });
    expect(await healthOf(second.url)).toMatchObject({ jobs: { ...jobs, completed: 1 } });
  });
});

it.each([
  ['there were cancellations', 1, '', 1],
  // Two completed jobs of this store have been deleted.
  [
    'workers elsewhere took jobs',
    2,
    `CREATE TABLE tally (endpointId TEXT NOT NULL, what TEXT NOT NULL, jobs INTEGER NOT NULL, PRIMARY KEY (endpointId, what)) STRICT, WITHOUT ROWID;
     INSERT INTO tally VALUES ('${endpointId}', 'COMPLETED', 3), ('${endpointId}', 'IN_PROGRESS', 1), ('${endpointId}', 'IN_QUEUE', 1);`,
    3,
  ],
])('upgrades a store from before %s', async (_, version, tally, completed) => {
  const dataDir = await makeDataDir();
  const db = new Sqlite(join(dataDir, 'service.sqlite'));
  db.exec(jobSchema.migrations[0] ?? '');
  db.pragma(`application_id = ${jobSchema.applicationId}`);
  db.pragma(`user_version = ${version}`);
  db.exec(tally);
  const insert = db.prepare(
    `INSERT INTO job (id, endpointId, state, acceptedAt, queuedAt, startedAt, endedAt, input, output)
     VALUES (?, '${endpointId}', ?, 1, 1, ?, ?, '{"scene":"x"}', ?)`,
  );
  insert.run('done', 'COMPLETED', 1_000, 2_000, '[1]');
  insert.run('running', 'IN_PROGRESS', 1_000, null, null);
  insert.run('waiting', 'IN_QUEUE', null, null, null);
  db.close();

  const { url, held } = await openService({ dataDir, now: () => 3_000 });
  expect((await askStatus(url, 'done')).json).toMatchObject({ status: 'COMPLETED', output: [1] });
  expect((await held.next()).job.id).toBe('running');
  expect((await cancel(url, 'waiting')).json).toEqual({ id: 'waiting', status: 'CANCELLED' });
  expect(await healthOf(url)).toMatchObject({
    jobs: { completed, failed: 0, inProgress: 1, inQueue: 0, retried: 1 },
  });
});
