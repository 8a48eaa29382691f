/** Promise: a worker that ends repeatedly is restarted at growing intervals, and the operator is told. */
import { expect, it, onTestFinished } from 'vitest';
import { endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import { JobResults } from '../../../src/service/jobs/job-work.ts';
import { JobsAtHand, WorkerPool } from '../../../src/service/workers/worker-pool.ts';
import { PullingWorker, Supervised } from '../../../src/service/workers/supervised.ts';
import { RemoteWorkers } from '../../../src/service/workers/remote-workers.ts';
import type { Worker } from '../../../src/service/workloads/workload-definition.ts';
import { accepted, openStore } from '../service-harness.ts';

it('a worker is excused for an end that was requested, and not for the one after that', async () => {
  const ends: ((why: string) => void)[] = [];
  const problems: string[] = [];
  const supervised = new Supervised({
    now: Date.now,
    start: async () => ({
      ended: new Promise((resolve) => void ends.push(resolve)),
      stop: async () => undefined,
    }),
    onChange: () => undefined,
    onProblem: (text) => void problems.push(text),
  });
  onTestFinished(() => supervised.stop());
  await supervised.start();
  // The job was cancelled, and only the end of the worker can stop it.
  supervised.isExcused = true;
  ends.at(-1)?.('exited');
  await expect.poll(() => supervised.state).toBe('stopped');
  expect(problems).toEqual([]);
  await supervised.start();
  ends.at(-1)?.('exited: no memory on the GPU');
  await expect.poll(() => problems).toEqual(['a worker ended: exited: no memory on the GPU']);
});

it('the service does not count a job without an output as a success of its worker', async () => {
  const store = await openStore();
  const onProblem = (): void => undefined;
  const none = { logOf: () => [], onTakenAway: () => undefined, onStalled: () => undefined };
  const remote = new RemoteWorkers({ store, endpointId: 'one', stallMs: null, ...none, onProblem });
  const pooled = { store, remote, endpoint: { id: 'one' }, onProblem };
  const listeners = { onGiven: () => undefined, onDone: () => undefined };
  const jobs = new JobsAtHand(pooled, new JobResults(store), listeners);
  const pauses: number[] = [];
  const supervised: Supervised = new Supervised({
    now: Date.now,
    start: async () => new PullingWorker(fruitless(), jobs.sourceFor(supervised)),
    onChange: () => void setImmediate(() => void supervised.start()),
    onProblem: (_, pauseMs) => void pauses.push(pauseMs),
  });
  onTestFinished(async () => {
    await Promise.all([supervised.stop(), jobs.stop()]);
    remote.stop();
  });
  const ids = [await accepted(store, 'one', '{}'), await accepted(store, 'one', '{}')];
  await supervised.start();
  await expect.poll(() => pauses).toEqual([0, 2_000]);
  for (const id of ids)
    expect(store.reads.find('one', id)).toMatchObject({
      state: 'FAILED',
      error: 'the worker ended without an output',
    });
});

it('the service says once that workers end in the same way, however many jobs they do before', async () => {
  const store = await openStore();
  const problems: string[] = [];
  const onProblem = (text: string): void => void problems.push(text);
  const none = { logOf: () => [], onTakenAway: () => undefined, onStalled: () => undefined };
  const remote = new RemoteWorkers({ store, endpointId: 'one', stallMs: null, ...none, onProblem });
  let starts = 0;
  const startWorker = async (): Promise<Worker> => {
    starts += 1;
    return fruitless(1);
  };
  const endpoint = endpointSettings({ id: 'one', workers: 1, quickStart: true });
  const pooled = { store, remote, endpoint, onProblem };
  const pool = new WorkerPool(pooled, new JobResults(store), { name: 'short-lived', startWorker });
  onTestFinished(async () => {
    await pool.stop();
    remote.stop();
  });
  for (let job = 1; job <= 3; job++) {
    const id = await accepted(store, 'one', '{}');
    await expect.poll(() => store.reads.find('one', id)?.state).toBe('COMPLETED');
    await expect.poll(() => starts).toBe(job + 1);
  }
  expect(problems).toEqual(['endpoint one: a worker ended: exited']);
});

/** Creates a worker that ends during its first job, which returns this output. */
function fruitless(output: unknown = null): Worker {
  let end: (why: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => (end = resolve));
  const run = (): Promise<unknown> => {
    setImmediate(() => end('exited'));
    return Promise.resolve(output);
  };
  return { ended, run, stop: () => Promise.resolve() };
}
