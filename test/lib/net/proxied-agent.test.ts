/** Promise: for a request to an https URL, the proxy sees only the host. */
import { expect, it, onTestFinished } from 'vitest';
import { proxiedAgent } from '../../../src/lib/net/proxied-agent.ts';
import { proxyRules } from '../../../src/lib/net/addresses.ts';
import { loopbackProxy, type LoopbackProxy } from '../../fakes/loopback-proxy.ts';
import { answer, scriptedServer } from '../../fakes/scripted-server.ts';
import { selfSigned } from '../../fakes/self-signed.ts';

async function through(
  origin: string,
  { url }: LoopbackProxy,
  ca?: string,
  login = 'ann:s%20ecret',
): Promise<string> {
  const named = url.replace('//', `//${login}@`);
  const agent = proxiedAgent(proxyRules({ HTTPS_PROXY: named, HTTP_PROXY: named }), {
    connections: 4,
    connect: { timeout: 30_000, ...(ca !== undefined && { ca }) },
  });
  onTestFinished(() => agent.destroy());
  const headers = { authorization: 'Bearer canary-key' };
  const { body } = await agent.request({ origin, path: '/v2/run', method: 'POST', headers, body: 'canary' });
  return body.text();
}

const password = basic('ann:s ecret');

function basic(login: string): string {
  return `Basic ${Buffer.from(login).toString('base64')}`;
}

it('the proxy is asked for a tunnel to an https address, with its own password', async () => {
  const certificate = selfSigned('render.corp.example');
  const server = await scriptedServer(answer(200, 'done'), { tls: certificate });
  const proxy = await loopbackProxy(server.port);
  expect(await through('https://render.corp.example', proxy, certificate.cert)).toBe('done');
  expect(proxy.asked).toEqual(['CONNECT render.corp.example:443']);
  expect(proxy.read).toContain(`proxy-authorization: ${password}`);
  expect(proxy.read).not.toContain('canary');
  expect(server.requests).toMatchObject([
    { headers: { authorization: 'Bearer canary-key', host: 'render.corp.example' }, body: 'canary' },
  ]);
  expect(server.requests[0]?.headers).not.toHaveProperty('proxy-authorization');
});

it('the proxy passes a request for an http address on', async () => {
  const server = await scriptedServer(answer(200, 'done'));
  const proxy = await loopbackProxy(server.port);
  expect(await through('http://render.corp.example:8080', proxy)).toBe('done');
  expect(proxy.asked).toEqual(['POST http://render.corp.example:8080/v2/run']);
  expect(server.requests).toMatchObject([{ path: '/v2/run', headers: { host: 'render.corp.example:8080' } }]);
});

it('the proxy gets a name without a password, too', async () => {
  const server = await scriptedServer(answer(200, 'done'));
  const proxy = await loopbackProxy(server.port);
  expect(await through('http://render.corp.example', proxy, undefined, 'token')).toBe('done');
  expect(proxy.read).toContain(`proxy-authorization: ${basic('token:')}`);
});

it('the proxy is not asked for an address of this machine', async () => {
  const server = await scriptedServer(answer(200, 'done'));
  const proxy = await loopbackProxy(server.port);
  expect(await through(server.url, proxy)).toBe('done');
  expect(proxy.asked).toEqual([]);
});

it.each(['http://render.corp.example', 'https://render.corp.example'])(
  'the proxy has no more connections for %s than are allowed, and uses them again',
  async (origin) => {
    const certificate = selfSigned('render.corp.example');
    const isTls = origin.startsWith('https:');
    const server = await scriptedServer(answer(200, 'done'), { ...(isTls && { tls: certificate }) });
    const proxy = isTls ? await loopbackProxy(server.port) : server;
    const agent = proxiedAgent(proxyRules({ HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url }), {
      connections: 2,
      pipelining: 1,
      connect: { ca: certificate.cert },
    });
    onTestFinished(() => agent.destroy());
    const ask = async () => (await agent.request({ origin, path: '/', method: 'GET' })).body.text();
    await Promise.all(Array.from({ length: 8 }, ask));
    expect(new Set(server.requests.map(({ connection }) => connection)).size).toBe(2);
  },
);
