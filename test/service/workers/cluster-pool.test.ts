/**
 * Promise: a cluster runs the workers that the queue needs. If it refuses them or they end at once, it is
 * asked ever more slowly, with one message. A submission that it may have accepted is not repeated.
 */
import { expect, it, onTestFinished, vi } from 'vitest';
import { ClusterPool } from '../../../src/service/workers/cluster-pool.ts';
import type { ClusterTask, ClusterWorkload } from '../../../src/service/workloads/workload-of.ts';
import { JobResults } from '../../../src/service/jobs/job-work.ts';
import { RemoteWorkers } from '../../../src/service/workers/remote-workers.ts';
import { pullingWorker } from '../../../src/service/model/job.ts';
import { accepted, endpointId, openStore } from '../service-harness.ts';

interface Begin {
  /** Number of waiting jobs. */
  jobs?: number;
  /** Minimum number of workers. */
  min?: number;
  /** Mark of a submission whose answer was lost. */
  intent?: string;
}

/**
 * Queries of the cluster: their number, how many are in progress now and at most, how long each takes, and
 * the error of each if it fails.
 */
interface Looks {
  count: number;
  atOnce: number;
  most: number;
  tookMs?: number;
  trouble?: Error;
}

/** Starts a pool with a cluster in memory. `startedAt` has the times of submissions, in minutes. */
async function open(take: (cluster: ClusterTask[], mark: string) => void, begin: Begin = {}) {
  const { jobs = 1, min = 0, intent } = begin;
  const store = await openStore();
  const submit = () => accepted(store, endpointId, '{}');
  for (let job = 0; job < jobs; job++) await submit();
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
  const cancelled: string[] = [];
  const looks: Looks = { count: 0, atOnce: 0, most: 0 };
  const cluster: ClusterWorkload = {
    name: 'Slurm',
    tasks: async () => {
      looks.count += 1;
      looks.most = Math.max(looks.most, ++looks.atOnce);
      if (looks.tookMs !== undefined) await new Promise((resolve) => setTimeout(resolve, looks.tookMs));
      looks.atOnce -= 1;
      if (looks.trouble !== undefined) throw looks.trouble;
      return [...tasks];
    },
    startWorkers: async (_places, mark) => {
      startedAt.push(Math.round((performance.now() - begunAt) / 60_000));
      take(tasks, mark);
    },
    cancelWaiting: async (ids) => void cancelled.push(...ids),
  };
  const { db } = store.file;
  if (intent !== undefined) db.prepare('INSERT INTO clusterIntent VALUES (?, ?)').run(endpointId, intent);
  const problems: string[] = [];
  const workers = { min, max: 4, idle: 60_000 };
  const pooled = {
    store,
    remote,
    endpoint: { id: endpointId, workers, quickStart: false, recycle: {} },
    onProblem: (text: string) => void problems.push(text),
  };
  const pool = new ClusterPool(pooled, cluster);
  onTestFinished(async () => {
    await pool.stop();
    remote.stop();
    vi.useRealTimers();
  });
  const pass = (minutes: number) => vi.advanceTimersByTimeAsync(minutes * 60_000);
  const hasIntent = (): boolean => db.prepare('SELECT 1 FROM clusterIntent').get() !== undefined;
  /** Acts as the worker of a task: asks for a job, takes it, and returns its result. */
  const workerOf = (task: string) => {
    const id = pullingWorker(`box-slurm${task}`, 'key');
    const ask = () => remote.noteContact(id, null, true);
    const takeJob = async () => {
      ask();
      const [job] = await store.work.take(endpointId, [{ workerId: id, isPulled: true }]);
      if (job !== undefined) remote.assign(id, [job.id]);
      return async () => void (job && (await new JobResults(store).complete(job, '1')));
    };
    return { id, ask, takeJob };
  };
  return {
    startedAt,
    tasks,
    cancelled,
    looks,
    problems,
    store,
    remote,
    pool,
    submit,
    pass,
    hasIntent,
    workerOf,
  };
}

/** Accepts a submission. Its worker runs at once, in its own place. */
function begins(cluster: ClusterTask[], mark: string): void {
  cluster.push({ id: `${cluster.length + 7}_0`, place: cluster.length, mark, state: 'running' });
}

const slower = [0, 1, 3, 7, 15, 30, 45, 60];

it('a cluster that refuses is asked again after 1, 2, 4, 8 and then every 15 minutes, and that is said once', async () => {
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

it('workers that end before their first request are restarted as slowly', async () => {
  const { startedAt, tasks, problems, pass } = await open((all, mark) => {
    all.push({ id: `${all.length}_0`, place: 0, mark, state: 'running' });
    setTimeout(() => all.splice(0), 15_000);
  });
  await pass(65);
  expect(startedAt).toEqual([0, 1, 4, 8, 16, 32, 47, 62]);
  expect([tasks, problems]).toEqual([[], [expect.stringContaining('ended before its worker came')]]);
});

it('a submission that may have been accepted is not repeated before that is known', async () => {
  const { startedAt, problems, pass, hasIntent } = await open(() => {
    throw Object.assign(new Error('timed out'), { isUncertain: true });
  });
  await pass(2.5);
  expect([startedAt, hasIntent()]).toEqual([[0], true]);
  await pass(1);
  expect(startedAt).toEqual([0, 3]);
  expect(problems).toEqual([expect.stringContaining('Slurm does not say if it accepts workers: timed out')]);
});

it('the submission of a service that was killed meanwhile is waited for, and counts', async () => {
  const { startedAt, tasks, pass, hasIntent, pool } = await open(() => undefined, { intent: 'mark' });
  await pass(1);
  expect([startedAt, hasIntent()]).toEqual([[], true]);
  tasks.push({ id: '7_0', place: 0, mark: 'mark', state: 'waiting' });
  await pass(1);
  expect([startedAt, hasIntent()]).toEqual([[], false]);
  expect(pool.views([]).map(({ id, state }) => [id, state])).toEqual([['slurm7_0', 'initializing']]);
});

it('a worker is started within a second of its job, seen until it has come, and no second one for that job', async () => {
  const { startedAt, looks, submit, pass, pool, remote, workerOf, hasIntent } = await open(begins, {
    jobs: 0,
  });
  await pass(5);
  const { count } = looks;
  await pass(5);
  // With an empty queue, the cluster is not queried.
  expect([startedAt, looks.count - count]).toEqual([[], 0]);
  await submit();
  await pass(1 / 60);
  await pass(1 / 60);
  expect([startedAt, hasIntent()]).toEqual([[10], false]);
  expect(pool.views([])).toMatchObject([
    { id: 'slurm7_0', state: 'initializing', kind: 'own', since: expect.any(Number) as number },
  ]);
  const { takeJob } = workerOf('7_0');
  await takeJob();
  await pass(1);
  expect([pool.views(remote.views), pool.views([])]).toEqual([[], []]);
  expect([startedAt, pool.problem]).toEqual([[10], null]);
});

it('a worker that has done a job, or has waited for one long enough, may end: another is started at once', async () => {
  const { startedAt, tasks, problems, submit, pass, pool, remote, workerOf } = await open(begins);
  await pass(0.1);
  const first = workerOf('7_0');
  await (
    await first.takeJob()
  )();
  await pass(0.5);
  // The worker is forgotten before its task has ended.
  pool.noteLeaving(first.id);
  await remote.remove(first.id, 'it has ended', { isCounted: false });
  tasks.splice(0);
  await submit();
  await pass(0.5);
  expect([startedAt, tasks.length]).toEqual([[0, 1], 1]);
  const second = workerOf('7_0');
  second.ask();
  await pass(1);
  tasks.splice(0);
  await pass(0.5);
  expect([startedAt, problems]).toEqual([[0, 1, 2], []]);
});

it('workers that ended without a job are forgotten once a later one has done a job', async () => {
  const { startedAt, tasks, problems, submit, pass, pool, workerOf } = await open(begins);
  await pass(0.1);
  const first = workerOf('7_0');
  first.ask();
  pool.noteLeaving(first.id);
  tasks.splice(0);
  await pass(1.5);
  expect([problems, startedAt]).toEqual([
    [expect.stringContaining('ended before its worker did a job')],
    [0, 1],
  ]);
  expect(pool.problem).toContain('before its worker did a job');
  const second = workerOf('7_0');
  const done = await second.takeJob();
  await pass(0.5);
  expect(pool.problem).not.toBeNull();
  await done();
  await submit();
  await pass(0.5);
  expect(pool.problem).toBeNull();
  // The next worker is replaced after a minute again.
  await submit();
  await pass(0.3);
  expect(tasks.length).toBe(2);
  tasks.splice(1);
  await pass(1.5);
  expect([problems.length, startedAt.length]).toEqual([2, 4]);
});

it('workers that ended without a job are not forgotten because an earlier one has done a job', async () => {
  const { tasks, submit, pass, pool, workerOf } = await open(begins);
  await pass(0.1);
  const first = workerOf('7_0');
  await (
    await first.takeJob()
  )();
  await first.takeJob();
  await submit();
  await submit();
  await first.takeJob();
  await pass(0.2);
  expect(tasks.length).toBe(2);
  tasks.splice(1);
  await pass(0.5);
  expect(pool.problem).toContain('ended before its worker came');
});

it('a cluster that does not answer is reported once, and its recovery too', async () => {
  const { looks, startedAt, problems, pass, pool } = await open(begins, { min: 1 });
  await pass(0.5);
  looks.trouble = new Error('timed out');
  await pass(2);
  const told = 'Slurm does not answer, and starts no workers until it does: timed out';
  expect([problems, pool.problem]).toEqual([[`endpoint scene-renderer: ${told}`], told]);
  delete looks.trouble;
  await pass(0.5);
  expect([startedAt, pool.problem]).toEqual([[0], null]);
});

it('workers that wait at the cluster are cancelled if there are too many, and count as no waste', async () => {
  const waiting = (all: ClusterTask[], mark: string): void => {
    for (const place of [0, 1]) all.push({ id: `7_${place}`, place, mark, state: 'waiting' });
  };
  const { tasks, cancelled, problems, pass, pool, workerOf } = await open(waiting, { jobs: 2 });
  await pass(0.5);
  expect([cancelled, pool.views([]).length]).toEqual([[], 2]);
  tasks.splice(0, 1, { id: '7_0', place: 0, mark: '', state: 'running' });
  const { takeJob } = workerOf('7_0');
  await (
    await takeJob()
  )();
  await takeJob();
  await pass(0.2);
  expect(new Set(cancelled)).toEqual(new Set(['7_1']));
  tasks.splice(1, 1, { id: '7_1', place: 1, mark: '', state: 'ending' });
  expect(pool.views([]).length).toBe(1);
  await pass(0.2);
  expect(pool.views([])).toEqual([]);
  tasks.splice(1);
  await pass(1);
  expect([problems, pool.problem]).toEqual([[], null]);
});

it('a worker that takes no more jobs, or is silent for three minutes, is replaced', async () => {
  const { startedAt, submit, pass, remote, workerOf } = await open(begins);
  await pass(0.1);
  const first = workerOf('7_0');
  await (
    await first.takeJob()
  )();
  for (let minute = 0; minute < 5; minute++) {
    first.ask();
    await pass(1);
  }
  await submit();
  await pass(0.1);
  expect(startedAt).toEqual([0]);
  remote.drain('box-slurm7_0');
  await pass(0.5);
  expect(startedAt).toEqual([0, 5]);
  await pass(2);
  expect(startedAt).toEqual([0, 5]);
  await pass(1);
  expect(startedAt).toEqual([0, 5, 8]);
});

it('after a refusal nothing more is said once workers are accepted', async () => {
  let isFull = true;
  const { startedAt, pass, pool } = await open((all, mark) => {
    if (isFull) throw new Error('no such partition');
    begins(all, mark);
  });
  await pass(0.5);
  expect(pool.problem).toContain('no such partition');
  isFull = false;
  await pass(1);
  expect([startedAt, pool.problem]).toEqual([[0, 1], null]);
});

it('a worker that has waited at the cluster for long is given as long to come as any other', async () => {
  const { startedAt, tasks, pass } = await open((all, mark) => {
    if (all.length > 0) begins(all, mark);
    else all.push({ id: '7_0', place: 0, mark, state: 'waiting' });
  });
  await pass(10);
  tasks.splice(0, 1, { id: '7_0', place: 0, mark: '', state: 'running' });
  await pass(2);
  expect(startedAt).toEqual([0]);
  await pass(2);
  expect(startedAt).toEqual([0, 13]);
});

it('a submission that was accepted although its answer was lost counts, and more is requested at once', async () => {
  const { startedAt, submit, pass, pool, hasIntent } = await open((all, mark) => {
    begins(all, mark);
    throw Object.assign(new Error('timed out'), { isUncertain: true });
  });
  await pass(0.3);
  expect([startedAt, hasIntent(), pool.problem]).toEqual([[0], false, null]);
  await submit();
  await pass(0.1);
  expect(startedAt).toEqual([0, 0]);
});

it('a cluster that answers slowly is not asked again meanwhile, nor more often for many jobs', async () => {
  const { looks, submit, pass } = await open(begins, { min: 1 });
  for (let job = 0; job < 3; job++) {
    await submit();
    await pass(0.1);
  }
  const { count } = looks;
  await pass(1);
  expect(looks.count - count).toBe(6);
  looks.tookMs = 15_000;
  for (let job = 0; job < 6; job++) {
    await submit();
    await pass(0.1);
  }
  expect(looks.most).toBe(1);
});

it('a stopped pool submits nothing', async () => {
  const { looks, submit, pass, pool } = await open(begins, { min: 1 });
  await pass(1);
  await pool.stop();
  const { count } = looks;
  await submit();
  await pass(5);
  expect([count > 3, looks.count]).toEqual([true, count]);
});

it('a pool that is stopped during a submission submits nothing more', async () => {
  let stop = (): Promise<void> => Promise.resolve();
  const { looks, pool, pass } = await open((all, mark) => {
    begins(all, mark);
    void stop();
  });
  stop = () => pool.stop();
  await pass(5);
  expect(looks.count).toBe(1);
});
