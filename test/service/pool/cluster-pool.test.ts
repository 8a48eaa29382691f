/** Promise: a cluster that refuses workers, or whose workers end at once, is asked ever more slowly and told of once; what it may have taken is not asked for again. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { neverRecycled } from '../../../src/service/endpoint-settings.ts';
import { ClusterPool } from '../../../src/service/pool/cluster-pool.ts';
import type { ClusterTask, ClusterWorkload } from '../../../src/service/pool/cluster-workload.ts';
import { RemoteWorkers } from '../../../src/service/pool/remote-workers.ts';
import { accepted, endpointId, openStore } from '../service-harness.ts';

/** A cluster in memory, and one job that waits; `startedAt` in minutes. */
async function open(take: (cluster: ClusterTask[], mark: string) => void, intent?: string) {
  const store = await openStore();
  await accepted(store, endpointId, '{}');
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'],
  });
  const remote = new RemoteWorkers({
    store,
    endpointId,
    stallMs: null,
    logOf: () => [],
    onTakenAway: () => undefined,
    onStalled: () => undefined,
    onProblem: () => undefined,
  });
  const begunAt = performance.now();
  const startedAt: number[] = [];
  const tasks: ClusterTask[] = [];
  const cluster: ClusterWorkload = {
    name: 'Slurm',
    tasks: async () => [...tasks],
    startWorkers: async (_places, mark) => {
      startedAt.push(Math.round((performance.now() - begunAt) / 60_000));
      take(tasks, mark);
    },
    cancelWaiting: async () => undefined,
  };
  const { db } = store.file;
  if (intent !== undefined) db.prepare('INSERT INTO clusterIntent VALUES (?, ?)').run(endpointId, intent);
  const problems: string[] = [];
  const endpoint = { id: endpointId, workers: 4, minWorkers: 0, idleMs: 60_000, quickStart: false };
  const pool = new ClusterPool({
    store,
    cluster,
    remote,
    endpoint: { ...endpoint, recycle: neverRecycled, stallMs: null },
    onProblem: (text) => problems.push(text),
  });
  onTestFinished(async () => {
    await pool.stop();
    remote.stop();
    vi.useRealTimers();
  });
  const pass = (minutes: number) => vi.advanceTimersByTimeAsync(minutes * 60_000);
  const hasIntent = (): boolean => db.prepare('SELECT 1 FROM clusterIntent').get() !== undefined;
  return { startedAt, tasks, problems, pool, pass, hasIntent };
}

const slower = [0, 1, 3, 7, 15, 30, 45, 60];

it('refused, it tries after 1, 2, 4, 8 and then every 15 minutes, and says so once', async () => {
  const { startedAt, problems, pool, pass } = await open(() => {
    throw new Error('no such partition');
  });
  await pass(65);
  expect(startedAt).toEqual(slower);
  expect(problems).toEqual([
    expect.stringMatching(/^endpoint scene-renderer: Slurm refuses workers: no such partition\. It is tried/),
  ]);
  expect(pool.problem).toContain('no such partition');
});

it('workers that end before they have come are started anew as slowly', async () => {
  const { startedAt, tasks, problems, pass } = await open((all, mark) => {
    all.push({ id: `${all.length}_0`, place: 0, mark, state: 'running' });
    setTimeout(() => all.splice(0), 15_000);
  });
  await pass(65);
  expect(startedAt).toEqual([0, 1, 4, 8, 16, 32, 47, 62]);
  expect([tasks, problems]).toEqual([[], [expect.stringContaining('ended before its worker came')]]);
});

it('whether it was taken is not known: it is not asked for again before that can be told', async () => {
  const { startedAt, problems, pass, hasIntent } = await open(() => {
    throw Object.assign(new Error('timed out'), { isUncertain: true });
  });
  await pass(2.5);
  expect([startedAt, hasIntent()]).toEqual([[0], true]);
  await pass(1);
  expect(startedAt).toEqual([0, 3]);
  expect(problems).toEqual([
    expect.stringContaining('Slurm does not say whether it takes workers: timed out'),
  ]);
});

it('the service was killed while it asked: what comes of that is waited for, and counts', async () => {
  const { startedAt, tasks, pass, hasIntent, pool } = await open(() => undefined, 'mark');
  await pass(1);
  expect([startedAt, hasIntent()]).toEqual([[], true]);
  tasks.push({ id: '7_0', place: 0, mark: 'mark', state: 'waiting' });
  await pass(1);
  expect([startedAt, hasIntent()]).toEqual([[], false]);
  expect(pool.views([]).map(({ id, state }) => [id, state])).toEqual([['slurm7_0', 'initializing']]);
});
