/**
 * Promise: the service knows for each worker its job, its progress and what it must stop. A job that is lost
 * with its worker is given to another.
 */
import { expect, it, onTestFinished, vi } from 'vitest';
import { JobResults } from '../../../src/service/jobs/job-work.ts';
import { KeptLog, readWorkerReport, type WorkerReport } from '../../../src/service/workers/remote-worker.ts';
import { RemoteWorkers } from '../../../src/service/workers/remote-workers.ts';
import { pullingWorker } from '../../../src/service/model/job.ts';
import { accepted, endpointId, openStore } from '../service-harness.ts';

const silenceMs = 60_000;
const report: WorkerReport = { machine: null, workload: null, state: 'working', log: [], died: null };
const w1 = pullingWorker('w1', 'key');
const w2 = pullingWorker('w2', 'key');

/** Creates a store with this many waiting jobs, and its remote workers. */
async function open(jobs: number, stallMs: number | null = null) {
  const store = await openStore();
  for (let job = 0; job < jobs; job++) await accepted(store, endpointId, '{}');
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance', 'Date'] });
  const takenAway: string[] = [];
  const stalled: string[] = [];
  const make = () =>
    new RemoteWorkers({
      store,
      endpointId,
      stallMs,
      silenceMs,
      logOf: () => ['its last line'],
      onTakenAway: ({ id }) => void takenAway.push(id),
      onStalled: (workerId, why) => void stalled.push(`${workerId}: ${why}`),
      onProblem: (text) => expect.fail(text),
    });
  const remote = make();
  onTestFinished(() => {
    remote.stop();
    vi.useRealTimers();
  });
  const take = async (workerId: string): Promise<string> => {
    const [job] = await store.work.take(endpointId, [{ workerId, isPulled: workerId.includes('@') }]);
    remote.assign(workerId, job === undefined ? [] : [job.id]);
    return job?.id ?? 'none';
  };
  const done = (workerId: string, id: string) => new JobResults(store).complete({ id, workerId }, '1');
  const jobOf = (id: string) => store.reads.find(endpointId, id);
  const view = (workerId: string) => remote.views.find(({ id }) => id === workerId);
  return { store, remote, make, take, done, jobOf, view, takenAway, stalled };
}

it('the service shows the job of a worker, its finished jobs, and how long they took', async () => {
  const { remote, take, done, view } = await open(2);
  remote.noteContact(w1, 'RTX 4090', true);
  expect(view(w1)).toMatchObject({ state: 'initializing', jobIds: [], gpu: 'RTX 4090', jobsDone: 0 });
  const [first, second] = [await take(w1), await take(w1)];
  remote.noteContact(w1, null, true);
  expect(view(w1)).toMatchObject({ state: 'running', jobIds: [first, second], gpu: 'RTX 4090' });
  const since = view(w1)?.since ?? 0;
  vi.advanceTimersByTime(3_000);
  await done(w1, first);
  expect(view(w1)).toMatchObject({ jobIds: [second], jobsDone: 1, busyMs: 3_000, since: since + 3_000 });
  vi.advanceTimersByTime(2_000);
  await done(w1, second);
  expect(view(w1)).toMatchObject({ state: 'idle', jobIds: [], jobsDone: 2, busyMs: 8_000 });
  expect([remote.jobsDoneBy(w1), remote.jobsDoneBy(w2)]).toEqual([2, 0]);
});

it('the service gives the job of a silent worker to another; any request or data about the job counts as a sign', async () => {
  const { remote, take, jobOf, view } = await open(3);
  const [silent, named, arriving] = [await take(w1), await take(w1), await take(w1)];
  let arrive: () => void = () => undefined;
  const body = remote.whileArriving(w1, arriving, () => new Promise<void>((resolve) => (arrive = resolve)));
  vi.advanceTimersByTime(silenceMs / 2);
  remote.keepAlive(w1, [named]);
  vi.advanceTimersByTime(silenceMs / 2 + 6_000);
  await expect.poll(() => jobOf(silent)).toMatchObject({ state: 'IN_QUEUE', retries: 1 });
  expect([named, arriving].map((id) => jobOf(id)?.state)).toEqual(['IN_PROGRESS', 'IN_PROGRESS']);
  arrive();
  await body;
  vi.advanceTimersByTime(silenceMs / 2);
  await expect.poll(() => view(w1)?.jobIds).toEqual([arriving]);
  vi.advanceTimersByTime(silenceMs);
  await expect.poll(() => view(w1)).toMatchObject({ jobIds: [], state: 'unhealthy' });
  remote.noteContact(w1, null, true);
  const asked = remote.hold(w1, true);
  expect(view(w1)?.state).toBe('idle');
  asked?.(false);
  await take(w1);
  expect(view(w1)?.state).toBe('running');
});

it('the service counts no time as silence in which this process stood still', async () => {
  const { store, remote, take, jobOf } = await open(2, 30_000);
  const [id, closed] = [await take(w1), await take(w2)];
  remote.hold(w2, false)?.(true);
  vi.advanceTimersByTime(9_000);
  // All clocks advance, but no timer fires in between, as if the process had been suspended.
  const now = performance.now.bind(performance);
  const stalled = vi.spyOn(performance, 'now').mockImplementation(() => now() + 10 * silenceMs);
  vi.advanceTimersByTime(9_000);
  // A job put back into the queue would be written before this one.
  await accepted(store, 'another', '{}');
  expect([jobOf(id)?.state, jobOf(closed)?.state]).toEqual(['IN_PROGRESS', 'IN_PROGRESS']);
  vi.advanceTimersByTime(silenceMs);
  await expect.poll(() => jobOf(id)?.state).toBe('IN_QUEUE');
  stalled.mockRestore();
});

it('the service gives the job of a worker that closed its connections to another worker, despite pings', async () => {
  const { remote, take, jobOf, view } = await open(2);
  const id = await take(w1);
  const [one, two] = [remote.hold(w1, true), remote.hold(w1, false)];
  expect(remote.hold(w1, true)).toBeUndefined();
  one?.(true);
  expect(remote.hold(w1, true)?.(false)).toBeUndefined();
  const ping = () => {
    vi.advanceTimersByTime(silenceMs / 2);
    remote.noteContact(w1, null, false);
    remote.keepAlive(w1, [id]);
  };
  for (let pings = 0; pings < 4; pings++) ping();
  expect(jobOf(id)?.state).toBe('IN_PROGRESS');
  two?.(true);
  ping();
  remote.noteContact(w1, null, true);
  for (let pings = 0; pings < 3; pings++) ping();
  expect(jobOf(id)?.state).toBe('IN_PROGRESS');
  remote.hold(w1, false)?.(true);
  for (let pings = 0; pings < 3; pings++) ping();
  await expect.poll(() => jobOf(id)).toMatchObject({ state: 'IN_QUEUE', retries: 1 });
  await expect.poll(() => view(w1)?.state).toBe('unhealthy');
});

it('the service takes a job from a worker that shows nothing of it, unless lines, parts or bodies arrive', async () => {
  const { remote, take, jobOf, stalled } = await open(2, 10_000);
  const [id, other] = [await take(w1), await take(w2)];
  const pass = () => passing(remote, [w1, id], [w2, other]);
  pass();
  await remote.report(w1, { ...report, log: ['step 1'] });
  remote.noteSign(w2, other);
  pass();
  remote.noteSign(w1);
  await remote.whileArriving(w2, other, async () => undefined);
  pass();
  expect([jobOf(id)?.state, jobOf(other)?.state, stalled]).toEqual(['IN_PROGRESS', 'IN_PROGRESS', []]);
  remote.noteSign(w2, other);
  await remote.report(w1, report);
  pass();
  await expect.poll(() => jobOf(id)).toMatchObject({ state: 'IN_QUEUE', retries: 1 });
  await expect
    .poll(() => new Set(stalled))
    .toEqual(new Set([`${w1}: worker w1 showed nothing of the job for 10s`]));
  expect([remote.takeUnwanted(w1), remote.takeUnwanted(w1), remote.takeUnwanted(w2)]).toEqual([
    [id],
    undefined,
    undefined,
  ]);
  expect(jobOf(other)?.state).toBe('IN_PROGRESS');
});

it('the service takes a line that a worker has written for a sign', async () => {
  const { remote, take, jobOf } = await open(2, 10_000);
  const [id, other] = [await take(w1), await take(w2)];
  const pass = () => passing(remote, [w1, id], [w2, other]);
  pass();
  await remote.report(w1, { ...report, log: ['step 1'] });
  await remote.report(w2, report);
  pass();
  // The first worker was checked before the second one.
  await expect.poll(() => jobOf(other)).toMatchObject({ state: 'IN_QUEUE', retries: 1 });
  expect(jobOf(id)?.state).toBe('IN_PROGRESS');
});

it('a worker within the process of the service is never silent, and has its job until it has ended', async () => {
  const { remote, take, jobOf, view, stalled } = await open(1, 2 * silenceMs);
  remote.addLocal('own');
  expect(view('own')?.state).toBe('idle');
  const id = await take('own');
  vi.advanceTimersByTime(1.5 * silenceMs);
  expect([jobOf(id)?.state, stalled]).toEqual(['IN_PROGRESS', []]);
  vi.advanceTimersByTime(silenceMs);
  await expect
    .poll(() => stalled[0])
    .toBe('own: its worker wrote nothing about the job for 2m, and was ended');
  expect(jobOf(id)?.state).toBe('IN_PROGRESS');
  await remote.remove('own', 'it has ended', { isCounted: false });
  expect(jobOf(id)).toMatchObject({ state: 'IN_QUEUE', retries: 0 });
  expect([view('own'), remote.isDraining('own')]).toEqual([undefined, true]);
  await remote.remove('own', 'it has ended', { isCounted: true });
});

it('the service says to stop a cancelled job, to the worker that has it and to one that names it later', async () => {
  const { store, remote, take, takenAway, view } = await open(2);
  const [id, other] = [await take(w1), await take(w1)];
  await store.bulk.cancelAll(endpointId);
  expect(takenAway.toSorted()).toEqual([id, other].toSorted());
  expect(view(w1)).toMatchObject({ jobIds: [], jobsDone: 0 });
  expect(remote.takeUnwanted(w1)?.toSorted()).toEqual([id, other].toSorted());
  remote.keepAlive(w1, [id]);
  expect(remote.takeUnwanted(w1)).toEqual([id]);
  remote.keepAlive(w2, ['unknown']);
  remote.release(w1, id);
  expect([remote.takeUnwanted(w1), remote.takeUnwanted(w2)]).toEqual([undefined, ['unknown']]);
});

it('the service keeps the report of a worker, and requeues its jobs if its program died', async () => {
  const { remote, take, jobOf, view, store } = await open(1);
  await remote.report(w1, { ...report, workload: 'painter', log: ['ready'] });
  const id = await take(w1);
  expect(await remote.report(w1, { ...report, log: ['step 1'] })).toEqual([id]);
  expect([remote.logOf(id), view(w1)?.log]).toEqual([['step 1'], ['ready', 'step 1']]);
  expect(await remote.report(w1, { ...report, died: 'exited with 137' })).toEqual([]);
  expect(jobOf(id)).toMatchObject({ state: 'IN_QUEUE', retries: 1 });
  expect(store.file.db.prepare('SELECT log FROM job').pluck().get()).toBe('step 1');
  expect([remote.logOf(id), view(w1)?.isDraining]).toEqual([[], false]);
  await remote.report(w1, { ...report, state: 'draining' });
  expect([view(w1)?.isDraining, remote.isDraining(w1)]).toEqual([true, true]);
});

it('the service drains all workers of a name, and says if there are none', async () => {
  const { remote } = await open(0);
  for (const id of [w1, pullingWorker('w1', 'other'), w2]) remote.noteContact(id, null, true);
  expect([remote.drain('w1'), remote.drain('w3')]).toEqual([true, false]);
  expect(remote.views.map(({ isDraining }) => isDraining)).toEqual([true, true, false]);
});

it('the service forgets an idle worker after three silent minutes, and has room for a thousand, half of them of one key', async () => {
  const { remote, take } = await open(1);
  for (let worker = 0; worker < 1_000; worker++)
    expect(remote.noteContact(pullingWorker(`w${worker}`, worker < 500 ? 'key' : 'other'), null, true)).toBe(
      true,
    );
  const oneMore = (key: string): boolean => remote.noteContact(pullingWorker('more', key), null, true);
  expect([oneMore('key'), oneMore('third'), remote.noteContact(w1, null, true)]).toEqual([
    false,
    false,
    true,
  ]);
  vi.advanceTimersByTime(179_000);
  remote.noteContact(w2, null, false);
  expect(remote.views).toHaveLength(1_000);
  vi.advanceTimersByTime(7_000);
  expect(remote.views.map(({ id }) => id)).toEqual([w2]);
  expect(await take(w2)).not.toBe('none');
});

it('the service knows after a restart the job of each worker', async () => {
  const { make, take, remote } = await open(2);
  const id = await take(w1);
  remote.addLocal('own');
  await take('own');
  remote.stop();
  const next = make();
  onTestFinished(() => next.stop());
  expect(next.views.map((view) => [view.id, view.jobIds])).toEqual([[w1, [id]]]);
});

it('the service keeps the latest lines of a worker, and of a job the end, each cut if it is too long', () => {
  const log = new KeptLog();
  log.add('x'.repeat(2_001));
  expect([log.latest, log.ofJob]).toEqual([[`${'x'.repeat(2_000)}…`], []]);
  log.begin();
  for (let line = 0; line < 250; line++) log.add(`${line}`.padEnd(1_000));
  expect([log.latest.length, log.latest[0]?.trim(), log.count]).toEqual([200, '50', 251]);
  expect([log.ofJob.length, log.ofJob.at(-1)?.trim()]).toEqual([65, '249']);
  log.begin();
  log.add('x'.repeat(2_000));
  expect(log.ofJob).toHaveLength(1);
});

it('the service says what is wrong with a report', () => {
  expect(readWorkerReport({ state: 'working' })).toEqual(report);
  expect(readWorkerReport({ state: 'asleep' })).toEqual({ problem: expect.stringMatching(/^state: /) });
  expect(readWorkerReport(7)).toEqual({ problem: expect.stringMatching(/^the body: /) });
});

/** Lets six seconds pass, in which workers report that they have their jobs. */
function passing(remote: RemoteWorkers, ...held: [worker: string, job: string][]): void {
  vi.advanceTimersByTime(6_000);
  for (const [worker, job] of held) remote.keepAlive(worker, [job]);
}
