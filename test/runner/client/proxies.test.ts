/** Promise: a failing proxy loses no submission, and a proxy cannot lead a download to a private address. */
import type { LookupAddress } from 'node:dns';
import { describe, expect, it, onTestFinished } from 'vitest';
import { proxyRules, type ProxyRules } from '../../../src/lib/net/addresses.ts';
import { isPublicAddress } from '../../../src/lib/net/addresses.ts';
import { HttpsDownloads } from '../../../src/runner/client/https-downloads.ts';
import { unusedPort } from '../../e2e/listen-on-loopback.ts';
import { loopbackProxy } from '../../fakes/loopback-proxy.ts';
import { answer, answerJson, headOf, type Script, scriptedServer } from '../../fakes/scripted-server.ts';
import { selfSigned } from '../../fakes/self-signed.ts';
import { clientOf, failure } from './client.ts';

const never = new AbortController().signal;
const via = (url: string): ProxyRules => proxyRules({ HTTPS_PROXY: url, HTTP_PROXY: url });

describe('a submission', () => {
  it.each(['http', 'https'])('to %s surely does not arrive if the proxy is not there', async (scheme) => {
    const proxy = `http://127.0.0.1:${await unusedPort()}`;
    const client = clientOf(`${scheme}://render.corp.example`, { proxies: via(proxy) });
    expect(await client.submit()).toEqual(
      failure('not-reached', new RegExp(`connection refused.*, through the proxy ${proxy} `)),
    );
  });

  it.each([
    ['http', 407, 'it asks for a user name and a password'],
    ['https', 407, 'it asks for a user name and a password'],
    ['https', 403, 'the connection was refused \\(403\\)'],
    ['https', 502, 'the connection was refused \\(502\\)'],
  ])('to %s surely does not arrive if the proxy answers %d', async (scheme, status, words) => {
    const proxy = await loopbackProxy(0, status);
    const client = clientOf(`${scheme}://render.corp.example`, { proxies: via(proxy.url) });
    expect(await client.submit()).toEqual(failure('not-reached', new RegExp(`${words}.*through the proxy`)));
  });

  it('is given up if the proxy never opens the tunnel', async () => {
    const silent = await scriptedServer(() => undefined);
    const client = clientOf('https://render.corp.example', {
      proxies: via(silent.url),
      requestTimeoutMs: 100,
    });
    expect(await client.submit()).toEqual(failure('not-reached'));
  });

  it.each([
    ['ends before it has read', undefined],
    ['ends without an answer', (socket) => socket.end()],
    ['ends within its answer', (socket) => socket.end('HTTP/1.1 200')],
    ['resets the connection', (socket) => socket.resetAndDestroy()],
    ['is none', (socket) => socket.end('SSH-2.0 OpenSSH\r\n\r\n')],
    ['ends behind its answer', (socket) => socket.end(headOf(200, {}))],
  ] satisfies [string, Script | undefined][])(
    'surely does not arrive if what is named as proxy %s, and is not sent without end',
    async (_, script) => {
      let count = 0;
      const ends = await scriptedServer(script ?? (() => undefined), {
        onConnection: (socket) => {
          count += 1;
          if (script === undefined) socket.end();
          // The test fails if the client opens connections without end.
          if (count > 20) socket.resetAndDestroy();
        },
      });
      const client = clientOf('https://render.corp.example', { proxies: via(ends.url) });
      expect(await client.submit()).toEqual(failure('not-reached', /through the proxy/));
      expect(count).toBe(1);
    },
  );

  it('may have arrived if the proxy passed it on and then fails', async () => {
    const server = await scriptedServer((socket) => socket.destroy());
    const proxy = await loopbackProxy(server.port);
    const client = clientOf('http://render.corp.example', { proxies: via(proxy.url) });
    expect(await client.submit()).toEqual(failure('unanswered'));
  });

  it('is accepted through the proxy', async () => {
    const server = await scriptedServer(answerJson({ id: 'j1', status: 'IN_QUEUE' }));
    const proxy = await loopbackProxy(server.port);
    const client = clientOf('http://render.corp.example', { proxies: via(proxy.url) });
    expect(await client.submit()).toMatchObject({ kind: 'accepted', jobId: 'j1' });
    expect(proxy.asked).toEqual(['POST http://render.corp.example/v2/scene-renderer/run']);
  });
});

describe('a picture', () => {
  const fetched = async (lookup: () => Promise<LookupAddress[]>) => {
    const certificate = selfSigned('cdn.example');
    const server = await scriptedServer(answer(200, 'picture'), { tls: certificate });
    const proxy = await loopbackProxy(server.port);
    const downloads = new HttpsDownloads(
      { hosts: ['cdn.example'], maxBytes: 1_000, requestTimeoutMs: 30_000, proxies: via(proxy.url) },
      { lookup, isPublic: isPublicAddress, ca: certificate.cert },
    );
    onTestFinished(() => downloads.close());
    const reply = await downloads.fetch('https://cdn.example/a.png', never);
    const unlisted = await downloads.fetch('https://elsewhere.example/a.png', never);
    expect(unlisted).toMatchObject({ kind: 'url-refused' });
    return { reply, asked: proxy.asked };
  };
  const found = { reply: { bytes: Buffer.from('picture') }, asked: ['CONNECT cdn.example:443'] };

  it('is downloaded through the proxy if its name has a public address', async () => {
    expect(await fetched(async () => [{ address: '93.184.215.14', family: 4 }])).toEqual(found);
  });

  it('is downloaded from a listed host, if names cannot be resolved here', async () => {
    expect(await fetched(() => Promise.reject(new Error('ENOTFOUND')))).toEqual(found);
  });

  it('is looked up once for many of a host, and not waited for once it is not wanted', async () => {
    let lookups = 0;
    const proxy = await loopbackProxy(0, 403);
    const downloads = new HttpsDownloads(
      {
        hosts: ['cdn.example', 'slow.example'],
        maxBytes: 1,
        requestTimeoutMs: 30_000,
        proxies: via(proxy.url),
      },
      {
        lookup: (name) => {
          lookups += 1;
          if (name === 'slow.example') return new Promise(() => undefined);
          return Promise.resolve([{ address: '93.184.215.14', family: 4 }]);
        },
        isPublic: isPublicAddress,
      },
    );
    onTestFinished(() => downloads.close());
    for (const name of ['a', 'b', 'c'])
      expect(await downloads.fetch(`https://cdn.example/${name}.png`, never)).toMatchObject({
        kind: 'download-failed',
      });
    expect([lookups, proxy.asked.length]).toEqual([1, 3]);
    const unwanted = new AbortController();
    const given = downloads.fetch('https://slow.example/a.png', unwanted.signal);
    unwanted.abort();
    expect(await given).toMatchObject({ kind: 'download-failed' });
    expect(proxy.asked).toHaveLength(3);
  });

  it('is refused before the proxy is asked if its name has a private address', async () => {
    const { reply, asked } = await fetched(async () => [{ address: '10.1.2.3', family: 4 }]);
    expect(reply).toMatchObject({ kind: 'url-refused', text: expect.stringContaining('no public address') });
    expect(asked).toEqual([]);
  });
});
