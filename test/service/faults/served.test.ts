/** Promise: a service with faults on does wrong to the clients of its job interface alone, and is otherwise whole. */
import { EventEmitter, on, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { Client } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endpointSettings } from '../../../src/service/endpoint-settings.ts';
import { faultTable } from '../../../src/service/faults/fault-table.ts';
import { jobFaults } from '../../../src/service/faults/job-faults.ts';
import { KeyStore } from '../../../src/service/keys/key-store.ts';
import { runPath } from '../../../src/protocol/paths.ts';
import { noise } from '../../runner/images/pictures.ts';
import {
  ask,
  askStatus,
  bytesIn,
  endpointId,
  instantWorkload,
  key,
  makeDataDir,
  openService,
  post,
  submit,
} from '../service-harness.ts';
import { faultyService, first, impatientClient, scripted } from './faulty-service.ts';

const everything = { submit: new Map(), status: new Map(), job: new Map(), everything: new Map() };

describe('leaves alone', () => {
  it('workers that pull, while clients get nowhere', async () => {
    const script = [scripted('everything', 'out-of-credit', { nth: { first: 2, last: 1_000 } })];
    const endpoints = [endpointSettings({ id: endpointId, workers: 0 })];
    const dataDir = await makeDataDir();
    const headers = { Authorization: `Bearer ${workerKeyIn(dataDir)}` };
    const { url, met } = await faultyService({ script }, { endpoints, dataDir });
    const id = await submit(url, { scene: 'a hill' });
    const at = `/v2/${endpointId}`;
    const taken = await ask(url, `${at}/job-take/worker-1?gpu=x`, { headers });
    expect(taken.json).toEqual({ id, input: { scene: 'a hill' } });
    expect((await ask(url, `${at}/ping/worker-1?job_id=${id}`, { headers })).status).toBe(200);
    const result = { method: 'POST', headers, body: JSON.stringify({ output: [1] }) };
    expect((await ask(url, `${at}/job-done/worker-1/${id}?gpu=x`, result)).json).toEqual({ accepted: true });
    expect(met).toEqual([]);
    expect((await askStatus(url, id)).status).toBe(402);
  });

  it('requests for what is no operation', async () => {
    const rates = { ...everything, everything: new Map([['reset', 1]]) };
    const { url, met } = await faultyService({ rates });
    expect((await ask(url, '/v2/no-such/operation')).status).toBe(404);
    expect(met).toEqual([]);
  });
});

describe('a client that waits for the job', () => {
  it.each(['runsync', 'render'])('is told by %s what becomes of it', async (operation) => {
    const script = [scripted('job', 'timed-out', first)];
    const { url } = await faultyService({ script });
    const path = `/v2/${endpointId}/${operation}`;
    const bad = await post(url, '{"input":{"scene":"a hill"}}', path);
    expect(bad.json).toMatchObject({ status: 'TIMED_OUT' });
    const good = await post(url, '{"input":{"scene":"a hill"}}', path);
    expect(good.json).toMatchObject({ status: 'COMPLETED' });
  });

  it('is told by status-sync and stream as well', async () => {
    const script = [scripted('job', 'lost', first)];
    const { url, idle } = await faultyService({ script });
    const id = await submit(url, { scene: 'a hill' });
    await idle();
    for (const operation of ['status-sync', 'stream'])
      expect((await ask(url, `/v2/${endpointId}/${operation}/${id}`)).status).toBe(404);
  });
});

it('tells a webhook of a job what is told to whoever asks, and when it is told', async () => {
  const slow = scripted('job', 'slow', first);
  const script = [slow, scripted('job', 'failed-list')];
  const { url, clock } = await faultyService({ script });
  const heard = await hearing();
  const body = JSON.stringify({ input: { scene: 'a hill' }, webhook: heard.url });
  const ids: string[] = [];
  for (let i = 0; i < 2; i++) ids.push(((await post(url, body)).json as { id: string }).id);
  expect(await heard.next()).toMatchObject({
    id: ids[1],
    status: 'FAILED',
    error: [expect.any(String), expect.any(String)],
    input: { scene: 'a hill' },
  });
  clock.nowMs += 60_000;
  expect(await heard.next()).toMatchObject({ id: ids[0], status: 'COMPLETED' });
});

it('meets at a job of a script what is said of it, and not at others', async () => {
  const script = [scripted('status', 'endpoint-gone', { job: 2 })];
  const { url, idle } = await faultyService({ script });
  const [one, two] = [await submit(url, { scene: 'one' }), await submit(url, { scene: 'two' })];
  await idle();
  expect((await askStatus(url, one)).status).toBe(200);
  expect((await askStatus(url, two)).json).toEqual({ detail: 'endpoint not found' });
});

it('damages pictures that are kept in files, and keeps the damaged one only', async () => {
  const png = await noise(400, 400).png().toBuffer();
  const whole = png.toString('base64');
  expect(whole.length).toBeGreaterThan(256 * 1024);
  const script = [scripted('job', 'picture-cut')];
  const workload = instantWorkload(() => [{ rendered_image: whole, seed: 4 }]);
  const dataDir = await makeDataDir();
  const service = await faultyService({ script }, { workload, dataDir });
  const id = await submit(service.url, { scene: 'a hill' });
  await service.idle();
  const { output } = (await askStatus(service.url, id)).json as { output: [{ rendered_image: string }] };
  const told = Buffer.from(output[0].rendered_image, 'base64');
  expect(told.length).toBeLessThan(png.length);
  expect(png.subarray(0, told.length).equals(told)).toBe(true);
  await service.close();
  expect((await bytesIn(dataDir)).includes(whole)).toBe(false);
});

it('writes down how a job ended, so that it is told so after a restart', async () => {
  const dataDir = await makeDataDir();
  const service = await faultyService({ script: [scripted('job', 'failed')] }, { dataDir });
  const id = await submit(service.url, { scene: 'a hill' });
  await service.idle();
  await service.close();
  const { url } = await openService({ dataDir });
  expect((await askStatus(url, id)).json).toMatchObject({ status: 'FAILED' });
});

it('tells of each job after a restart what it told before, by whatever fault that was', async () => {
  const dataDir = await makeDataDir();
  // Those that pass with time are over by then.
  const names = Object.keys(jobFaults).filter((name) => !['slow', 'unknown-at-first'].includes(name));
  const script = names.map((name, index) =>
    scripted('job', name, { nth: { first: index + 1, last: index + 1 } }),
  );
  const before = await faultyService({ script }, { dataDir });
  const ids: string[] = [];
  for (const name of names) ids.push(await submit(before.url, { name }));
  await before.idle();
  const statuses = async (url: string) =>
    await Promise.all(ids.map(async (id, index) => [names[index], (await askStatus(url, id)).text]));
  const told = await statuses(before.url);
  await before.close();
  const after = await faultyService({}, { dataDir });
  expect(await statuses(after.url)).toEqual(told);
});

it('takes no job of a former service for one of its own, and keeps to it that one was cancelled', async () => {
  const dataDir = await makeDataDir();
  const before = await faultyService({ script: [scripted('job', 'never-begins')] }, { dataDir });
  const id = await submit(before.url, { scene: 'a hill' });
  await before.idle();
  const path = `/v2/${endpointId}/cancel/${id}`;
  expect((await ask(before.url, path, { method: 'POST' })).json).toEqual({ id, status: 'CANCELLED' });
  await before.close();
  const ofTheFirst = scripted('status', 'html-502', { job: 1 });
  const after = await faultyService({ script: [ofTheFirst] }, { dataDir });
  expect((await askStatus(after.url, id)).json).toEqual({ id, status: 'CANCELLED' });
  expect(after.met).toEqual([]);
});

it('tells the truth where it is started without faults', async () => {
  const dataDir = await makeDataDir();
  const before = await faultyService({ script: [scripted('job', 'cancelled')] }, { dataDir });
  const id = await submit(before.url, { scene: 'a hill' });
  await before.idle();
  expect((await askStatus(before.url, id)).json).toMatchObject({ status: 'CANCELLED' });
  await before.close();
  const { url } = await openService({ dataDir });
  expect((await askStatus(url, id)).json).toMatchObject({ status: 'COMPLETED' });
});

it('is of use on the same connection after an answer in the place of a large submission', async () => {
  const { url, met } = await faultyService({ script: [scripted('submit', 'rate-limited', first)] });
  const client = new Client(url);
  const body = JSON.stringify({ input: { scene: 'a hill', photo: 'x'.repeat(5_000_000) } });
  const headers = { Authorization: `Bearer ${key}` };
  const path = runPath('v2', endpointId);
  let connections = 0;
  client.on('connect', () => (connections += 1));
  const told: number[] = [];
  for (let i = 0; i < 2; i++) {
    const answer = await client.request({ method: 'POST', path, body, headers });
    await answer.body.dump();
    told.push(answer.statusCode);
  }
  await client.close();
  expect([told, connections, met.length]).toEqual([[429, 200], 1, 1]);
});

it('tells a client that its body is too large, whatever is to become of the answer', async () => {
  const rates = { ...everything, submit: new Map([['cut', 1]]) };
  const { url } = await faultyService({ rates }, { maxRequestBytes: 1_000 });
  const reply = await post(url, JSON.stringify({ input: { scene: 'x'.repeat(3_000_000) } }));
  expect([reply.status, reply.json]).toEqual([400, { error: 'exceeded max body size' }]);
});

it('has no trouble of its own, whatever it meets and whoever asks', async () => {
  const script = faultTable.everything.map(({ name }, index) =>
    scripted('everything', name, { nth: { first: index + 1, last: index + 1 } }),
  );
  const service = await faultyService({ script });
  const client = impatientClient(service);
  for (const _ of script) await client.health();
  expect(service.met.map(({ fault }) => fault)).toEqual(faultTable.everything.map(({ name }) => name));
  expect((await client.health()).kind).toBe('answers');
  expect(service.troubles).toEqual([]);
});

/** Someone whom webhooks tell; ends with the test. */
async function hearing(): Promise<{ url: string; next: () => Promise<unknown> }> {
  const told = new EventEmitter();
  const server = createServer((request, response) => {
    void json(request).then((body) => told.emit('told', body));
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const all = on(told, 'told');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    next: async () => ((await all.next()).value as unknown[])[0],
  };
}

function workerKeyIn(dataDir: string): string {
  const book = new KeyStore(join(dataDir, 'keys.sqlite'), { now: Date.now });
  const { key: made } = book.add({ name: 'pullers', kind: 'worker', endpoints: null });
  book.close();
  return made;
}
