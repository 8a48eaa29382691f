/** Long bodies come into memory a few at a time, whoever sends how many. */
import { expect, it } from 'vitest';
import { runPath } from '../../../src/protocol/paths.ts';
import { endpointId, key, openService, submit } from '../service-harness.ts';
import { SlowClient } from './slow-client.ts';

const body = JSON.stringify({ input: { scene: 'x'.repeat(600_000) } });

/** Is told to go on (100) once its body is wanted. */
async function longSubmission(url: string): Promise<SlowClient> {
  const client = await SlowClient.connect(url);
  client.send(
    `POST ${runPath('v2', endpointId)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  );
  return client;
}

it('waits with a long body until there is room, and with no short one', async () => {
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

it('passes over whoever has gone meanwhile, and lets in alone what is larger than all of the room', async () => {
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
