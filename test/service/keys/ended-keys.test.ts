/** Promise: when a key ends, its uploads, results, waiting requests and console forms end too. */
import { expect, it } from 'vitest';
import { enter, openWithConsole, withKeys } from '../console/visit.ts';
import { halfSent, SlowClient } from '../http/slow-client.ts';
import { addKey, PullingWorker, revokeKey } from '../pull-harness.ts';
import { ask, askStatus, endpointId, openService, submit } from '../service-harness.ts';

const ended = 'the API key was revoked or has expired since the request began';

/** Resolves when the service has admitted a request of the key at this time. */
async function usedAt(dataDir: string, name: string, now: number): Promise<void> {
  const lastUse = () =>
    withKeys(dataDir, (keys) => keys.list().find((key) => key.name === name)?.lastUsedAt ?? null);
  await expect.poll(lastUse, { timeout: 60_000, interval: 5 }).toBe(now);
}

it('the service takes no job whose body ends after its key did', async () => {
  const { url, dataDir } = await openService({ workers: 0 });
  const key = addKey(dataDir, 'client');
  const headers = { Authorization: `Bearer ${key}` };
  const upload = await halfSent(url, `/v2/${endpointId}/run`, headers, '{"input":{"scene":"x"}}');
  revokeKey(dataDir, 'client-0');
  expect(await upload.finish()).toMatch(new RegExp(`\r\n\r\nHTTP/1.1 401 .*${ended}`, 's'));
  expect((await ask(url, `/v2/${endpointId}/health`)).json).toMatchObject({ jobs: { inQueue: 0 } });
});

it('the service takes no result whose body ends after the key of its worker did', async () => {
  const { url, dataDir, troubles } = await openService({ workers: 0 });
  const key = addKey(dataDir, 'worker');
  const worker = new PullingWorker(url, key, 'w1');
  const id = await submit(url, { scene: 'x' });
  await worker.take();
  const path = `/v2/${endpointId}/job-done/w1/${id}`;
  const result = await halfSent(url, path, { Authorization: key }, '{"output":"forged"}');
  revokeKey(dataDir, 'worker-0');
  expect(await result.finish()).toMatch(new RegExp(`HTTP/1.1 401 .*${ended}`, 's'));
  expect((await askStatus(url, id)).json).toMatchObject({ status: 'IN_PROGRESS' });
  expect(troubles).toEqual([expect.stringContaining(ended)]);
});

it.each(['status-sync', 'stream'])(
  'the service reveals nothing by a %s that was held while its key ended',
  async (what) => {
    const now = Date.now();
    const { url, dataDir, held } = await openService({ now: () => now });
    const answerOnceEnded = async (attempt = 0): Promise<unknown> => {
      const headers = { Authorization: `Bearer ${addKey(dataDir, 'client')}` };
      const name = `client-${attempt}`;
      const id = await submit(url, { scene: 'x' });
      const run = await held.next();
      const waiting = ask(url, `/v2/${endpointId}/${what}/${id}`, { headers });
      await usedAt(dataDir, name, now);
      revokeKey(dataDir, name);
      run.complete('secret');
      const { status, json } = await waiting;
      // A stream request is held for a second, which a slow machine may exceed.
      const isTooLate = status === 200 && (json as { status: string }).status === 'IN_PROGRESS';
      return isTooLate ? await answerOnceEnded(attempt + 1) : [status, json];
    };
    expect(await answerOnceEnded()).toEqual([401, { error: ended }]);
  },
);

it('the service reveals nothing to a worker by a job-stop that was held while its key ended', async () => {
  let now = Date.now();
  const { url, dataDir } = await openService({ workers: 0, now: () => now });
  const worker = new PullingWorker(url, addKey(dataDir, 'worker'), 'w1');
  const id = await submit(url, { scene: 'x' });
  await worker.take();
  // After this time, the next use of the key is recorded again.
  now += 100_000;
  const stopping = worker.ask('/job-stop/w1');
  await usedAt(dataDir, 'worker-0', now);
  revokeKey(dataDir, 'worker-0');
  await ask(url, `/v2/${endpointId}/cancel/${id}`, { method: 'POST' });
  expect(await stopping).toMatchObject({ status: 204, text: '' });
});

it('the service makes no key for a form of the console that ends after its session did', async () => {
  const { url, dataDir } = await openWithConsole();
  const { key } = withKeys(dataDir, (keys) => keys.add({ name: 'mine', kind: 'admin', endpoints: null }));
  const { headers } = await enter(url, key);
  const body = JSON.stringify({ name: 'theirs', kind: 'admin', endpoints: null });
  const form = await halfSent(url, '/console/api/keys', headers, body);
  revokeKey(dataDir, 'mine');
  expect(await form.finish()).toMatch(/HTTP\/1\.1 401 /);
  expect(withKeys(dataDir, (keys) => keys.list().map(({ name }) => name))).toEqual(['mine']);
});

it('the service refuses a body that keeps arriving after its time is over, and does nothing', async () => {
  const { url } = await openService({
    workers: 0,
    bodyTimeMs: 50,
    clientLimits: { checkEveryMs: 10, bytesSentPerSecond: 1, drainMs: 100 },
  });
  const client = await SlowClient.connect(url);
  const key = 'Authorization: Bearer key-of-the-tests';
  client.send(`POST /v2/${endpointId}/run HTTP/1.1\r\nHost: x\r\n${key}\r\nContent-Length: 1000000\r\n\r\n`);
  const drip = setInterval(() => client.send('x'), 1);
  const answer = await client.readToEnd();
  clearInterval(drip);
  expect(answer).toMatch(
    /^HTTP\/1\.1 408 .*"the body of the request took longer than 50ms; nothing was done"/s,
  );
});
