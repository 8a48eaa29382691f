/**
 * Promise: an endpoint runs as many jobs at once as it has workers, in the order of the queue, and a failing
 * workload does not affect the service.
 */
import { expect, it, onTestFinished } from 'vitest';
import { endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import { JobResults } from '../../../src/service/jobs/job-work.ts';
import { RemoteWorkers } from '../../../src/service/workers/remote-workers.ts';
import { WorkerPool } from '../../../src/service/workers/worker-pool.ts';
import {
  type RunReport,
  type Worker,
  WorkerAway,
  WorkerDied,
  type WorkloadJob,
} from '../../../src/service/workloads/workload-definition.ts';
import { firstTier, runs } from '../../fakes/tier.ts';
import { inProcessWorkload, type ReadJob } from '../in-process-workload.ts';
import {
  openStore,
  accepted,
  askStatus,
  endpointId,
  instantWorkload,
  openService,
  statusOnce,
  submit,
} from '../service-harness.ts';

it('the service runs as many jobs at once as the endpoint has workers, first come first served', async () => {
  const { url, held } = await openService({ workers: 2 });
  const ids = [];
  for (let count = 0; count < 5; count++) ids.push(await submit(url, { count }));
  const [first, second] = [await held.next(), await held.next()];
  expect([first.job.id, second.job.id]).toEqual(ids.slice(0, 2));
  expect((await askStatus(url, ids[2] ?? '')).json).toEqual({ id: ids[2], status: 'IN_QUEUE' });

  second.complete('done');
  expect((await held.next()).job.id).toBe(ids[2]);
  first.complete('done');
  expect((await held.next()).job.id).toBe(ids[3]);
  expect((await askStatus(url, ids[4] ?? '')).json).toEqual({ id: ids[4], status: 'IN_QUEUE' });
  expect(held.runs.length).toBe(4);
});

firstTier.it('the service keeps the queues of its endpoints apart', async () => {
  const seen: string[] = [];
  const endpoints = ['one', 'two', 'idle'].map((id) =>
    endpointSettings({ id, workers: id === 'idle' ? 0 : 1 }),
  );
  const workloadOf = ({ id }: { id: string }) => instantWorkload((job) => seen.push(`${id} ${job.id}`));
  const { url } = await openService({ endpoints, workloadOf });
  const ids = await Promise.all(['idle', 'one', 'two'].map((id) => submit(url, { scene: 'x' }, 'v2', id)));
  while (seen.length < 2) await askStatus(url, ids[0] ?? '');
  expect(seen.toSorted()).toEqual([`one ${ids[1]}`, `two ${ids[2]}`]);
});

it('the service works off a burst with many workers, every job once', async () => {
  const seen: string[] = [];
  const { url } = await openService({ workers: 8, workload: instantWorkload(({ id }) => seen.push(id)) });
  const ids = await Promise.all(
    Array.from({ length: runs(300, { ms: 3 }) }, (_, count) => submit(url, { count })),
  );
  for (const id of ids) await statusOnce(url, id, 'COMPLETED');
  expect(seen.toSorted()).toEqual(ids.toSorted());
});

firstTier.it(
  'the service replaces a worker that is ended to cancel its job at once and without a message, however many in a row',
  async () => {
    const store = await openStore();
    const results = new JobResults(store);
    const endpoint = endpointSettings({ id: 'one' });
    const begun: string[] = [];
    const workload = { name: 'single-minded', startWorker: () => Promise.resolve(singleMinded(begun)) };
    const troubles: string[] = [];
    const onProblem = (text: string) => void troubles.push(text);
    const none = { logOf: () => [], onTakenAway: () => undefined, onStalled: () => undefined };
    const remote = new RemoteWorkers({ store, endpointId: 'one', stallMs: null, ...none, onProblem });
    onTestFinished(() => remote.stop());
    const pool = new WorkerPool({ store, remote, endpoint, onProblem }, results, workload);
    for (let count = 1; count <= 8; count++) {
      const id = await accepted(store, 'one', '{"scene":"x"}');
      while (begun.length < count) await new Promise((next) => setImmediate(next));
      await store.cancel('one', id);
    }
    expect(new Set(begun).size).toBe(8);
    expect([troubles, pool.problem]).toEqual([[], null]);
    await pool.stop();
  },
);

firstTier.it(
  'the service keeps the long result of a worker that ends while it returns it, and counts no death for the job',
  async () => {
    const output = 'x'.repeat(3_000_000);
    const { url } = await openService({
      endpoints: [endpointSettings({ id: endpointId, retries: 0 })],
      workload: { name: 'once', startWorker: () => Promise.resolve(endsWith(output)) },
    });
    for (let count = 0; count < 3; count++) {
      const job = await statusOnce(url, await submit(url, { count }), 'COMPLETED');
      expect(job.output === output).toBe(true);
      expect(job).not.toHaveProperty('retries');
    }
  },
);

firstTier.it('the service counts no attempt of a job whose worker ended before the job began', async () => {
  let gone = 0;
  const { url } = await openService({
    endpoints: [endpointSettings({ id: endpointId, retries: 0 })],
    workload: {
      name: 'away',
      startWorker: () => Promise.resolve(gone++ === 0 ? awayWorker() : endsWith('done')),
    },
  });
  const job = await statusOnce(url, await submit(url, { scene: 'x' }), 'COMPLETED');
  expect(job).toMatchObject({ output: 'done' });
  expect(job).not.toHaveProperty('retries');
});

function awayWorker(): Worker {
  let end: (why: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => (end = resolve));
  const run = (): Promise<unknown> => {
    end('it is away');
    return Promise.reject(new WorkerAway('it is away'));
  };
  return { ended, run, stop: () => Promise.resolve() };
}

function endsWith(output: string): Worker {
  let end: (why: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  const run = (): Promise<unknown> => {
    setImmediate(() => end('it has done its job'));
    return Promise.resolve(output);
  };
  return { ended, run, stop: () => Promise.resolve() };
}

/** Creates a worker that can stop a job only by ending. */
function singleMinded(begun: string[]): Worker {
  let end: (why: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  const run = async ({ id }: WorkloadJob, { signal }: RunReport): Promise<unknown> => {
    begun.push(id);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    end('its job was called off');
    throw new WorkerDied('its job was called off');
  };
  return { ended, run, stop: () => Promise.resolve() };
}

firstTier.describe('a workload that does not do its work', () => {
  const cases: [string, (input: unknown) => unknown, string | RegExp][] = [
    ['throws an error', () => raise(new RangeError('too wide')), 'too wide'],
    ['throws an error without a message', () => raise(new TypeError()), 'TypeError'],
    ['throws a text', () => raise('no'), 'no'],
    ['throws an object without a prototype', () => raise(Object.create(null)), /.+/],
    ['throws nothing', () => raise(undefined), 'undefined'],
    ['returns nothing', () => undefined, 'the worker ended without an output'],
    ['returns null', () => null, 'the worker ended without an output'],
    ['returns a function', () => () => 1, 'the output of the worker cannot be written as JSON'],
    ['returns a BigInt', () => [1n], /BigInt/],
  ];

  it.each(cases)('fails the job: %s', async (_what, outputOf, error) => {
    const { url, troubles } = await openService({ workload: instantWorkload(outputOf) });
    const id = await submit(url, { scene: 'x' });
    const job = await statusOnce(url, id, 'FAILED');
    expect(job.error).toMatch(error);
    expect(troubles).toEqual([]);
  });

  it('fails the job if it throws before there is a promise, and the worker continues', async () => {
    const { url } = await openService({ workload: inProcessWorkload('rash', runRashly) });
    const bad = await submit(url, { bad: true });
    const good = await submit(url, { bad: false });
    expect((await statusOnce(url, bad, 'FAILED')).error).toBe('at once');
    expect((await statusOnce(url, good, 'COMPLETED')).output).toBe('fine');
  });
});

function runRashly({ input }: ReadJob): Promise<unknown> {
  return input['bad'] === true ? raise(new Error('at once')) : Promise.resolve('fine');
}

function raise(reason: unknown): never {
  throw reason;
}

firstTier.describe('close', () => {
  it('tells running workloads to stop, and hears them no more', async () => {
    const { url, held, close, dataDir } = await openService({ workers: 2 });
    const ids = [await submit(url, { scene: 'one' }), await submit(url, { scene: 'two' })];
    const begun = [await held.next(), await held.next()];
    expect(begun.map(({ signal }) => signal.aborted)).toEqual([false, false]);

    await close();
    expect(begun.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    begun[0]?.complete('too late');
    begun[1]?.fail(new Error('stopped'));
    await expect(askStatus(url, ids[0] ?? '')).rejects.toThrow('fetch failed');

    const next = await openService({ dataDir, workers: 2 });
    expect([(await next.held.next()).job.id, (await next.held.next()).job.id]).toEqual(ids);
  });
});
