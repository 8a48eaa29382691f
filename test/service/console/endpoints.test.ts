/**
 * Promise: endpoints can be created, changed, paused and removed in the console, and no job is lost by it.
 */
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { WorkerView } from '../../../src/protocol/console-data.ts';
import { endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import { JobStore } from '../../../src/service/jobs/job-store.ts';
import type { Workload } from '../../../src/service/workloads/workload-definition.ts';
import { inProcessWorkload } from '../in-process-workload.ts';
import { endpointForm } from '../../web/console-things.ts';
import { ask, endpointId, instantWorkload, key, makeDataDir, post, submit } from '../service-harness.ts';
import { enter, openWithConsole } from './visit.ts';

it('an endpoint fails while the last three jobs that workers did failed, and no longer', async () => {
  const { url, held } = await openWithConsole({
    endpoints: [endpointSettings({ id: endpointId, retries: 0, quickStart: true })],
  });
  const visit = await enter(url);
  const afterOne = async (isGood: boolean): Promise<boolean | undefined> => {
    const id = await visit.submit(endpointId, { scene: 'x' });
    const run = await held.next();
    if (isGood) run.complete(1);
    else run.fail(new Error('no'));
    await visit.jobOnce(id, ({ endedAt }) => endedAt !== null);
    return (await visit.endpoint(endpointId))?.isFailing;
  };
  expect([await afterOne(true), await afterOne(false), await afterOne(false)]).toEqual([false, false, false]);
  expect([await afterOne(false), await afterOne(false), await afterOne(true)]).toEqual([true, true, false]);
});

it('the console shows the name of a command or module, and no path', async () => {
  const { url } = await openWithConsole();
  const visit = await enter(url);
  const command = await visit.make({
    id: 'a',
    name: 'A',
    command: [process.execPath, '/srv/worker-of-mine'],
  });
  expect(command.runs).toBe('Command node worker-of-mine');
  const module = await visit.make({ id: 'b', name: 'B', module: `${process.cwd()}/dist/cli.js` });
  expect(module.runs).toBe('Module cli.js');
});

it('shows the service and all of its endpoints', async () => {
  const { url } = await openWithConsole({ retentionMs: 90_000, now: () => 5_000_000 });
  const visit = await enter(url);
  const made = await visit.make({ id: 'mine', name: 'Mine', workers: 2 });
  const overview = await visit.overview();
  expect(overview).toMatchObject({
    program: 'nightrender 1.2.3',
    now: 5_000_000,
    retentionMs: 90_000,
    file: 'service.yaml',
    endpoints: [
      { origin: 'file', settings: { id: endpointId } },
      { origin: 'console', trouble: null },
    ],
  });
  expect(made.settings).toEqual(endpointForm({ id: 'mine', name: 'Mine' }));
  expect((await visit.endpoint('mine'))?.workers).toMatchObject([{ kind: 'own' }, { kind: 'own' }]);
});

it('shows how a worker ended, its last line and when the next one starts, until a worker succeeds', async () => {
  const ends: ((why: string) => void)[] = [];
  const workload: Workload = {
    name: 'mortal',
    startWorker: ({ log }) => {
      log(`start ${ends.length + 1}`);
      const ended = new Promise<string>((resolve) => ends.push(resolve));
      return Promise.resolve({ ended, run: () => Promise.resolve('done'), stop: () => Promise.resolve() });
    },
  };
  const endpoints = [endpointSettings({ id: 'mortal', quickStart: true })];
  const visit = await enter((await openWithConsole({ workload, endpoints })).url);
  const workerOnce = async (isSo: (worker: WorkerView) => boolean): Promise<WorkerView> => {
    for (;;) {
      const [worker] = (await visit.endpoint('mortal'))?.workers ?? [];
      if (worker !== undefined && isSo(worker)) return worker;
    }
  };
  expect(await workerOnce(({ state }) => state === 'idle')).toMatchObject({
    lastDeath: null,
    startsAt: null,
  });
  ends[0]?.('it fell asleep');
  const next = await workerOnce(({ state, lastDeath }) => state === 'idle' && lastDeath !== null);
  expect(next).toMatchObject({
    lastDeath: { why: 'it fell asleep; its last line was: start 1', at: expect.any(Number) },
    log: ['start 1', 'it fell asleep', 'start 2'],
  });
  expect((await visit.endpoint('mortal'))?.trouble).toBe(
    'a worker ended: it fell asleep; its last line was: start 1',
  );
  const id = await visit.submit('mortal', { scene: 'x' });
  await visit.jobOnce(id, ({ status }) => status === 'COMPLETED');
  await workerOnce(({ state, lastDeath }) => state === 'idle' && lastDeath === null);
  expect((await visit.endpoint('mortal'))?.trouble).toBeNull();
  // The first worker of a series that ends is replaced at once.
  ends[1]?.('it left');
  await workerOnce(({ state, lastDeath }) => state === 'idle' && lastDeath !== null);
  ends[2]?.('it left again');
  const dead = await workerOnce(({ state }) => state === 'unhealthy');
  expect(dead.lastDeath?.why).toBe('it left again; its last line was: start 3');
  expect(dead.startsAt).toBeGreaterThan(dead.lastDeath?.at ?? Infinity);
});

it('an endpoint of the console uses every key of service.yaml, also after the next start', async () => {
  const dataDir = await makeDataDir();
  const asked = endpointForm({
    id: 'mine',
    name: 'Mine',
    workers: { min: 1, max: 3, idle: '5m' },
    quickStart: false,
    recycle: { jobs: 9, time: '6h' },
    stall: '90s',
  });
  const first = await openWithConsole({ dataDir });
  const visit = await enter(first.url);
  expect((await visit.make(asked)).settings).toEqual(asked);
  // The endpoint has up to three workers, of which one is kept without a job.
  expect((await visit.endpoint('mine'))?.workers).toHaveLength(1);
  await first.close();
  const again = await enter((await openWithConsole({ dataDir })).url);
  expect((await again.endpoint('mine'))?.settings).toEqual(asked);
});

it('hides the values of the file that workers get, and shows those of the console', async () => {
  const environment = { TOKEN: 'a-secret' };
  const given = endpointSettings({ id: 'given', environment });
  const visit = await enter((await openWithConsole({ endpoints: [given] })).url);
  const command = ['cat'];
  await visit.make({ id: 'mine', name: 'mine', workers: 0, command, environment });
  const [file, own] = (await visit.overview()).endpoints;
  expect(file?.settings['environment']).toEqual({ TOKEN: '••••' });
  expect(own?.settings['environment']).toEqual(environment);
});

it('all problems of an endpoint are reported beside its fields, and no endpoint is created', async () => {
  const { url } = await openWithConsole();
  const visit = await enter(url);
  await visit.make({ id: 'mine', name: 'Mine' });
  const problems = async (method: string, path: string, form: unknown): Promise<[number, string[]]> => {
    const { status, body } = await visit.ask(method, path, form);
    return [status, (body as { problems: { field: string }[] }).problems.map(({ field }) => field)];
  };
  const wrong = endpointForm({ name: '', workers: -1, ttl: 'soon', memory: 'much' });
  const [status, fields] = await problems('POST', 'endpoints', wrong);
  expect([status, fields.toSorted()]).toEqual([422, ['memory', 'name', 'ttl', 'workers']]);
  expect(await problems('POST', 'endpoints', {})).toEqual([422, ['name', '']]);
  expect(await problems('POST', 'endpoints', endpointForm({ id: endpointId }))).toEqual([422, ['id']]);
  expect(await problems('POST', 'endpoints', endpointForm({ id: 'x', name: 'MINE' }))).toEqual([
    422,
    ['name'],
  ]);
  expect(await problems('PUT', 'endpoints/mine', endpointForm({ id: 'other' }))).toEqual([422, ['id']]);
  expect(await problems('PUT', 'endpoints/mine', endpointForm({ id: 'mine', workers: -1 }))).toEqual([
    422,
    ['workers'],
  ]);
  expect((await visit.overview()).endpoints).toHaveLength(2);
});

it('creates one of many endpoints that are requested at once under one id', async () => {
  const { url } = await openWithConsole();
  const visit = await enter(url);
  const asked = [1, 2, 3, 4].map((n) =>
    visit.ask('POST', 'endpoints', endpointForm({ id: 'same', name: `n${n}`, workers: n })),
  );
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(statuses.toSorted((one, other) => one - other)).toEqual([201, 422, 422, 422]);
  expect((await visit.ask('DELETE', 'endpoints/same')).status).toBe(204);
});

it('leaves the endpoints of the file alone', async () => {
  const { url } = await openWithConsole();
  const visit = await enter(url);
  const path = `endpoints/${endpointId}`;
  expect((await visit.ask('PUT', path, endpointForm({ id: endpointId }))).status).toBe(409);
  expect((await visit.ask('PUT', path, endpointForm({ id: endpointId, workers: -1 }))).status).toBe(409);
  expect((await visit.ask('DELETE', path)).status).toBe(409);
  expect((await visit.ask('PUT', 'endpoints/none', { workers: -1 })).status).toBe(404);
});

it('runs jobs at an endpoint as soon as it is made, and after the next start', async () => {
  const dataDir = await makeDataDir();
  const workload = instantWorkload(({ input }) => ({ done: input['scene'] }));
  const first = await openWithConsole({ dataDir, workload });
  const visit = await enter(first.url);
  await visit.make({ id: 'mine', name: 'Mine' });
  const id = await submit(first.url, { scene: 'one' }, 'v2', 'mine');
  expect(await visit.jobOnce(id, ({ status }) => status === 'COMPLETED')).toMatchObject({
    endpointId: 'mine',
  });
  await first.close();
  const again = await openWithConsole({ dataDir, workload });
  const back = await enter(again.url);
  expect((await back.endpoint('mine'))?.settings.name).toBe('Mine');
  const later = await back.submit('mine', { scene: 'two' });
  expect(JSON.parse((await back.jobOnce(later, ({ output }) => output !== null)).output ?? '')).toEqual({
    done: 'two',
  });
});

it('puts a change into effect at once, and returns running jobs to the queue without counting an attempt', async () => {
  const { url, held } = await openWithConsole();
  const visit = await enter(url);
  await visit.make({ id: 'mine', name: 'Mine', workers: 1, retries: 0 });
  const id = await visit.submit('mine', { scene: 'one' });
  const former = await held.next();
  const changed = endpointForm({ id: 'mine', name: 'Yours', workers: 3, retries: 0 });
  expect(await visit.ask('PUT', 'endpoints/mine', changed)).toMatchObject({
    status: 200,
    body: { settings: changed },
  });
  expect(former.signal.aborted).toBe(true);
  const next = await held.next();
  former.complete('of the former worker');
  next.complete('of the new one');
  expect(await visit.jobOnce(id, ({ output }) => output !== null)).toMatchObject({
    retries: 0,
    output: '"of the new one"',
  });
  expect((await visit.endpoint('mine'))?.workers).toHaveLength(3);
});

it('loses no job that is being taken while its endpoint is changed', async () => {
  const { url } = await openWithConsole({ workload: instantWorkload(() => 'done') });
  const visit = await enter(url);
  await visit.make({ id: 'mine', name: 'Mine', workers: 4 });
  const ids: string[] = [];
  for (let round = 0; round < 10; round++) {
    const submitted = [1, 2, 3, 4].map(() => visit.submit('mine', { scene: 'x' }));
    const changed = visit.ask(
      'PUT',
      'endpoints/mine',
      endpointForm({ id: 'mine', name: 'Mine', workers: 4 }),
    );
    ids.push(...(await Promise.all(submitted)));
    expect((await changed).status).toBe(200);
  }
  for (const id of ids) await visit.jobOnce(id, ({ status }) => status === 'COMPLETED');
});

it('removes an endpoint with all that waits and runs there', async () => {
  const { url, held, dataDir, close } = await openWithConsole();
  const visit = await enter(url);
  await visit.make({ id: 'mine', name: 'Mine', workers: 1 });
  const running = await visit.submit('mine', { scene: 'runs' });
  const waiting = await visit.submit('mine', { scene: 'waits' });
  const run = await held.next();
  expect(await visit.ask('DELETE', 'endpoints/mine')).toMatchObject({ status: 204 });
  expect(run.signal.aborted).toBe(true);
  for (const id of [running, waiting]) {
    expect((await visit.job(id)).status).toBe('CANCELLED');
    expect((await ask(url, `/v2/mine/status/${id}`)).status).toBe(404);
    expect((await visit.ask('POST', `jobs/${id}/retry`)).status).toBe(409);
  }
  expect((await post(url, '{"input":{"a":1}}', '/v2/mine/run')).status).toBe(404);
  expect((await visit.ask('POST', 'endpoints/mine/jobs', { input: { a: 1 } })).status).toBe(404);
  expect(await visit.endpoint('mine')).toBeUndefined();
  const made = await visit.make({ id: 'mine', name: 'Mine' });
  expect(Object.values(made.jobs).every((count) => count === 0)).toBe(true);
  expect((await visit.ask('DELETE', 'endpoints/mine')).status).toBe(204);
  await close();
  const again = await enter((await openWithConsole({ dataDir })).url);
  expect(await again.endpoint('mine')).toBeUndefined();
});

it('accepts no job whose endpoint is removed during the submission', async () => {
  const { url } = await openWithConsole();
  const visit = await enter(url);
  await visit.make({ id: 'mine', name: 'Mine', workers: 0 });
  const headers = { Authorization: `Bearer ${key}`, Expect: '100-continue' };
  const sending = request(`${url}/v2/mine/run`, { method: 'POST', headers });
  sending.flushHeaders();
  await once(sending, 'continue');
  expect((await visit.ask('DELETE', 'endpoints/mine')).status).toBe(204);
  sending.end('{"input":{"scene":"x"}}');
  const [answer] = (await once(sending, 'response')) as [IncomingMessage];
  expect(answer.resume().statusCode).toBe(404);
});

it('leaves no job waiting whose endpoint is removed while the job is stored', async () => {
  const { url } = await openWithConsole();
  const visit = await enter(url);
  await visit.make({ id: 'mine', name: 'Mine', workers: 0 });
  const { accept } = JobStore.prototype;
  const written = vi.spyOn(JobStore.prototype, 'accept').mockImplementation(async function (
    this: JobStore,
    ...given
  ) {
    await visit.ask('DELETE', 'endpoints/mine');
    return await accept.apply(this, given);
  });
  onTestFinished(() => written.mockRestore());
  const body = '{"input":{"scene":"x"}}';
  const headers = { Authorization: `Bearer ${key}` };
  expect((await fetch(`${url}/v2/mine/run`, { method: 'POST', headers, body })).status).toBe(404);
  expect((await visit.ask('GET', 'jobs')).body).toMatchObject({
    jobs: [{ endpointId: 'mine', status: 'CANCELLED' }],
  });
});

it('shows the end of each worker’s log, and stays small however much they write', async () => {
  const workload = inProcessWorkload('idle', () => Promise.resolve('done'));
  const writing: Workload = {
    name: 'writing',
    startWorker: (context) => {
      for (let i = 0; i < 200; i++) context.log(`${'x'.repeat(1_990)} ${i}`);
      context.log('the end');
      return workload.startWorker(context);
    },
  };
  const endpoints = Array.from({ length: 20 }, (_, i) =>
    endpointSettings({ id: `e${i}`, workers: 10, quickStart: true }),
  );
  const visit = await enter((await openWithConsole({ endpoints, workload: writing })).url);
  const overview = await visit.overview();
  const logs = overview.endpoints.flatMap(({ workers }) => workers.map(({ log }) => log));
  expect(logs.map((log) => log.at(-1))).toEqual(Array.from({ length: 200 }, () => 'the end'));
  expect(JSON.stringify(overview).length).toBeLessThan(500_000);
});

it('an endpoint can be paused, also over a new start, and resumed', async () => {
  const dataDir = await makeDataDir();
  const endpoints = [endpointSettings({ id: endpointId })];
  const workload = instantWorkload(() => 1);
  const first = await openWithConsole({ dataDir, workload, endpoints });
  const visit = await enter(first.url);
  expect((await visit.ask('POST', 'endpoints/none/pause')).status).toBe(404);
  expect((await visit.ask('POST', `endpoints/${endpointId}/pause`)).status).toBe(204);
  const id = await submit(first.url, { scene: 'x' });
  expect(await visit.endpoint(endpointId)).toMatchObject({ isPaused: true, workers: [] });
  await first.close();
  const second = await openWithConsole({ dataDir, workload, endpoints });
  const again = await enter(second.url);
  expect(await again.endpoint(endpointId)).toMatchObject({ isPaused: true, jobs: { inQueue: 1 } });
  const metrics = await (await fetch(`${second.url}/metrics`)).text();
  expect(metrics).toContain('nightrender_endpoint_paused{endpoint="scene-renderer"} 1');
  await again.ask('POST', `endpoints/${endpointId}/resume`);
  expect(await again.jobOnce(id, ({ endedAt }) => endedAt !== null)).toMatchObject({ status: 'COMPLETED' });
});
