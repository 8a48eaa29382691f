/**
 * Promise: a worker learns in which bucket to put results. The credentials are never shown, and are deleted
 * with the job.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { addKey, PullingWorker } from './pull-harness.ts';
import { enter, openWithConsole } from './console/visit.ts';
import { ask, askStatus, bytesIn, endpointId, openService, post, statusOnce } from './service-harness.ts';

const secret = 'wJalrXUtnFEMI-K7MDENG-secret';
const s3Config = {
  accessId: 'an-access-id',
  accessSecret: secret,
  bucketName: 'night',
  endpointUrl: 'https://bucket.example',
};

async function submit(url: string, more: object): Promise<string> {
  const { status, json } = await post(url, JSON.stringify({ input: { scene: 'x' }, ...more }));
  expect([status, json]).toEqual([200, json]);
  return (json as { id: string }).id;
}

it('hands bucket and webhook to the worker', async () => {
  const { url, dataDir } = await openService({ workers: 0 });
  const worker = new PullingWorker(url, addKey(dataDir, 'worker'), 'w');
  const webhook = `${url}/nowhere`;
  const id = await submit(url, { s3Config, webhook });
  expect(JSON.parse((await worker.take()).text)).toEqual({ id, input: { scene: 'x' }, s3Config, webhook });
  await submit(url, {});
  expect(JSON.parse((await worker.take()).text)).not.toHaveProperty('s3Config');
});

it('shows the credentials nowhere, and has them on no disk once it has tidied up after the job', async () => {
  const service = await openWithConsole({ workers: 0, retentionMs: 1_000_000 });
  const { url, dataDir } = service;
  const worker = new PullingWorker(url, addKey(dataDir, 'worker'), 'w');
  const visit = await enter(url);
  const id = await submit(url, { s3Config });
  await worker.take();
  const views = [
    await ask(url, `/v2/${endpointId}/status/${id}`).then((reply) => reply.text),
    JSON.stringify(await visit.job(id)),
    JSON.stringify(await visit.overview()),
  ];
  for (const view of views) expect(view).not.toContain(secret);
  await worker.done(id, '{"error":"no bucket"}');
  await statusOnce(url, id, 'FAILED');
  const again = await ask(url, `/v2/${endpointId}/retry/${id}`, { method: 'POST' });
  expect([again.status, again.text]).toEqual([409, expect.stringContaining('was deleted when it ended')]);
  await service.close();
  expect((await bytesIn(dataDir)).includes(secret)).toBe(false);
});

it('rejects an invalid bucket without repeating it', async () => {
  const { url } = await openService();
  const { status, text: said } = await post(url, JSON.stringify({ input: { a: 1 }, s3Config: secret }));
  expect([status, said]).toEqual([400, expect.stringContaining('is not accepted; expected an object')]);
  expect(said).not.toContain(secret);
});

it('names the webhook in what it is sent, with worker and times', async () => {
  const receiver = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void receiver.close());
  await once(receiver, 'listening');
  const { url, dataDir } = await openService({ workers: 0 });
  const worker = new PullingWorker(url, addKey(dataDir, 'worker'), 'w');
  const webhook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/done`;
  const id = await submit(url, { webhook });
  await worker.take();
  const [[request, response]] = await Promise.all([
    once(receiver, 'request'),
    worker.done(id, '{"output":1}'),
  ]);
  response.end();
  expect(JSON.parse(await text(request))).toEqual({
    id,
    status: 'COMPLETED',
    input: { scene: 'x' },
    output: 1,
    webhook,
    workerId: 'w',
    delayTime: expect.any(Number),
    executionTime: expect.any(Number),
  });
  expect((await askStatus(url, id)).json).not.toHaveProperty('webhook');
});
