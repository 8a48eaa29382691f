/** Promise: only a few long request bodies are in memory at once, however many clients send them. */
import { expect, it } from 'vitest';
import { runPath } from '../../../src/protocol/paths.ts';
import { endpointId, key, openService, submit } from '../service-harness.ts';
import { SlowClient } from '../http/slow-client.ts';

const body = JSON.stringify({ input: { scene: 'x'.repeat(600_000) } });

/** Sends the head of a long submission. The service answers 100 Continue once it wants the body. */
async function longSubmission(url: string): Promise<SlowClient> {
  const client = await SlowClient.connect(url);
  client.send(
    `POST ${runPath('v2', endpointId)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  );
  return client;
}

it('the service waits with a long body until there is room, and with no short one', async () => {
  const { url } = await openService({ maxBodiesBytes: 1_000_000 });
  const first = await longSubmission(url);
  await first.readUpTo(1);
  const second = await longSubmission(url);
  const secondIsWanted = second.readUpTo(1);
  await submit(url, { scene: 'short' });
  expect([first.text(), second.received]).toEqual([expect.stringMatching(/^HTTP\/1\.1 100 /), 0]);
  first.send(body);
  expect(await first.readToEnd()).toMatch(/"status":"IN_QUEUE"\}$/);
  await secondIsWanted;
  second.send(body);
  expect(await second.readToEnd()).toMatch(/"status":"IN_QUEUE"\}$/);
});

it('the service skips clients that have disconnected, and admits a body larger than the whole limit alone', async () => {
  const { url, troubles } = await openService({ maxBodiesBytes: 1 });
  const first = await longSubmission(url);
  await first.readUpTo(1);
  const [gone, last] = [await longSubmission(url), await longSubmission(url)];
  await submit(url, { scene: 'short' });
  gone.leave();
  first.leave();
  await last.readUpTo(1);
  last.send(body);
  expect(await last.readToEnd()).toMatch(/"status":"IN_QUEUE"\}$/);
  expect(troubles).toEqual([]);
});

it('the service tells a client that would wait too long for memory to retry', async () => {
  const { url } = await openService({
    maxBodiesBytes: 1_000_000,
    clientLimits: { roomMs: 50, drainMs: 200 },
  });
  const first = await longSubmission(url);
  await first.readUpTo(1);
  const second = await longSubmission(url);
  expect(await second.readToEnd()).toMatch(/^HTTP\/1\.1 429 .*Retry-After: 10\r.*nothing was done/s);
  first.send(body);
  expect(await first.readToEnd()).toMatch(/"status":"IN_QUEUE"\}$/);
});

it.each([
  ['room', { maxBodiesBytes: 2_500_000 }],
  ['connections', { maxConnections: 4 }],
])(
  'the service keeps half of the %s for those who are quick: of too many slow ones the one that needs longest is refused',
  async (_, limits) => {
    const clientLimits = { slowMs: 100, checkEveryMs: 10, drainMs: 200 };
    const { url, held, troubles } = await openService({ ...limits, clientLimits });
    const begin = async (sent: number): Promise<SlowClient> => {
      const client = await longSubmission(url);
      await client.readUpTo(1);
      client.send(body.slice(0, sent));
      return client;
    };
    const [many, few, half] = [await begin(400_000), await begin(1_000), await begin(300_000)];
    expect(await few.readToEnd()).toMatch(/HTTP\/1\.1 429 .*Retry-After: 30\r.*nothing was done/s);
    half.send(body.slice(300_000));
    expect(await half.readToEnd()).toMatch(/"status":"IN_QUEUE"\}$/);
    const quick = await begin(body.length);
    expect(await quick.readToEnd()).toMatch(/"status":"IN_QUEUE"\}$/);
    many.send(body.slice(400_000));
    expect(await many.readToEnd()).toMatch(/"status":"IN_QUEUE"\}$/);
    for (let count = 0; count < 3; count++) (await held.next()).complete(1);
    expect(troubles).toEqual([]);
  },
);
