/** Promise: slow clients hold connections and memory no longer than allowed. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { firstTier, rest } from '../../fakes/tier.ts';
import type { ServiceOptions } from '../../../src/service/instance/service-options.ts';
import { type ClientLimits, defaultClientLimits, refusal } from '../../../src/lib/http/http-response.ts';
import { startHttpServer } from '../../../src/lib/http/http-server.ts';
import { healthPath, runPath, statusPath } from '../../../src/protocol/paths.ts';
import { ask, askStatus, endpointId, key, openService, submit } from '../service-harness.ts';
import { SlowClient } from './slow-client.ts';

const never = 10 * 60_000;

/** Disables all limits except the given ones. */
function only(limits: Partial<ClientLimits>): Required<Pick<ServiceOptions, 'requestTimeoutMs'>> & {
  clientLimits: Partial<ClientLimits>;
} {
  const patient = { headMs: never, idleMs: never, keepAliveMs: never, readingMs: never };
  return { clientLimits: { ...patient, checkEveryMs: 10, ...limits }, requestTimeoutMs: never };
}

const requestTimeoutMs = 100;

const body = JSON.stringify({ input: { scene: 'x'.repeat(200_000) } });

const run = runPath('v2', endpointId);
const head = `POST ${run} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;

/** Sends a byte in each turn of the event loop, until the connection is closed. */
async function drip(client: SlowClient): Promise<string> {
  const end = client.readToEnd();
  while (!client.isClosed) {
    client.send('x');
    await nextTurn();
  }
  return await end;
}

describe('a client that', () => {
  firstTier.it('sends nothing gets an error and is disconnected', async () => {
    const { url } = await openService(only({ headMs: 50 }));
    const client = await SlowClient.connect(url);
    expect(await client.readToEnd()).toMatch(/^HTTP\/1\.1 408 .*the request took too long to arrive"\}$/s);
  });

  firstTier.it(
    'sends the head of its request a byte at a time gets an error and is disconnected',
    async () => {
      const { url } = await openService(only({ headMs: 50 }));
      const client = await SlowClient.connect(url);
      client.send(`${head}X: `);
      expect(await drip(client)).toMatch(/^HTTP\/1\.1 408 /);
    },
  );

  firstTier.it.each([
    ['of a known length', `Content-Length: ${body.length}\r\n\r\n`, (text: string) => text],
    [
      'in chunks',
      'Transfer-Encoding: chunked\r\n\r\n',
      (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`,
    ],
  ])('sends a body %s slowly has all the time that it needs', async (_how, framing, framed) => {
    const { url } = await openService({ ...only({ bytesSentPerSecond: 1 }), requestTimeoutMs });
    const client = await SlowClient.connect(url);
    client.send(head + framing);
    const begunAt = performance.now();
    let sent = 0;
    for (; performance.now() - begunAt < 5 * requestTimeoutMs; sent += 1) {
      client.send(framed(body.slice(sent, sent + 1)));
      await nextTurn();
    }
    client.send(framed(body.slice(sent)) + (framing.includes('chunked') ? '0\r\n\r\n' : ''));
    await client.readUpTo(1);
    expect(client.text()).toMatch(/^HTTP\/1\.1 200 .*"status":"IN_QUEUE"\}$/s);
  });

  rest.it('sends more slowly than any real connection is refused', async () => {
    const { url, held, troubles } = await openService({
      ...only({ bytesSentPerSecond: 1e12 }),
      requestTimeoutMs,
    });
    const client = await SlowClient.connect(url);
    client.send(`${head}Content-Length: 9000000\r\n\r\n{"input":{"scene":"`);
    expect(await drip(client)).toMatch(/^HTTP\/1\.1 408 .*stopped coming.*nothing was done/s);
    expect([held.runs, troubles]).toEqual([[], []]);
  });

  firstTier.it.each([1, 100_000])(
    'stops %i bytes before the end is refused, and its request is not done, although the rest comes after all',
    async (missing) => {
      let now = 0;
      let passesMs = 10;
      const elapsed = () => (now += passesMs);
      const { url, held, troubles } = await openService({ ...only({}), requestTimeoutMs, elapsed });
      const client = await SlowClient.connect(url);
      client.send(`${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, -missing)}`);
      await client.readUpTo(1);
      // From here on no time passes, so other requests do not time out on a slow machine.
      passesMs = 0;
      expect(client.text()).toMatch(/^HTTP\/1\.1 408 /);
      client.send(body.slice(-missing));
      await client.readToEnd();
      await submit(url, { scene: 'the only one' });
      const { job } = await held.next();
      expect([job.inputText, held.runs.length]).toEqual(['{"scene":"the only one"}', 1]);
      expect((await ask(url, healthPath('v2', endpointId))).json).toMatchObject({
        jobs: { inQueue: 0, inProgress: 1, completed: 0, failed: 0 },
      });
      expect(troubles).toEqual([]);
    },
  );

  firstTier.it(
    'sends without end and without a key is disconnected once it could read the refusal',
    async () => {
      const { url } = await openService(only({ drainMs: 50 }));
      const client = await SlowClient.connect(url);
      client.send(`POST ${run} HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n`);
      expect(await drip(client)).toMatch(/^HTTP\/1\.1 401 /);
    },
  );

  rest.it('was refused for its head, and sends without end, is disconnected', async () => {
    const { url } = await openService(only({ drainMs: 50 }));
    const client = await SlowClient.connect(url, { allowHalfOpen: true });
    client.send('no HTTP\r\n\r\n');
    expect(await drip(client)).toMatch(/^HTTP\/1\.1 400 /);
  });

  rest.it('is still sending when the service stops gets an error, and nothing is done', async () => {
    const { url, dataDir, close } = await openService(only({ drainMs: 50 }));
    const client = await SlowClient.connect(url);
    client.send(`${head}Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`);
    await client.readUpTo(1);
    client.send(body.slice(0, -1));
    const closed = close();
    expect(await client.readToEnd()).toMatch(/HTTP\/1\.1 503 .*the service is stopping; nothing was done/s);
    await closed;
    const again = await openService({ dataDir });
    expect((await ask(again.url, healthPath('v2', endpointId))).json).toMatchObject({ jobs: { inQueue: 0 } });
  });

  firstTier.it(
    'continues to send a refused body is disconnected once it could read the refusal',
    async () => {
      const { url } = await openService({ ...only({ drainMs: 50 }), maxRequestBytes: 1_000 });
      const client = await SlowClient.connect(url);
      client.send(`${head}Content-Length: 9000000\r\n\r\n`);
      expect(await drip(client)).toMatch(/^HTTP\/1\.1 400 .*exceeded max body size/s);
    },
  );

  rest.it('sends no further request is disconnected', async () => {
    const { url } = await openService(only({ keepAliveMs: 50 }));
    const client = await SlowClient.connect(url);
    client.ask(healthPath('v2', endpointId));
    expect(await client.readToEnd()).toMatch(/^HTTP\/1\.1 200 /);
  });
});

/** Resolves to the service's socket of the next request. */
function nextAsked(): Promise<Socket> {
  return new Promise((resolve) => {
    const noteContact = (message: unknown): void => {
      unsubscribe('http.server.request.start', noteContact);
      resolve((message as { socket: Socket }).socket);
    };
    subscribe('http.server.request.start', noteContact);
  });
}

rest.describe('an answer that is not read', () => {
  /** More text than the buffers of the operating system hold. */
  const text = 'x'.repeat(40_000_000);

  it.each<[string, string, Partial<ClientLimits>]>([
    ['a file', 'at all', { idleMs: 300 }],
    ['a file', 'fast enough', { readingMs: 300, bytesReadPerSecond: 1e12 }],
    ['memory', 'at all', { idleMs: 3_000 }],
    ['memory', 'fast enough', { readingMs: 300, bytesReadPerSecond: 1e12 }],
  ])('out of %s %s is cut', async (source, _how, limits) => {
    const { url, held, troubles } = await openService({ ...only(limits), maxRequestBytes: 2 * text.length });
    const isFile = source === 'a file';
    const id = await submit(url, { scene: isFile ? 'x' : text });
    const atWork = await held.next();
    if (isFile) atWork.complete(text);
    if (isFile) await untilCompleted(url);
    const asked = nextAsked();
    const reader = await SlowClient.connect(url);
    reader.ask(statusPath('v2', endpointId, id));
    await once(await asked, 'close');
    await reader.readToEnd();
    expect(reader.received).toBeLessThan(text.length);
    expect(troubles).toEqual([]);
  });

  it('out of a stream fast enough is cut', async () => {
    let end = (): void => undefined;
    const left = new Promise<void>((resolve) => (end = resolve));
    const pieces = async function* (): AsyncGenerator<Buffer> {
      try {
        yield Buffer.alloc(text.length);
      } finally {
        end();
      }
    };
    const { clientLimits } = only({ readingMs: 300, bytesReadPerSecond: 1e12 });
    const server = await startHttpServer({
      host: '127.0.0.1',
      port: 0,
      tls: undefined,
      now: Date.now,
      elapsed: () => performance.now(),
      maxConnections: 10,
      maxBodiesBytes: 1,
      requestTimeoutMs: never,
      bodyTimeMs: never,
      clientLimits: { ...defaultClientLimits, ...clientLimits },
      answerRequest: async () => ({ status: 200, body: '', pieces: pieces() }),
      answerError: (error) => refusal(500, String(error)),
      onProblem: (problem) => expect.fail(problem),
    });
    onTestFinished(() => server.close());
    const reader = await SlowClient.connect(server.url);
    reader.ask('/');
    await left;
    await reader.readToEnd();
    expect(reader.received).toBeLessThan(text.length);
  });
});

async function untilCompleted(url: string): Promise<void> {
  while (!(await ask(url, healthPath('v2', endpointId))).text.includes('"completed":1'));
}

firstTier.it('closes the connection without a request for longest, if there are too many', async () => {
  const { url } = await openService({ ...only({}), maxConnections: 3 });
  const silent = await Promise.all([1, 2, 3].map(() => SlowClient.connect(url)));
  const fourth = await SlowClient.connect(url);
  fourth.ask(healthPath('v2', endpointId));
  await fourth.readUpTo(1);
  expect(fourth.text()).toMatch(/^HTTP\/1\.1 200 /);
  await expect.poll(() => silent.filter(({ isClosed }) => isClosed).length, { timeout: 60_000 }).toBe(1);
});

firstTier.it('answers requests that come in one packet one after the other, in their order', async () => {
  const { url, held } = await openService();
  const id = await submit(url, { scene: 'x' });
  const atWork = await held.next();
  const client = await SlowClient.connect(url);
  const asking = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  const sync = `/v2/${endpointId}/status-sync/${id}`;
  client.send([statusPath('v2', endpointId, id), sync, '/nothing', sync].map(asking).join(''));
  await client.readUpTo(1);
  atWork.complete('done');
  const told = () => client.text().match(/HTTP\/1\.1 \d+|"status":"\w+"/g);
  while ((told()?.length ?? 0) < 7) await client.readUpTo(client.received + 1);
  expect(
    told()
      ?.join(' ')
      .replaceAll(/HTTP\/1\.1 |"status":/g, ''),
  ).toBe('200 "IN_PROGRESS" 200 "COMPLETED" 404 200 "COMPLETED"');
});

rest.it('cuts a connection on which requests without end wait for their turn', async () => {
  const { url, held } = await openService();
  const id = await submit(url, { scene: 'x' });
  await held.next();
  const client = await SlowClient.connect(url);
  client.ask(`/v2/${endpointId}/status-sync/${id}`);
  client.send('GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5_000));
  expect(await client.readToEnd()).toBe('');
  expect((await ask(url, healthPath('v2', endpointId))).status).toBe(200);
});

rest.it('keeps no answer in memory for requests whose turn has not come', async () => {
  const length = 8_000_000;
  const { url, held, troubles } = await openService();
  const id = await submit(url, { scene: 'x'.repeat(length) });
  await held.next();
  const before = process.memoryUsage().arrayBuffers;
  const client = await SlowClient.connect(url);
  for (let count = 0; count < 50; count++) client.ask(statusPath('v2', endpointId, id));
  await client.readUpTo(1);
  await askStatus(url, id);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10 * length);
  client.leave();
  expect((await askStatus(url, id)).status).toBe(200);
  expect(troubles).toEqual([]);
});
