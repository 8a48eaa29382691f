/**
 * Promise: requests reach the right server: names, IPv4 and IPv6, path prefixes, versions, and many
 * connections at once.
 */
import dns from 'node:dns';
import { networkInterfaces } from 'node:os';
import type { LookupFunction } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Endpoint } from '../../../src/runner/core/attempt.ts';
import { answerJson, inTurn, scriptedServer, type Script } from '../../fakes/scripted-server.ts';
import { clientOf, jobId } from './client.ts';

afterEach(() => vi.restoreAllMocks());

const inQueue = answerJson({ id: jobId, status: 'IN_QUEUE' });
const never = new AbortController().signal;
const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === '::1'),
);

describe('a host of both families is reached where the service listens on', () => {
  it.each([['127.0.0.1'], ...(hasIpv6 ? [['::1']] : [])])('%s', async (host) => {
    const { port } = await scriptedServer(inQueue, { host });
    answerLookups(['::1', '127.0.0.1']);
    const { submit, status } = clientOf(`http://service.test:${port}`);
    expect(await submit()).toMatchObject({ kind: 'accepted' });
    expect(await status()).toMatchObject({ kind: 'running' });
  });
});

it.skipIf(!hasIpv6)('an IPv6 address is reached (skipped if there is no ::1)', async () => {
  const server = await scriptedServer(inQueue, { host: '::1' });
  expect(server.url).toContain('[::1]');
  expect(await clientOf(server.url).submit()).toMatchObject({ kind: 'accepted' });
});

it.each<[string, Endpoint['version'], string, string]>([
  ['', 'v2', 'scene-renderer', '/v2/scene-renderer'],
  ['', 'v1', 'scene-renderer', '/v1/scene-renderer'],
  ['/gateway/eu', 'v2', 'scene-renderer', '/gateway/eu/v2/scene-renderer'],
  ['', 'v2', 'a b/c?d#e%', '/v2/a%20b/c%3Fd%23e%25'],
  ['', 'v2', 'a\r\nX-Injected: 1', '/v2/a%0D%0AX-Injected:%201'],
])('the address of %j under %s with the id %j', async (prefix, version, id, path) => {
  const server = await scriptedServer(inTurn(inQueue, answerJson({ status: 'IN_QUEUE' })));
  const { service } = clientOf(server.url);
  const endpoint = { baseUrl: server.url + prefix, id, version };
  expect(await service.submit(endpoint, { scene: 'a' }, never)).toMatchObject({ kind: 'accepted' });
  expect(await service.status({ endpoint, jobId: 'job/../1' }, never)).toMatchObject({ kind: 'running' });
  expect(server.requests.map((request) => request.path)).toEqual([
    `${path}/run`,
    `${path}/status/job%2F..%2F1`,
  ]);
  expect(server.requests[0]?.headers).not.toHaveProperty('x-injected');
});

it('sends each job where it belongs, each with its own key', async () => {
  const [first, second] = [await scriptedServer(inQueue), await scriptedServer(inQueue)];
  const { service } = clientOf('', {
    connectionOf: ({ baseUrl }) => ({ url: baseUrl, apiKey: `key for ${baseUrl}` }),
  });
  for (const { url } of [first, second, first]) {
    await service.status({ endpoint: { baseUrl: url, id: 'e', version: 'v2' }, jobId }, never);
  }
  const keysSeenBy = ({ requests }: typeof first): unknown[] =>
    requests.map(({ headers }) => headers['authorization']);
  expect(keysSeenBy(first)).toEqual([`Bearer key for ${first.url}`, `Bearer key for ${first.url}`]);
  expect(keysSeenBy(second)).toEqual([`Bearer key for ${second.url}`]);
});

it('200 requests at once all get their own answer, over at most 64 connections', async () => {
  const echo: Script = (socket, request) => {
    const { input } = JSON.parse(request.body) as { input: { scene: string } };
    answerJson({ id: input.scene, status: 'IN_QUEUE' })(socket, request);
  };
  const server = await scriptedServer(echo);
  const { service } = clientOf(server.url);
  const endpoint = { baseUrl: server.url, id: 'e', version: 'v2' } as const;
  const scenes = Array.from({ length: 200 }, (_, i) => `scene-${i}`);
  const replies = await Promise.all(
    scenes.map((scene) => service.submit(endpoint, { scene }, new AbortController().signal)),
  );
  expect(replies).toEqual(scenes.map((scene) => ({ kind: 'accepted', jobId: scene, status: 'IN_QUEUE' })));
  expect(Math.max(...server.requests.map(({ connection }) => connection))).toBeLessThanOrEqual(64);
});

function answerLookups(addresses: string[]): void {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const lookup: LookupFunction = (_host, _options, callback) => callback(null, found);
  vi.spyOn(dns, 'lookup').mockImplementation(lookup as typeof dns.lookup);
}
