/**
 * Promise: if the data folder of a running service is deleted, moved or replaced, the service accepts nothing
 * that would be lost.
 */
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { AnswerOf } from '../../../src/protocol/operations.ts';
import {
  askStatus,
  endpointId,
  makeDataDir,
  openService,
  post,
  statusOnce,
  submit,
} from '../service-harness.ts';

const body = '{"input":{"scene":"a hill"}}';

async function openIn(dataDir: string) {
  return await openService({ dataDir, workers: 1 });
}

it.each<[string, (dir: string) => void]>([
  ['deleted', (dir) => rmSync(dir, { recursive: true })],
  ['moved away', (dir) => renameSync(dir, `${dir}-away`)],
  [
    'replaced by an empty one',
    (dir) => {
      rmSync(dir, { recursive: true });
      mkdirSync(dir);
    },
  ],
  [
    'replaced by a copy of itself',
    (dir) => {
      renameSync(dir, `${dir}-away`);
      cpSync(`${dir}-away`, dir, { recursive: true });
    },
  ],
  [
    'replaced by a file',
    (dir) => {
      rmSync(dir, { recursive: true });
      writeFileSync(dir, '');
    },
  ],
  ['without its book', (dir) => rmSync(join(dir, 'service.sqlite'))],
  ['without the log of its book', (dir) => rmSync(join(dir, 'service.sqlite-wal'))],
])('%s: submissions are refused with a message, and it is said once', async (_how, lose) => {
  const dataDir = join(await makeDataDir(), 'data');
  const { url, troubles, held } = await openIn(dataDir);
  const before = await submit(url, { scene: 'before' });
  const run = await held.next();
  lose(dataDir);
  for (const operation of ['run', 'runsync', 'render', 'run']) {
    const reply = await post(url, body, `/v2/${endpointId}/${operation}`);
    expect([reply.status, reply.json]).toEqual([
      503,
      { error: expect.stringContaining('the data folder of the service is missing') as string },
    ]);
  }
  expect(troubles).toEqual([expect.stringMatching(/data was deleted or replaced .*restart the service$/)]);
  run.complete('still sent');
  expect(await statusOnce(url, before, 'COMPLETED')).toMatchObject({ output: 'still sent' });
  expect(held.runs).toHaveLength(1);
});

it('a lost folder is noticed without a request', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const dataDir = join(await makeDataDir(), 'data');
  const { troubles } = await openIn(dataDir);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(troubles).toEqual([]);
  rmSync(dataDir, { recursive: true });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(troubles).toHaveLength(1);
});

it('a service accepts jobs again once its folder was moved back, and has them at the next start', async () => {
  const dataDir = join(await makeDataDir(), 'data');
  const first = await openIn(dataDir);
  renameSync(dataDir, `${dataDir}-away`);
  expect((await post(first.url, body)).status).toBe(503);
  renameSync(`${dataDir}-away`, dataDir);
  await expect.poll(() => first.troubles.at(-1)).toMatch(/is back/);
  const { id } = (await post(first.url, body)).json as AnswerOf<'run'>;
  await first.close();
  const second = await openIn(dataDir);
  expect((await askStatus(second.url, id)).status).toBe(200);
});

it('a failed job is not put back while the folder is lost', async () => {
  const dataDir = join(await makeDataDir(), 'data');
  const { url, held } = await openIn(dataDir);
  const id = await submit(url, { scene: 'x' });
  (await held.next()).fail(new Error('no'));
  await statusOnce(url, id, 'FAILED');
  rmSync(dataDir, { recursive: true });
  expect((await post(url, body)).status).toBe(503);
  expect((await post(url, '', `/v2/${endpointId}/retry/${id}`)).status).toBe(503);
});
