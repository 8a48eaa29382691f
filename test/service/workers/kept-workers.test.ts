/** Promise: the wanted number of idle workers is kept, however long the others take to end. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import { JobResults } from '../../../src/service/jobs/job-work.ts';
import type { JobStore } from '../../../src/service/jobs/job-store.ts';
import { OwnWorkerKeys } from '../../../src/service/model/key.ts';
import { RemoteWorkers } from '../../../src/service/workers/remote-workers.ts';
import { WorkerPool } from '../../../src/service/workers/worker-pool.ts';
import { pullingWorker } from '../../../src/service/model/job.ts';
import { accepted, endpointId, openStore } from '../service-harness.ts';

const idleMs = 60_000;
const endpoint = endpointSettings({ id: endpointId, workers: { min: 1, max: 2, idle: idleMs } });

/** Creates workers that end only when the test calls `letGo`, and a store with two jobs for them. */
async function open() {
  const store = await openStore();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const jobs = [await accepted(store, endpointId, '{"a":1}'), await accepted(store, endpointId, '{"a":2}')];
  const started: string[] = [];
  const stopped: string[] = [];
  let letGo: () => void = () => undefined;
  const goes = new Promise<void>((resolve) => (letGo = resolve));
  const start = (workerId: string) => {
    started.push(workerId);
    const stop = async (): Promise<void> => {
      stopped.push(workerId);
      await goes;
    };
    return { ended: new Promise<string>(() => undefined), stop };
  };
  const untilStarted = () => expect.poll(() => started.length).toBe(2);
  return { store, jobs, started, stopped, start, letGo, untilStarted };
}

const onProblem = (): void => undefined;

function remoteOf(store: JobStore): RemoteWorkers {
  const none = { logOf: () => [], onTakenAway: onProblem, onStalled: onProblem, onProblem };
  return new RemoteWorkers({ store, endpointId, stallMs: null, silenceMs: 100 * idleMs, ...none });
}

it('the wanted number of workers is kept if they are handed jobs', async () => {
  const { store, jobs, stopped, start, letGo, untilStarted } = await open();
  const workload = {
    name: 'slow to end',
    startWorker: async ({ workerId }: { workerId: string }) => ({ ...start(workerId), run: async () => 1 }),
  };
  const results = new JobResults(store);
  const remote = remoteOf(store);
  const pool = new WorkerPool({ store, remote, endpoint, onProblem }, results, workload);
  await untilStarted();
  for (const id of jobs) await expect.poll(() => store.reads.find(endpointId, id)?.state).toBe('COMPLETED');
  await expect.poll(() => pool.views(remote.views).map(({ state }) => state)).toEqual(['idle', 'idle']);
  vi.advanceTimersByTime(10 * idleMs);
  expect(stopped).toHaveLength(1);
  letGo();
  await pool.stop();
  remote.stop();
});

it('the wanted number of workers is kept, idle time begins with the end of a job, and the worker that was free last gets the next job', async () => {
  const { store, jobs, started, stopped, start, letGo, untilStarted } = await open();
  const running: ((output: number) => void)[] = [];
  const given: string[] = [];
  const run = (workerId: string) => (): Promise<number> => {
    given.push(workerId);
    return new Promise((resolve) => void running.push(resolve));
  };
  const workload = {
    name: 'slow',
    startWorker: async ({ workerId }: { workerId: string }) => ({ ...start(workerId), run: run(workerId) }),
  };
  const results = new JobResults(store);
  const remote = remoteOf(store);
  const pool = new WorkerPool({ store, remote, endpoint, onProblem }, results, workload);
  await untilStarted();
  await expect.poll(() => running.length).toBe(2);
  const stateOf = (id: string) => store.reads.find(endpointId, id)?.state;
  vi.advanceTimersByTime(5 * idleMs);
  for (const [i, id] of jobs.entries()) {
    running[i]?.(1);
    await expect.poll(() => stateOf(id)).toBe('COMPLETED');
    await expect
      .poll(() => pool.views(remote.views).filter(({ state }) => state === 'idle').length)
      .toBe(i + 1);
  }
  vi.advanceTimersByTime(idleMs / 2);
  expect(stopped).toEqual([]);
  const last = given.at(-1);
  for (let count = 0; count < 4; count++) {
    const next = await accepted(store, endpointId, `{"b":${count}}`);
    await expect.poll(() => running.length).toBe(3 + count);
    expect(given.at(-1)).toBe(last);
    running.at(-1)?.(1);
    await expect.poll(() => stateOf(next)).toBe('COMPLETED');
    await expect.poll(() => pool.views(remote.views).find(({ id }) => id === last)?.state).toBe('idle');
    vi.advanceTimersByTime(idleMs / 4);
  }
  expect(stopped).toEqual(started.filter((id) => id !== last));
  letGo();
  await pool.stop();
  remote.stop();
});

it('the wanted number of workers is kept if they request jobs, and a worker that is stopping gets none', async () => {
  const { store, started, stopped, start, letGo, untilStarted } = await open();
  const results = new JobResults(store);
  const remote = remoteOf(store);
  const workload = {
    name: 'slow to end',
    startPullWorker: async ({ workerId }: { workerId: string }) => start(workerId),
  };
  const pool = new WorkerPool({ store, remote, endpoint, onProblem }, results, workload);
  await untilStarted();
  const ids = started.map((workerId) => pullingWorker(workerId, OwnWorkerKeys.holderName));
  await store.bulk.cancelAll(endpointId);
  for (const id of ids) remote.noteContact(id, null, true);
  await expect
    .poll(() => pool.views(remote.views).map(({ state }) => state))
    .toEqual(['initializing', 'initializing']);
  vi.advanceTimersByTime(2 * idleMs);
  // A worker whose job shows no progress is ended too.
  pool.restart(ids[0] ?? '');
  await new Promise((resolve) => setImmediate(resolve));
  expect(stopped).toEqual([started[0]]);
  expect(remote.views.map(({ id, isDraining }) => [id, isDraining])).toEqual([
    [ids[0], true],
    [ids[1], false],
  ]);
  letGo();
  await pool.stop();
  remote.stop();
});
