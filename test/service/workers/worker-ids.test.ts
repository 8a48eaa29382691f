/**
 * Promise: a job belongs to a worker id and its key. A request with the same worker id and another key counts
 * as another worker.
 */
import { expect, it, onTestFinished, vi } from 'vitest';
import { enter, openWithConsole } from '../console/visit.ts';
import { addKey, PullingWorker } from '../pull-harness.ts';
import { askStatus, makeDataDir, openService, statusOnce, submit } from '../service-harness.ts';

const notAccepted = '{"accepted":false}';
const silenceMs = 60_000;

async function openTaken(dataDir: string) {
  const service = await openService({ dataDir, workers: 0, silenceMs });
  const rightful = new PullingWorker(service.url, addKey(dataDir, 'worker'), 'w1');
  const strangersKey = addKey(dataDir, 'worker');
  const stranger = new PullingWorker(service.url, strangersKey, 'w1');
  const id = await submit(service.url, { scene: 'x' });
  expect(await rightful.taken()).toBe(id);
  return { ...service, rightful, stranger, strangersKey, id };
}

/** Makes time for silence pass only when the test says so. */
function holdTime(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

it('a job accepts result, parts and progress only from its own worker', async () => {
  const { url, rightful, stranger, id } = await openTaken(await makeDataDir());
  const before = (await askStatus(url, id)).text;
  const bodies = ['{"output":1}', '{"error":"no"}', '{"output":1,"status":"IN_PROGRESS"}'];
  const replies = [
    ...(await Promise.all(bodies.map((body) => stranger.done(id, body)))),
    await stranger.part(id, bodies[0] ?? ''),
  ];
  expect(new Set(replies.map(({ text }) => text))).toEqual(new Set([notAccepted]));
  expect((await askStatus(url, id)).text).toBe(before);
  expect((await rightful.done(id, '{"output":2}')).text).toBe('{"accepted":true}');
  expect((await askStatus(url, id)).json).toMatchObject({ status: 'COMPLETED', output: 2 });
});

it('a job is not failed by a too large result from another worker', async () => {
  const dataDir = await makeDataDir();
  const { url } = await openService({ dataDir, workers: 0, maxResultBytes: 1_000 });
  const [rightful, stranger] = ['a', 'b'].map(() => new PullingWorker(url, addKey(dataDir, 'worker'), 'w1'));
  const id = await submit(url, { scene: 'x' });
  expect(await rightful?.taken()).toBe(id);
  await stranger?.done(id, `{"output":"${'x'.repeat(1_100_000)}"}`);
  expect((await askStatus(url, id)).json).toMatchObject({ status: 'IN_PROGRESS' });
});

it('a job is not kept by a ping from another worker, which is told to stop the job', async () => {
  holdTime();
  const { url, stranger, id } = await openTaken(await makeDataDir());
  vi.advanceTimersByTime(silenceMs - 1_000);
  expect((await stranger.ping(id)).status).toBe(200);
  expect((await stranger.toStop()).text).toBe(`{"jobsToStop":["${id}"]}`);
  vi.advanceTimersByTime(silenceMs / 5);
  expect(await statusOnce(url, id, 'IN_QUEUE')).toMatchObject({ retries: 1 });
});

it('a job stays with its worker over a restart, and goes back to the queue if its key was changed meanwhile', async () => {
  holdTime();
  const dataDir = await makeDataDir();
  const first = await openTaken(dataDir);
  await first.close();
  const second = await openService({ dataDir, workers: 0, silenceMs });
  const renewed = new PullingWorker(second.url, first.strangersKey, 'w1');
  expect((await renewed.done(first.id, '{"output":1}')).text).toBe(notAccepted);
  vi.advanceTimersByTime(2 * silenceMs);
  await statusOnce(second.url, first.id, 'IN_QUEUE');
  expect(await renewed.taken()).toBe(first.id);
  expect((await renewed.done(first.id, '{"output":1}')).text).toBe('{"accepted":true}');
});

it('a job is shown in the console beside its worker by the name that the worker has', async () => {
  const { url, dataDir } = await openWithConsole({ workloadOf: () => undefined });
  const workerKey = addKey(dataDir, 'worker');
  const id = await submit(url, { scene: 'x' });
  await new PullingWorker(url, workerKey, 'w1').take();
  const visit = await enter(url);
  expect(await visit.get(`jobs/${id}`)).toMatchObject({ workerId: 'w1' });
  const { endpoints } = (await visit.get('overview')) as { endpoints: { workers: { id: string }[] }[] };
  expect(endpoints.flatMap(({ workers }) => workers.map((worker) => worker.id))).toEqual(['w1']);
});
