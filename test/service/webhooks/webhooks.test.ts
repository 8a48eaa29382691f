/**
 * Promise: a signed webhook reports the end of a job. It is repeated with growing waits while the job is
 * kept, over restarts, whatever its target does.
 */
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { AnswerOf } from '../../../src/protocol/operations.ts';
import { listenOnLoopback } from '../../e2e/listen-on-loopback.ts';
import { withKeys } from '../console/visit.ts';
import { addKey } from '../pull-harness.ts';
import { ask, endpointId, instantWorkload, makeDataDir, openService, post } from '../service-harness.ts';

interface Told {
  path: string;
  text: string;
  type: string | undefined;
  headers: IncomingHttpHeaders;
}

/** Starts a webhook receiver that answers as the test says. */
async function openTarget(answer: (response: ServerResponse) => void) {
  const told: Told[] = [];
  const noteContact = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await textOf(request);
    const { url = '', headers } = request;
    told.push({ path: url, text, type: headers['content-type'], headers });
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

/** Advances the clock, and lets the service check for due webhooks. */
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
  return (reply.json as AnswerOf<'status'>).id;
}

it('a webhook posts the job with its input and output, once if it is heard', async () => {
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
    id: (json as AnswerOf<'status'>).id,
    status: 'COMPLETED',
    delayTime: 0,
    executionTime: 0,
  });
  for (let count = 0; count < 5; count++) await pass(clock, 600_000);
  expect(target.told).toHaveLength(1);
  expect(troubles).toEqual([]);
});

it('a webhook reports a failure, a large result, and a cancelled job, too', async () => {
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
  const told = target.told.map(({ text }) => JSON.parse(text) as AnswerOf<'status'>);
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
])(
  'a webhook tries with growing waits at a target that %s, while the job is kept, and says once that it gave up',
  async (_what, answer) => {
    const clock = holdTime();
    const target = await openTarget(answer);
    const { url, troubles } = await openService({ now: () => clock.now, workload: instantWorkload(() => 1) });
    const id = await submitWith(url, `${target.url}/told`);
    await until(() => target.told.length > 0);
    for (const [index, pauseMs] of [10, 10, 20, 40, 80, 160, 320, 640].map((s) => s * 1_000).entries()) {
      await pass(clock, pauseMs - 1);
      expect(target.told).toHaveLength(index + 1);
      await pass(clock, 1);
      await until(() => target.told.length > index + 1);
    }
    await until(() => troubles.length > 0);
    for (let count = 0; count < 5; count++) await pass(clock, 600_000);
    expect(target.told.map(({ path }) => path)).toEqual(Array.from({ length: 9 }, () => '/told'));
    expect(troubles).toEqual([expect.stringContaining(`the webhook of job ${id} to 127.0.0.1`)]);
    expect(troubles[0]).toContain('was given up after 9 tries, and can be sent again in the console:');
  },
);

it('a webhook gives up at once at a target that wants no more, with 410', async () => {
  const clock = holdTime();
  const target = await openTarget((response) => void response.writeHead(410).end());
  const { url, troubles } = await openService({ now: () => clock.now, workload: instantWorkload(() => 1) });
  await submitWith(url, target.url);
  await until(() => troubles.length > 0);
  for (let count = 0; count < 5; count++) await pass(clock, 600_000);
  expect([target.told.length, troubles.length]).toEqual([1, 1]);
  expect(troubles[0]).toMatch(/given up after 1 try, .*: it answered 410$/);
});

it('a webhook continues with its tries after restarts in the middle of one', async () => {
  const clock = holdTime();
  let isHeard = false;
  const target = await openTarget((response) => void (isHeard && response.end()));
  const dataDir = await makeDataDir();
  const options = { dataDir, now: () => clock.now, workload: instantWorkload(() => 1) };
  let service = await openService(options);
  await submitWith(service.url, target.url);
  for (let tries = 1; tries <= 2; tries++) {
    await until(() => target.told.length === tries);
    await service.close();
    isHeard = tries === 2;
    service = await openService(options);
    await pass(clock, 9_999);
    expect(target.told).toHaveLength(tries);
    await pass(clock, 20_000);
  }
  await until(() => target.told.length === 3);
  for (let count = 0; count < 5; count++) await pass(clock, 600_000);
  expect(target.told).toHaveLength(3);
});

/** Verifies the signature as receivers do, by the Standard Webhooks specification. */
function isGenuine({ headers, text }: Told, secret: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const content = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${text}`;
  const expected = `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
  return String(headers['webhook-signature']).split(' ').includes(expected);
}

async function secretOf(url: string, withKey?: string): Promise<string> {
  const headers = withKey === undefined ? {} : { Authorization: `Bearer ${withKey}` };
  const { json } = await ask(url, `/v2/${endpointId}/webhook-secret`, { headers });
  return (json as { secret: string }).secret;
}

it('a webhook signs each try with the secret of the key that submitted the job: the same id, a time of its own', async () => {
  const clock = holdTime();
  const target = await openTarget(
    (response) => void response.writeHead(target.told.length < 2 ? 500 : 200).end(),
  );
  const dataDir = await makeDataDir();
  const other = addKey(dataDir, 'client');
  const options = { dataDir, now: () => clock.now, workload: instantWorkload(() => 'x'.repeat(400_000)) };
  const first = await openService(options);
  const [secret, foreign] = [await secretOf(first.url), await secretOf(first.url, other)];
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  await submitWith(first.url, target.url);
  await until(() => target.told.length === 1);
  await first.close();
  // The secret is the same after a restart.
  const { url } = await openService(options);
  expect(await secretOf(url)).toBe(secret);
  await pass(clock, 10_000);
  await until(() => target.told.length === 2);
  const ids = target.told.map(({ headers }) => headers['webhook-id']);
  expect(new Set(ids).size).toBe(1);
  for (const told of target.told) {
    expect([isGenuine(told, secret), isGenuine(told, foreign)]).toEqual([true, false]);
    expect(isGenuine({ ...told, text: told.text.replace('COMPLETED', 'FAILED') }, secret)).toBe(false);
    const later = { ...told.headers, 'webhook-timestamp': '1999999999' };
    expect(isGenuine({ ...told, headers: later }, secret)).toBe(false);
    // The timestamp is the system time, whatever clock is used for the ages of jobs.
    expect(Math.abs(Number(told.headers['webhook-timestamp']) * 1_000 - Date.now())).toBeLessThan(600_000);
  }
});

it('a webhook signs with the secrets of both texts of a rotated key while they overlap, and then with the new one', async () => {
  const target = await openTarget(ok);
  const dataDir = await makeDataDir();
  let key = addKey(dataDir, 'client');
  const { url } = await openService({ dataDir, workload: instantWorkload(() => 1) });
  const render = async (): Promise<void> => {
    const body = JSON.stringify({ input: { scene: 'x' }, webhook: target.url });
    const headers = { Authorization: `Bearer ${key}` };
    expect((await ask(url, `/v2/${endpointId}/run`, { method: 'POST', body, headers })).status).toBe(200);
  };
  const secrets = [await secretOf(url, key)];
  for (const overlap of ['1d', '']) {
    key = withKeys(dataDir, (keys) => keys.rotate('client-0', { overlap }))?.key ?? '';
    secrets.push(await secretOf(url, key));
    await render();
    await expect.poll(() => target.told.length).toBe(secrets.length - 1);
  }
  expect(target.told.map((told) => secrets.map((secret) => isGenuine(told, secret)))).toEqual([
    [true, true, false],
    [false, false, true],
  ]);
});

it('a webhook has another id for the next end of a job', async () => {
  const clock = holdTime();
  const target = await openTarget(ok);
  const { url, held } = await openService({ now: () => clock.now });
  const id = await submitWith(url, target.url);
  (await held.next()).fail(new Error('no'));
  await until(() => target.told.length === 1);
  clock.now += 1;
  await ask(url, `/v2/${endpointId}/retry/${id}`, { method: 'POST' });
  (await held.next()).complete([1]);
  await until(() => target.told.length === 2);
  expect(new Set(target.told.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
});

it('a webhook reports each end of a job that is retried', async () => {
  const clock = holdTime();
  const target = await openTarget(ok);
  const { url, held } = await openService({ now: () => clock.now });
  const id = await submitWith(url, target.url);
  (await held.next()).fail(new Error('no'));
  await until(() => target.told.length === 1);
  await ask(url, `/v2/${endpointId}/retry/${id}`, { method: 'POST' });
  (await held.next()).complete([1]);
  await until(() => target.told.length === 2);
  expect(target.told.map(({ text }) => (JSON.parse(text) as AnswerOf<'status'>).status)).toEqual([
    'FAILED',
    'COMPLETED',
  ]);
});
