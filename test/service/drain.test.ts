/**
 * Promise: a service that is stopped lets running jobs end, begins no others, and answers all clients that
 * wait.
 */
import { expect, it, vi } from 'vitest';
import { PullingWorker, addKey } from './pull-harness.ts';
import {
  ask,
  askStatus,
  endpointId,
  makeDataDir,
  openService,
  statusOnce,
  submit,
} from './service-harness.ts';

const graceMs = 600_000;
const syncPath = (id: string): string => `/v2/${endpointId}/status-sync/${id}`;

it('while a service drains, a running job ends and keeps its result, a waiting job is not begun, and the service answers', async () => {
  const dataDir = await makeDataDir();
  const first = await openService({ dataDir, graceMs, workers: 2 });
  const [one, other] = [
    await submit(first.url, { scene: 'one' }),
    await submit(first.url, { scene: 'other' }),
  ];
  const runs = [await first.held.next(), await first.held.next()];
  const waiting = await submit(first.url, { scene: 'waiting' });
  const [heldOne, heldWaiting] = [ask(first.url, syncPath(one)), ask(first.url, syncPath(waiting))];

  const closed = first.close();
  await vi.waitFor(() => expect(first.troubles).toHaveLength(1));
  expect(first.troubles[0]).toBe(
    'waiting up to 10m (shutdown.grace) for 2 jobs to end; a second signal ends the service at once',
  );
  runs[0]?.complete('the one');
  expect((await heldOne).json).toMatchObject({ status: 'COMPLETED', output: 'the one' });
  const late = await submit(first.url, { scene: 'late' });
  runs[1]?.complete('the other');
  expect((await heldWaiting).json).toEqual({ id: waiting, status: 'IN_QUEUE' });
  await closed;
  expect(first.held.runs).toHaveLength(2);

  const second = await openService({ dataDir });
  for (const id of [one, other])
    expect((await askStatus(second.url, id)).json).toMatchObject({ status: 'COMPLETED' });
  for (const id of [waiting, late]) {
    const run = await second.held.next();
    expect(run.job.id).toBe(id);
    run.complete('done');
    expect(await statusOnce(second.url, id, 'COMPLETED')).not.toHaveProperty('retries');
  }
});

it('a job that runs longer than its grace goes back to the queue, and costs no attempt', async () => {
  const dataDir = await makeDataDir();
  const first = await openService({ dataDir, graceMs: 1 });
  const id = await submit(first.url, { scene: 'long' });
  const run = await first.held.next();
  const held = ask(first.url, syncPath(id));
  await askStatus(first.url, id);
  await first.close();
  expect([run.signal.aborted, (await held).json]).toEqual([true, { id, status: 'IN_QUEUE' }]);
  const second = await openService({ dataDir });
  expect((await second.held.next()).job.id).toBe(id);
});

it('without a grace the service ends without waiting for jobs, and still answers waiting clients', async () => {
  const service = await openService();
  const id = await submit(service.url, { scene: 'long' });
  await service.held.next();
  const held = ask(service.url, syncPath(id));
  await askStatus(service.url, id);
  await service.close();
  expect((await held).json).toMatchObject({ id, status: 'IN_QUEUE' });
  expect(service.troubles).toEqual([]);
});

it('a worker on another machine keeps its job while the service restarts, and its poll is answered', async () => {
  const dataDir = await makeDataDir();
  const options = { dataDir, graceMs, workers: 0 };
  const first = await openService(options);
  const key = addKey(dataDir, 'worker');
  const id = await submit(first.url, { scene: 'elsewhere' });
  expect(await new PullingWorker(first.url, key, 'w1').taken()).toBe(id);
  const poll = new PullingWorker(first.url, key, 'w2').take();
  await vi.waitFor(async () => {
    const health = (await ask(first.url, `/v2/${endpointId}/health`)).json as { workers: { idle: number } };
    expect(health.workers.idle).toBe(1);
  });
  await first.close();
  expect((await poll).status).toBe(204);

  const second = await openService(options);
  const worker = new PullingWorker(second.url, key, 'w1');
  const path = `/job-done/w1/${id}?gpu=TEST`;
  expect((await worker.ask(path, { method: 'POST', body: '{"output":1}' })).status).toBe(200);
  expect((await askStatus(second.url, id)).json).toMatchObject({ status: 'COMPLETED', output: 1 });
});
