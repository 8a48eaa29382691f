/**
 * Promise: jobs of workers that the service starts and that pull jobs, such as containers, are not lost when
 * a worker ends.
 */
import { join } from 'node:path';
import { Sqlite } from '../../../src/lib/sqlite/database.ts';
import { expect, it } from 'vitest';
import { endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import type { PullWorkload } from '../../../src/service/workloads/workload-definition.ts';
import { addKey, PullingWorker } from '../pull-harness.ts';
import { cancelPath, healthPath } from '../../../src/protocol/paths.ts';
import {
  ask,
  askStatus,
  endpointId,
  makeDataDir,
  openService,
  post,
  statusOnce,
  submit,
} from '../service-harness.ts';

interface Started {
  id: string;
  say: (line: string) => void;
  isStopped: boolean;
  /** The worker ends after it was stopped only once this resolves. */
  goes: Promise<void>;
  end: (why: string) => void;
}

/** Creates workers that do nothing by themselves. The test sends requests with their ids. */
function pullers() {
  const started: Started[] = [];
  const workload: PullWorkload = {
    name: 'pullers',
    startPullWorker: ({ workerId, log }) => {
      let end: (why: string) => void = () => undefined;
      const ended = new Promise<string>((resolve) => {
        end = resolve;
      });
      const one: Started = { id: workerId, say: log, isStopped: false, goes: Promise.resolve(), end };
      started.push(one);
      const stop = async (): Promise<void> => {
        one.isStopped = true;
        await one.goes;
      };
      return Promise.resolve({ ended, stop });
    },
  };
  return { started, workload };
}

async function openWith(dataDir: string) {
  const { started, workload } = pullers();
  let key = '';
  const service = await openService({
    dataDir,
    endpoints: [endpointSettings({ id: endpointId, workers: 1, quickStart: true })],
    workloadOf: (_settings, context) => {
      key = context.workerKey;
      return workload;
    },
  });
  const next = async (index: number): Promise<Started> => {
    for (;;) {
      const one = started[index];
      if (one !== undefined) return one;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { ...service, next, key, started };
}

it('the pool gives the job of a worker that ends to the next worker, and counts a retry', async () => {
  const dataDir = await makeDataDir();
  const { url, next, key } = await openWith(dataDir);
  const first = await next(0);
  const id = await submit(url, { scene: 'x' });
  expect(await new PullingWorker(url, key, first.id).taken()).toBe(id);
  first.end('it exited with 137');
  const second = await next(1);
  expect(await new PullingWorker(url, key, second.id).taken()).toBe(id);
  expect((await askStatus(url, id)).json).toMatchObject({ status: 'IN_PROGRESS', retries: 1 });
});

it('the pool keeps the log of a job with the job, also if the job is cancelled or the worker dies', async () => {
  const dataDir = await makeDataDir();
  const { url, next, key } = await openWith(dataDir);
  const first = await next(0);
  const pulling = new PullingWorker(url, key, first.id);
  const done = await submit(url, { scene: 'x' });
  first.say('loading the model');
  await pulling.taken();
  first.say('at the first');
  await pulling.done(done, '{"output":1}');
  const cancelled = await submit(url, { scene: 'z' });
  await pulling.taken();
  first.say('half way');
  await post(url, '', cancelPath('v2', endpointId, cancelled));
  await statusOnce(url, cancelled, 'CANCELLED');
  const died = await submit(url, { scene: 'y' });
  await pulling.taken();
  first.say('at the second');
  first.end('it exited with 137');
  await statusOnce(url, died, 'IN_QUEUE');
  const store = new Sqlite(join(dataDir, 'service.sqlite'), { readonly: true });
  const logs = store.prepare('SELECT log FROM job ORDER BY number').pluck().all();
  store.close();
  expect(logs).toEqual(['at the first', 'half way', 'at the second\nit exited with 137']);
});

it('the pool starts another worker if a worker asks to be restarted with its result', async () => {
  const dataDir = await makeDataDir();
  const { url, next, key } = await openWith(dataDir);
  const first = await next(0);
  const stranger = new PullingWorker(url, addKey(dataDir, 'worker'), first.id);
  const worker = new PullingWorker(url, key, first.id);
  const id = await submit(url, { scene: 'x' });
  await worker.take();
  expect((await stranger.done(id, '{"output":2,"stopPod":true}')).text).toBe('{"accepted":false}');
  expect(first.isStopped).toBe(false);
  await worker.done(id, '{"output":1,"stopPod":true}');
  const second = await next(1);
  expect([first.isStopped, second.isStopped]).toEqual([true, false]);
  expect((await askStatus(url, id)).json).toMatchObject({ status: 'COMPLETED', output: 1 });
});

it('the pool counts a worker that is being replaced once, and starts its successor when it has gone', async () => {
  const dataDir = await makeDataDir();
  const { url, next, key, started } = await openWith(dataDir);
  const workers = async (): Promise<unknown> =>
    ((await ask(url, healthPath('v2', endpointId))).json as { workers: unknown }).workers;
  const first = await next(0);
  let go: () => void = () => undefined;
  first.goes = new Promise((resolve) => {
    go = resolve;
  });
  const worker = new PullingWorker(url, key, first.id);
  const id = await submit(url, { scene: 'x' });
  await worker.take();
  await worker.done(id, '{"output":1,"stopPod":true}');
  expect(first.isStopped).toBe(true);
  const one = { idle: 0, initializing: 1, ready: 0, running: 0, throttled: 0, unhealthy: 0 };
  expect([await workers(), started.length]).toEqual([one, 1]);
  // A worker that is stopping gets no job.
  const gone = new AbortController();
  const late = worker.take(gone.signal).then(
    ({ text }) => text,
    () => 'nothing',
  );
  const other = await submit(url, { scene: 'y' });
  expect([await workers(), started.length]).toEqual([one, 1]);
  gone.abort();
  expect(await late).toBe('nothing');
  go();
  const second = await next(1);
  expect(await workers()).toEqual(one);
  expect(await new PullingWorker(url, key, second.id).taken()).toBe(other);
  expect(await workers()).toEqual({ ...one, initializing: 0, running: 1 });
});

it('the pool requeues the jobs of workers that it stops at once, without counting an attempt', async () => {
  const dataDir = await makeDataDir();
  const first = await openWith(dataDir);
  const { id: workerId } = await first.next(0);
  const id = await submit(first.url, { scene: 'x' });
  await new PullingWorker(first.url, first.key, workerId).take();
  await first.close();
  const second = await openService({ dataDir, workers: 0 });
  expect(await statusOnce(second.url, id, 'IN_QUEUE')).toEqual({ id, status: 'IN_QUEUE' });
});
