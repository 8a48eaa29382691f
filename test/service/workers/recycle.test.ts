/**
 * Promise: a worker is replaced between two jobs after a set number of jobs, age or memory, and ended if its
 * job shows no progress.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type EndpointSettings, endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import { commandWorkload } from '../../../src/service/workloads/command-workload.ts';
import { PullingWorker } from '../pull-harness.ts';
import {
  ask,
  askStatus,
  endpointId,
  makeDataDir,
  openService,
  statusOnce,
  submit,
} from '../service-harness.ts';

/** A program that does what the input of a job says, and returns its process id. */
const program = `
import { existsSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const kept = [];
for await (const line of createInterface(process.stdin)) {
  const { input } = JSON.parse(line);
  if (input.grow) kept.push(Buffer.alloc(input.grow, 1));
  if (input.hangOnce && !existsSync(input.hangOnce)) {
    writeFileSync(input.hangOnce, '');
    await new Promise((resolve) => setTimeout(resolve, 1e9));
  }
  for (let step = 0; step < (input.steps ?? 0); step++) {
    while (!existsSync(input.stepFile + step)) await new Promise((resolve) => setTimeout(resolve, 5));
    console.log(JSON.stringify({ progress: step }));
  }
  console.log(JSON.stringify({ output: process.pid }));
}`;

const stallMs = 60_000;

/** Makes time pass for the service only when the test says so. */
function holdTime(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

async function open(settings: Partial<Pick<EndpointSettings, 'recycle' | 'stall'>>) {
  const dataDir = await makeDataDir();
  const path = join(dataDir, 'program.mjs');
  writeFileSync(path, program);
  const command = [process.execPath, path];
  const service = await openService({
    dataDir,
    endpoints: [endpointSettings({ id: endpointId, workers: 1, ...settings })],
    workloadOf: () => commandWorkload({ endpointId, command, cwd: null, environment: {} }),
  });
  const done = async (input: Record<string, unknown>) => {
    const job = await statusOnce(service.url, await submit(service.url, input), 'COMPLETED');
    expect(job).not.toHaveProperty('retries');
    return Number(job.output);
  };
  return { ...service, done };
}

it('the pool replaces a worker after so many jobs', async () => {
  const { done, troubles } = await open({ recycle: { jobs: 2 } });
  const pids = [];
  for (let job = 0; job < 5; job++) pids.push(await done({ job }));
  const [a, b, c, d, e] = pids;
  expect([a === b, b === c, c === d, d === e]).toEqual([true, false, true, false]);
  expect(troubles).toEqual([]);
});

it('the pool replaces a worker that is as old as it may be, and no other', async () => {
  const old = await open({ recycle: { time: 1 } });
  expect(await old.done({ a: 1 })).not.toBe(await old.done({ a: 2 }));
  const young = await open({ recycle: { time: 3_600_000 } });
  expect(await young.done({ a: 1 })).toBe(await young.done({ a: 2 }));
});

it.skipIf(process.platform !== 'linux')(
  'the pool replaces a worker that has too much memory, when its job is done (skipped if there is no /proc)',
  async () => {
    const { done } = await open({ recycle: { memory: 200_000_000 } });
    const first = await done({ a: 1 });
    expect(await done({ grow: 250_000_000 })).toBe(first);
    expect(await done({ a: 1 })).not.toBe(first);
  },
);

it('the pool ends a worker that shows nothing of its job, and gives the job to the next', async () => {
  holdTime();
  const { url, dataDir, troubles } = await open({ stall: stallMs });
  const hung = join(dataDir, 'hung');
  const id = await submit(url, { hangOnce: hung });
  await expect.poll(() => existsSync(hung)).toBe(true);
  vi.advanceTimersByTime(1.2 * stallMs);
  const job = await statusOnce(url, id, 'COMPLETED');
  expect(job).toMatchObject({ retries: 1, output: expect.any(Number) });
  expect(troubles).toEqual([]);
});

it('the pool does not end a worker that continues to show progress', async () => {
  holdTime();
  const { url, dataDir } = await open({ stall: stallMs });
  const stepFile = join(dataDir, 'step');
  const id = await submit(url, { steps: 5, stepFile });
  await statusOnce(url, id, 'IN_PROGRESS');
  for (let step = 0; step < 5; step++) {
    vi.advanceTimersByTime(0.7 * stallMs);
    writeFileSync(stepFile + step, '');
    const shown = async (): Promise<unknown> => (await askStatus(url, id)).json;
    await expect.poll(shown, { interval: 5 }).toMatchObject({ output: step < 4 ? step : expect.any(Number) });
  }
  const job = await statusOnce(url, id, 'COMPLETED');
  expect(job.output).toBeGreaterThan(5);
  expect(job).not.toHaveProperty('retries');
});

it('the pool fails a job with a message if it stalls each time', async () => {
  holdTime();
  const { url, held } = await openService({
    endpoints: [endpointSettings({ id: endpointId, retries: 0, stall: 1_000 })],
  });
  const id = await submit(url, { scene: 'x' });
  await held.next();
  vi.advanceTimersByTime(1_200);
  const job = await statusOnce(url, id, 'FAILED');
  expect(job.error).toContain('wrote nothing about the job for 1s');
});

it('the pool keeps as many workers without a job as are wanted, and starts more for jobs', async () => {
  const { url, held } = await openService({
    endpoints: [endpointSettings({ id: endpointId, workers: { min: 1, max: 3, idle: 100 } })],
  });
  const workers = async () =>
    (await ask(url, `/v2/${endpointId}/health`)).json as { workers: { idle: number; running: number } };
  const counts = async () => {
    const { idle, running } = (await workers()).workers;
    return { idle, running };
  };
  await expect.poll(counts).toEqual({ idle: 1, running: 0 });
  for (let job = 0; job < 3; job++) await submit(url, { job });
  await expect.poll(counts).toEqual({ idle: 0, running: 3 });
  for (let job = 0; job < 3; job++) (await held.next()).complete([1]);
  await expect.poll(counts).toEqual({ idle: 1, running: 0 });
});

/** Starts a service whose own worker pulls jobs. The test sends the requests of this worker. */
async function openPulling(settings: Partial<Pick<EndpointSettings, 'recycle' | 'stall' | 'workers'>>) {
  const started: { id: string; isStopped: boolean; goes: Promise<void> }[] = [];
  let key = '';
  const service = await openService({
    clientLimits: { refusedTakeMs: 1 },
    endpoints: [
      endpointSettings({
        id: endpointId,
        workers: { min: 0, max: 1, idle: 200 },
        quickStart: true,
        ...settings,
      }),
    ],
    workloadOf: (_settings, context) => {
      key = context.workerKey;
      return {
        name: 'puller',
        startPullWorker: ({ workerId }) => {
          const one = { id: workerId, isStopped: false, goes: Promise.resolve() };
          started.push(one);
          const stop = async (): Promise<void> => {
            one.isStopped = true;
            await one.goes;
          };
          return Promise.resolve({ ended: new Promise<string>(() => undefined), stop });
        },
      };
    },
  });
  const worker = async (index: number) => {
    await expect.poll(() => started.length).toBeGreaterThan(index);
    return new PullingWorker(service.url, key, started[index]?.id ?? '');
  };
  return { ...service, started, worker };
}

it('the pool replaces a container after so many jobs: it is given no more, and ended', async () => {
  const { url, started, worker } = await openPulling({ recycle: { jobs: 1 } });
  const first = await worker(0);
  const [id, next] = [await submit(url, { a: 1 }), await submit(url, { a: 2 })];
  await first.take();
  let letGo: () => void = () => undefined;
  if (started[0] !== undefined) started[0].goes = new Promise((resolve) => (letGo = resolve));
  await first.done(id, '{"output":1}');
  const gone = new AbortController();
  // While one of the two requests is refused, the other waits.
  const asked = [first.take(gone.signal), first.take(gone.signal)];
  const refused = Promise.allSettled(asked);
  expect((await Promise.race(asked)).status).toBe(409);
  letGo();
  const second = await worker(1);
  expect(JSON.parse((await second.take()).text)).toMatchObject({ id: next });
  expect(started.map(({ isStopped }) => isStopped)).toEqual([true, false]);
  gone.abort();
  await refused;
});

it('the pool ends a container that shows nothing of its job', async () => {
  holdTime();
  const { url, started, worker } = await openPulling({ stall: 1_000 });
  const first = await worker(0);
  const id = await submit(url, { a: 1 });
  await first.take();
  vi.advanceTimersByTime(1_200);
  const second = await worker(1);
  expect(started[0]?.isStopped).toBe(true);
  expect(JSON.parse((await second.take()).text)).toMatchObject({ id });
  expect((await askStatus(url, id)).json).toMatchObject({ status: 'IN_PROGRESS', retries: 1 });
});
