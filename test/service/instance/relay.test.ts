/**
 * Promise: a request forwarded to the leading process is given up only if that process is silent, and
 * repeated if that is safe.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { TrustedProxies } from '../../../src/lib/net/addresses.ts';
import { Relay } from '../../../src/service/instance/relay.ts';
import { answerJson, scriptedServer, type Script } from '../../fakes/scripted-server.ts';

/**
 * Starts a server that relays requests to the leader, and returns its URL. It answers with the result of each
 * request.
 */
async function relayTo(
  leader: Script | string,
  proxies: string[] = [],
  askEveryMs?: number,
): Promise<string> {
  const url = typeof leader === 'string' ? leader : (await scriptedServer(leader)).url;
  const relay = new Relay(Buffer.from('secret'), new TrustedProxies(proxies), askEveryMs);
  onTestFinished(() => relay.close());
  const front = createServer((request, response) => {
    const relayed = relay.prepare(request, new AbortController().signal).send(url);
    void relayed.then((told) => response.end(typeof told === 'string' ? told : String(told.status)));
  });
  return listening(front);
}

it('waits on for a leading process that accepts no more connections', async () => {
  let answer = (): void => undefined;
  let looks = 0;
  const takingNoMore: Script = (socket, request) => {
    if (request.path === '/alive') {
      looks += 1;
      socket.destroy();
    } else answer = () => answerJson({})(socket, request);
  };
  const url = await relayTo(takingNoMore, [], 20);
  const told = fetch(`${url}/v2/e/status-sync/j1`);
  await expect.poll(() => looks).toBeGreaterThanOrEqual(2);
  answer();
  expect(await (await told).text()).toBe('200');
});

it.each<[method: string, path: string, headers: Record<string, string>, told: string]>([
  ['GET', 'status/j1', {}, 'again'],
  ['POST', 'status/j1', {}, 'again'],
  ['POST', 'cancel/j1', {}, 'again'],
  ['POST', 'run', { 'idempotency-key': 'k' }, 'again'],
  ['POST', 'run', {}, 'unknown'],
  ['GET', 'job-take/w1', {}, 'unknown'],
  ['GET', 'stream/j1', {}, 'unknown'],
])('says of %s %s with %j that came to no answer: %s', async (method, path, headers, told) => {
  const url = await relayTo((socket) => socket.destroy());
  expect(await (await fetch(`${url}/v2/e/${path}`, { method, headers })).text()).toBe(told);
});

it('a request that may be done once only waits if its connection broke, until the leading process is heard of again', async () => {
  let isThere = false;
  let sent = 0;
  const url = await relayTo((socket, request) => {
    if (request.path === '/alive' && isThere) return answerJson({})(socket, request);
    if (request.path !== '/alive') sent += 1;
    socket.destroy();
  });
  const told = async () => (await fetch(`${url}/v2/e/run`, { method: 'POST' })).text();
  expect(await told()).toBe('unknown');
  expect([await told(), sent]).toEqual(['again', 1]);
  isThere = true;
  expect([await told(), sent]).toEqual(['unknown', 2]);
});

it('tells the leading process who has sent the request, which no other client can fake', async () => {
  const proxies = new TrustedProxies([]);
  const leader = new Relay(Buffer.from('secret'), proxies);
  onTestFinished(() => leader.close());
  const seen: unknown[] = [];
  const believing = createServer((request, response) => {
    const isBelieved = leader.believe(request);
    seen.push([isBelieved, proxies.addressOf(request), proxies.isSecure(request), proxies.hostOf(request)]);
    response.end('{}');
  });
  const behind = await listening(believing);
  const url = await relayTo(behind, ['127.0.0.1']);
  const asked = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' };
  await fetch(`${url}/v2/e/health`, { headers: asked });
  await fetch(`${behind}/v2/e/health`, { headers: asked });
  expect(seen).toEqual([
    [true, '203.0.113.9', true, new URL(url).host],
    [false, '127.0.0.1', false, new URL(behind).host],
  ]);
});

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
