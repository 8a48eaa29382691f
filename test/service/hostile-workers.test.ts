/**
 * Promise: a remote worker that sends or requests too much does not stop the service, and its jobs do not get
 * stuck.
 */
import { beforeEach, expect, test } from 'vitest';
import { endpointSettings } from '../../src/service/model/endpoint-settings.ts';
import { addKey } from './pull-harness.ts';
import { key as clientKey, openService, type TestService } from './service-harness.ts';

let service: TestService;
let workerKey: string;
let ownKeys: Map<string, string>;

beforeEach(async () => {
  ownKeys = new Map();
  service = await openService({
    endpoints: [
      endpointSettings({ id: 'farm', workers: 0 }, { remote: true }),
      endpointSettings({ id: 'container' }),
    ],
    workloadOf: ({ id }, context) => {
      ownKeys.set(id, context.workerKey);
      return undefined;
    },
  });
  workerKey = addKey(service.dataDir, 'worker');
});

async function ask(key: string, path: string, body?: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${service.url}/v2/farm/${path}`, {
    headers: { Authorization: `Bearer ${key}` },
    ...(body !== undefined && { method: 'POST', body }),
  });
  return { status: response.status, text: await response.text() };
}

async function submit(input: object): Promise<string> {
  const { text } = await ask(clientKey, 'run', JSON.stringify({ input }));
  return (JSON.parse(text) as { id: string }).id;
}

async function statusOf(id: string): Promise<Record<string, unknown>> {
  return JSON.parse((await ask(clientKey, `status/${id}`)).text) as Record<string, unknown>;
}

test('a batch of jobs with long inputs is as large as an answer may be, and the rest waits', async () => {
  const long = 'x'.repeat(7_000_000);
  for (const part of [1, 2, 3, 4, 5]) await submit({ part, long });
  const { status, text } = await ask(workerKey, 'job-take-batch/w1?batch_size=100');
  expect(status).toBe(200);
  const jobs = JSON.parse(text) as { input: { part: number } }[];
  expect(jobs.map(({ input }) => input.part)).toEqual([1, 2]);
  const health = JSON.parse((await ask(clientKey, 'health')).text) as { jobs: Record<string, number> };
  expect(health.jobs).toMatchObject({ inProgress: 2, inQueue: 3 });
});

test('a result of more values than are allowed fails its job with a message, and the worker hears why', async () => {
  const small = await openService({
    endpoints: [endpointSettings({ id: 'farm', workers: 0 }, { remote: true })],
    maxValues: 1_000,
  });
  service = small;
  workerKey = addKey(small.dataDir, 'worker');
  const id = await submit({ scene: 'a red cube' });
  await ask(workerKey, 'job-take/w1?');
  const told = await ask(workerKey, `job-done/w1/${id}?`, `{"output":[${'1,'.repeat(1_000)}1]}`);
  expect(told).toMatchObject({ status: 400, text: expect.stringContaining('more than 1000 values') });
  const { status, error } = await statusOf(id);
  expect([status, error]).toEqual([
    'FAILED',
    expect.stringMatching(/^the worker's output has more than 1000 values/),
  ]);
  const many = await ask(clientKey, 'run', `{"input":{"a":[${'1,'.repeat(1_000)}1]}}`);
  expect(many).toEqual({ status: 400, text: '{"error":"the body has more than 1000 values"}' });
});

test('a very long error is kept by its beginning', async () => {
  const id = await submit({ scene: 'a red cube' });
  await ask(workerKey, 'job-take/w1?');
  const error = String.raw`\u00e9`.repeat(500_000);
  expect(await ask(workerKey, `job-done/w1/${id}?`, `{"error":"${error}"}`)).toMatchObject({ status: 200 });
  expect((await statusOf(id))['error']).toBe('é'.repeat(10_000));
});

test('an error that is nested very deeply ends its job with a message', async () => {
  const id = await submit({ scene: 'a red cube' });
  await ask(workerKey, 'job-take/w1?');
  const error = '['.repeat(200_000) + ']'.repeat(200_000);
  expect(await ask(workerKey, `job-done/w1/${id}?`, `{"error": ${error}}`)).toMatchObject({ status: 200 });
  const { status, error: told } = await statusOf(id);
  expect({ status, told: String(told).slice(0, 3) }).toEqual({ status: 'FAILED', told: '[[[' });
  expect(service.troubles).toEqual([]);
});

test('a key has a bounded number of workers at an endpoint, those of other keys find a place, and all go on working', async () => {
  const id = await submit({ scene: 'a red cube' });
  await ask(workerKey, 'job-take/w1?');
  for (let number = 0; number < 499; number++) await ask(workerKey, `ping/other-${number}?`);
  expect(await ask(workerKey, 'ping/one-more?')).toMatchObject({ status: 429 });
  const other = addKey(service.dataDir, 'worker');
  expect(await ask(other, 'ping/one-more?')).toMatchObject({ status: 200 });
  expect(await ask(workerKey, `job-done/w1/${id}?`, '{"output": [1]}')).toMatchObject({ status: 200 });
  expect(await statusOf(id)).toMatchObject({ status: 'COMPLETED', output: [1] });
});

test('refused results of a key write few lines to the log, and hide none of another key', async () => {
  const id = await submit({ scene: 'a red cube' });
  const others = await submit({ scene: 'a hill' });
  const other = addKey(service.dataDir, 'worker');
  await ask(workerKey, 'job-take/w1?');
  await ask(other, 'job-take/w2?');
  for (let count = 0; count < 50; count++)
    expect(await ask(workerKey, `job-done/w1/${id}?`, 'no JSON')).toMatchObject({ status: 400 });
  await ask(other, `job-done/w2/${others}?`, 'no JSON');
  const about = (job: string): string[] => service.troubles.filter((text) => text.includes(job));
  expect(about(id).length).toBeLessThan(20);
  expect(about(id).length).toBeGreaterThan(0);
  expect(about(others)).toHaveLength(1);
});

test('a worker that names ever more unknown jobs is told to stop only some of them', async () => {
  for (let round = 0; round < 20; round++) {
    const ids = Array.from({ length: 100 }, (_, number) => `nobodys-${round}-${number}`);
    await ask(workerKey, `ping/w1?job_id=${ids.join(',')}`);
  }
  const { text } = await ask(workerKey, 'job-stop/w1?');
  expect((JSON.parse(text) as { jobsToStop: string[] }).jobsToStop).toHaveLength(1_000);
});

test('the key of a worker that the service starts itself is good for its own endpoint only', async () => {
  const id = await submit({ scene: 'a red cube' });
  const own = ownKeys.get('container') ?? '';
  const takeAt = (endpointId: string, key: string) =>
    fetch(`${service.url}/v2/${endpointId}/ping/w1?`, { headers: { Authorization: key } });
  expect((await takeAt('container', own)).status).toBe(200);
  expect((await takeAt('farm', own)).status).toBe(404);
  expect((await takeAt('farm', own.replace('.container.', '.farm.'))).status).toBe(401);
  expect(await statusOf(id)).toMatchObject({ status: 'IN_QUEUE' });
});

test('a result for a job that does not exist is not waited for', async () => {
  const bytes = new ReadableStream<Uint8Array>({ pull: (more) => more.enqueue(new Uint8Array(65_536)) });
  const init = {
    method: 'POST',
    body: bytes,
    duplex: 'half' as const,
    headers: { Authorization: workerKey },
  };
  const response = await fetch(`${service.url}/v2/farm/job-done/w1/nobodys?`, init);
  expect(response.status).toBe(404);
});
