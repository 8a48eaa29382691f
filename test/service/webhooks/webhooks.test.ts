/** Whoever asked for it is told of a job's end: three tries at most, over restarts, whatever the target does. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { StatusResponse } from '../../../src/protocol/messages.ts';
import { listenOnLoopback } from '../../e2e/listen-on-loopback.ts';
import { ask, endpointId, instantWorkload, makeDataDir, openService, post } from '../service-harness.ts';

interface Told {
  path: string;
  text: string;
  type: string | undefined;
}

/** A target that is told; it answers as it is asked to. */
async function openTarget(answer: (response: ServerResponse) => void) {
  const told: Told[] = [];
  const noteContact = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await textOf(request);
    told.push({ path: request.url ?? '', text, type: request.headers['content-type'] });
    answer(response);
  };
  const server = createServer((request, response) => void noteContact(request, response));
  return { told, url: await listenOnLoopback(server) };
}

const ok = (response: ServerResponse): void => void response.end('heard');

function holdTime(): { now: number } {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  return { now: 1_000_000 };
}

/** Moves the clock on, and has the service look at it. */
async function pass(clock: { now: number }, ms: number): Promise<void> {
  clock.now += ms;
  await vi.advanceTimersByTimeAsync(500);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await vi.advanceTimersByTimeAsync(500);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function submitWith(url: string, webhook: string, input: object = { scene: 'x' }): Promise<string> {
  const reply = await post(url, JSON.stringify({ input, webhook }));
  expect(reply.status).toBe(200);
  return (reply.json as StatusResponse).id;
}

it('posts the job with its input and output, once where it is heard', async () => {
  const clock = holdTime();
  const target = await openTarget(ok);
  const { url, troubles } = await openService({
    now: () => clock.now,
    workload: instantWorkload(() => [{ seed: 1 }]),
  });
  const input = '{"seed": 12345678901234567890}';
  const { json } = await post(url, `{"input":${input},"webhook":"${target.url}/told?a=b"}`);
  await until(() => target.told.length > 0);
  const [told] = target.told;
  expect([told?.path, told?.type]).toEqual(['/told?a=b', 'application/json']);
  expect(told?.text).toContain(`"input":${input},"output":[{"seed":1}]`);
  expect(JSON.parse(told?.text ?? '')).toMatchObject({
    id: (json as StatusResponse).id,
    status: 'COMPLETED',
    delayTime: 0,
    executionTime: 0,
  });
  for (let count = 0; count < 5; count++) await pass(clock, 600_000);
  expect(target.told).toHaveLength(1);
  expect(troubles).toEqual([]);
});

it('tells of a failure, of a large result, and of a job that is cancelled, too', async () => {
  const clock = holdTime();
  const target = await openTarget(ok);
  const { url, held } = await openService({ now: () => clock.now });
  const failed = await submitWith(url, target.url);
  (await held.next()).fail(new Error('no'));
  const large = await submitWith(url, target.url);
  (await held.next()).complete('x'.repeat(400_000));
  await until(() => target.told.length === 2);
  const cancelled = await submitWith(url, target.url);
  await ask(url, `/v2/${endpointId}/cancel/${cancelled}`, { method: 'POST' });
  await until(() => target.told.length === 3);
  const told = target.told.map(({ text }) => JSON.parse(text) as StatusResponse);
  expect(told.find(({ id }) => id === failed)).toMatchObject({ status: 'FAILED', error: 'no' });
  expect(told.find(({ id }) => id === large)?.output).toHaveLength(400_000);
  expect(told.find(({ id }) => id === cancelled)).toMatchObject({ status: 'CANCELLED' });
});

it.each([
  ['refuses', (response: ServerResponse) => void response.writeHead(500).end()],
  ['breaks off', (response: ServerResponse) => void response.destroy()],
  [
    'leads elsewhere',
    (response: ServerResponse) => void response.writeHead(302, { Location: '/other' }).end(),
  ],
])('tries three times and no more at a target that %s, and says so once', async (_what, answer) => {
  const clock = holdTime();
  const target = await openTarget(answer);
  const { url, troubles } = await openService({ now: () => clock.now, workload: instantWorkload(() => 1) });
  const id = await submitWith(url, `${target.url}/told`);
  for (const [index, pauseMs] of [0, 10_000, 60_000].entries()) {
    await pass(clock, pauseMs - 1);
    expect(target.told).toHaveLength(index);
    await pass(clock, 1);
    await until(() => target.told.length > index);
  }
  await until(() => troubles.length > 0);
  for (let count = 0; count < 5; count++) await pass(clock, 600_000);
  expect(target.told.map(({ path }) => path)).toEqual(['/told', '/told', '/told']);
  expect(troubles).toEqual([expect.stringContaining(`the webhook of job ${id} to 127.0.0.1`)]);
  expect(troubles[0]).toContain('failed after 3 tries');
});

it('tries three times and no more over restarts in the middle of a try', async () => {
  const clock = holdTime();
  const target = await openTarget(() => undefined);
  const dataDir = await makeDataDir();
  const options = { dataDir, now: () => clock.now, workload: instantWorkload(() => 1) };
  let service = await openService(options);
  await submitWith(service.url, target.url);
  for (let tries = 1; tries <= 3; tries++) {
    await until(() => target.told.length === tries);
    await service.close();
    service = await openService(options);
    await pass(clock, 100_000);
  }
  for (let count = 0; count < 5; count++) await pass(clock, 600_000);
  expect(target.told).toHaveLength(3);
});

it('tells of each end of a job that is retried', async () => {
  const clock = holdTime();
  const target = await openTarget(ok);
  const { url, held } = await openService({ now: () => clock.now });
  const id = await submitWith(url, target.url);
  (await held.next()).fail(new Error('no'));
  await until(() => target.told.length === 1);
  await ask(url, `/v2/${endpointId}/retry/${id}`, { method: 'POST' });
  (await held.next()).complete([1]);
  await until(() => target.told.length === 2);
  expect(target.told.map(({ text }) => (JSON.parse(text) as StatusResponse).status)).toEqual([
    'FAILED',
    'COMPLETED',
  ]);
});
