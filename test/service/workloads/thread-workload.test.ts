/** Promise: a worker thread that is busy, fails or ends delays neither the service nor other jobs. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import { threadWorkload } from '../../../src/service/workloads/thread-workload.ts';
import {
  askStatus,
  endpointId,
  makeDataDir,
  openService,
  post,
  statusOnce,
  submit,
} from '../service-harness.ts';

/** A module that answers, fails, ends its thread, or is busy until a file exists, as its input says. */
const module = `
import { existsSync, writeFileSync } from 'node:fs';
export async function handler({ input }, { progress }) {
  if (input.say !== undefined) return input.say;
  if (input.progress !== undefined) progress(input.progress);
  if (input.fail !== undefined) throw new Error(input.fail);
  if (input.crash === true) process.exit(3);
  if (input.break === true) return new Promise(() => setImmediate(() => { throw new Error('a bug'); }));
  writeFileSync(input.begun, '');
  while (!existsSync(input.until)) {}
  return 'released';
}`;

async function open(): Promise<{ url: string; begun: string; until: string }> {
  const dir = await makeDataDir();
  mkdirSync(join(dir, 'own'));
  const path = join(dir, 'own', 'handler.mjs');
  writeFileSync(path, module);
  const { url } = await openService({
    workloadOf: () => threadWorkload('told', path),
    endpoints: [endpointSettings({ id: endpointId, workers: 1, retries: 0 })],
  });
  return { url, begun: join(dir, 'own', 'begun'), until: join(dir, 'own', 'until') };
}

it('the service answers while its worker is busy without a pause, and takes on more', async () => {
  const { url, begun, until } = await open();
  const busy = await submit(url, { begun, until });
  await statusOnce(url, busy, 'IN_PROGRESS');
  const next = await submit(url, { say: 'done' });
  while (!existsSync(begun)) await askStatus(url, next);
  expect((await askStatus(url, busy)).json).toMatchObject({ status: 'IN_PROGRESS' });
  expect((await askStatus(url, next)).json).toMatchObject({ status: 'IN_QUEUE' });
  writeFileSync(until, '');
  expect((await statusOnce(url, busy, 'COMPLETED')).output).toBe('released');
  expect((await statusOnce(url, next, 'COMPLETED')).output).toBe('done');
});

it('the service ends a busy worker whose job is cancelled, and continues with another', async () => {
  const { url, begun, until } = await open();
  const busy = await submit(url, { begun, until });
  while (!existsSync(begun)) await askStatus(url, busy);
  await post(url, '', `/v2/${endpointId}/cancel/${busy}`);
  expect((await statusOnce(url, busy, 'CANCELLED')).output).toBeUndefined();
  expect((await statusOnce(url, await submit(url, { say: 'done' }), 'COMPLETED')).output).toBe('done');
});

it.each([
  ['that ends in the middle', { crash: true }, 'thread was ended'],
  ['with a bug', { break: true }, 'a bug'],
])('the service fails the job of a thread %s, and not the next one', async (_name, input, reason) => {
  const { url } = await open();
  expect((await statusOnce(url, await submit(url, input), 'FAILED')).error).toContain(reason);
  expect((await statusOnce(url, await submit(url, { say: 'done' }), 'COMPLETED')).output).toBe('done');
});

it('the service passes on the progress and the error message of a job', async () => {
  const { url } = await open();
  const job = await submit(url, { progress: { done: 1 }, fail: 'no such colour' });
  expect((await statusOnce(url, job, 'FAILED')).error).toBe('no such colour');
});
