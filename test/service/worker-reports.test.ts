/** Promise: workers report their machine and log, and can leave without a job being lost. */
import { expect, it } from 'vitest';
import { addKey, PullingWorker } from './pull-harness.ts';
import { askStatus, endpointId, statusOnce, submit } from './service-harness.ts';
import { enter, openWithConsole } from './console/visit.ts';

const machine = {
  host: 'attic',
  cores: 8,
  memoryBytes: 16e9,
  gpus: [
    { index: 0, name: 'RTX 4090', memoryBytes: 24e9, usedMemoryBytes: 1e9, driver: '550.1', celsius: 40 },
  ],
};

async function open() {
  const { url, dataDir } = await openWithConsole({ workers: 0 });
  const key = addKey(dataDir, 'worker');
  const worker = new PullingWorker(url, key, 'attic-gpu0-1');
  const next = new PullingWorker(url, key, 'attic-gpu0-2');
  const visit = await enter(url);
  const view = async () => (await visit.endpoint(endpointId))?.workers[0];
  return { url, worker, next, visit, view };
}

it('the service shows the machine of a worker, its programs and its work', async () => {
  const { url, worker, visit, view } = await open();
  expect(await visit.keys()).toMatchObject([{ kind: 'worker', done: { jobs: 0, ms: 0 }, usage: [] }]);
  expect(await worker.report({ machine, workload: 'painter', log: ['ready'] })).toEqual({
    drain: false,
    jobs: [],
    runs: 'scene',
  });
  expect(await view()).toMatchObject({ machine, workload: 'painter', log: ['ready'], jobsDone: 0 });
  const id = await submit(url, { scene: 'x' });
  expect(await worker.taken()).toBe(id);
  await worker.done(id, '{"output":1}');
  expect(await view()).toMatchObject({ jobsDone: 1, state: 'idle', isDraining: false });
  const busyMs = (await view())?.busyMs;
  expect(busyMs).toBeGreaterThan(0);
  expect(await visit.keys()).toMatchObject([{ done: { jobs: 1, ms: busyMs } }]);
});

it('the service keeps the lines that a worker wrote for a job in the log of the job', async () => {
  const { url, worker, visit } = await open();
  await worker.report({ log: ['before'] });
  const id = await submit(url, { scene: 'x' });
  await worker.taken();
  await worker.report({ log: ['step 1', 'step 2'] });
  expect((await visit.get<{ log: string[] }>(`jobs/${id}`)).log).toEqual(['step 1', 'step 2']);
  await worker.done(id, '{"output":1}');
  await statusOnce(url, id, 'COMPLETED');
  expect((await visit.get<{ log: string[] }>(`jobs/${id}`)).log).toEqual(['step 1', 'step 2']);
});

it('the service gives a worker that is drained no more jobs, and says so to it', async () => {
  const { url, worker, visit, view } = await open();
  await worker.report({ machine });
  const first = await submit(url, { scene: 'x' });
  await worker.taken();
  expect((await visit.ask('POST', `endpoints/${endpointId}/workers/${worker.id}/drain`)).status).toBe(204);
  expect((await visit.ask('POST', `endpoints/${endpointId}/workers/none/drain`)).status).toBe(404);
  expect(await worker.report({ state: 'working' })).toEqual({ drain: true, jobs: [first], runs: 'scene' });
  expect((await view())?.isDraining).toBe(true);
  const second = await submit(url, { scene: 'y' });
  const left = new AbortController();
  const waiting = worker.take(left.signal).catch(() => 'left');
  await worker.done(first, '{"output":1}');
  await statusOnce(url, first, 'COMPLETED');
  expect((await askStatus(url, second)).json).toMatchObject({ status: 'IN_QUEUE' });
  left.abort();
  expect(await waiting).toBe('left');
});

it('the service requeues the job of a leaving worker at once, and counts no death', async () => {
  const { url, worker, view } = await open();
  const id = await submit(url, { scene: 'x' });
  await worker.taken();
  await worker.report({ state: 'leaving' });
  expect((await askStatus(url, id)).json).toMatchObject({ status: 'IN_QUEUE' });
  expect(await view()).toBeUndefined();
  expect(await worker.taken()).toBe(id);
  expect((await askStatus(url, id)).json).not.toHaveProperty('retries');
});

it('the service gives no job to a request that a worker has left behind', async () => {
  const { url, worker, next, view } = await open();
  const left = new AbortController();
  const behind = worker.take(left.signal).catch(() => 'left');
  await expect.poll(async () => (await view())?.state).toBe('idle');
  await worker.report({ state: 'leaving' });
  const id = await submit(url, { scene: 'x' });
  expect((await askStatus(url, id)).json).toMatchObject({ status: 'IN_QUEUE' });
  expect(await view()).toBeUndefined();
  expect(await next.taken()).toBe(id);
  left.abort();
  expect(await behind).toBe('left');
});

it('the service puts the job back if the workload has died, and counts that', async () => {
  const { url, worker } = await open();
  const id = await submit(url, { scene: 'x' });
  await worker.taken();
  expect(await worker.report({ died: 'exit code 137', log: ['out of memory'] })).toMatchObject({ jobs: [] });
  expect((await askStatus(url, id)).json).toMatchObject({ status: 'IN_QUEUE', retries: 1 });
});

it('the service rejects an invalid report', async () => {
  const { worker } = await open();
  expect(await worker.report({ state: 'asleep' })).toMatchObject({ error: expect.stringContaining('state') });
  expect(await worker.report({ machine: { host: 'x' } })).toMatchObject({
    error: expect.stringContaining('machine.cores'),
  });
  expect(await worker.report({ state: undefined })).toMatchObject({
    error: expect.stringContaining('state'),
  });
});
