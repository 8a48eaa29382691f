/** Promise: a client cannot use webhooks to reach the machine or private network of the service. */
import { createServer } from 'node:http';
import { expect, it, onTestFinished, vi } from 'vitest';
import { theInternet } from '../../../src/lib/net/addresses.ts';
import { JobStore } from '../../../src/service/jobs/job-store.ts';
import { isPrivateTarget, Webhooks } from '../../../src/service/webhooks/webhooks.ts';
import { listenOnLoopback } from '../../e2e/listen-on-loopback.ts';
import { loopbackProxy } from '../../fakes/loopback-proxy.ts';
import { accepted, instantWorkload, makeDataDir, openService, post, submit } from '../service-harness.ts';

const metadata = 'http://169.254.169.254/latest/meta-data/';

/** Starts a webhook receiver on this machine, which records the paths of requests. */
async function openTarget(): Promise<{ port: number; paths: string[] }> {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? '');
    response.end();
  });
  return { port: Number(new URL(await listenOnLoopback(server)).port), paths };
}

function ask(url: string, webhook: string) {
  return post(url.replace('0.0.0.0', '127.0.0.1'), JSON.stringify({ input: { scene: 'x' }, webhook }));
}

it.each([
  metadata,
  'http://127.0.0.1:9/',
  'http://2130706433/',
  'http://0x7f.1/',
  'http://0/',
  'http://[::1]/',
  'http://[::ffff:10.0.0.1]/',
  'http://[fe80::1]/',
  'http://[fd00::1]/',
  'http://10.1.2.3/',
  'http://192.168.1.1/',
  'http://172.16.0.1/',
  'http://100.64.0.1/',
  'http://localhost:8080/',
  'http://LOCALHOST./',
  'http://a.localhost/',
])('the service takes %s for an address of this machine or its network', (url) => {
  expect(isPrivateTarget(url)).toBe(true);
});

it.each([
  'https://example.com/',
  'http://93.184.215.14/',
  'http://[2606:4700::1111]/',
  'http://mylocalhost/',
])('the service takes %s for one of the internet, as far as it says', (url) => {
  expect(isPrivateTarget(url)).toBe(false);
});

it('private webhooks are refused with a message if others can reach the service', async () => {
  const { url } = await openService({ host: '0.0.0.0' });
  const { status, json } = await ask(url, metadata);
  expect([status, json]).toEqual([
    400,
    { error: expect.stringMatching(/169\.254\.169\.254.*webhooks\.private: true/) as string },
  ]);
  expect((await ask(url, 'https://example.com/')).status).toBe(200);
});

it.each([
  ['proxies', { proxies: ['127.0.0.1'] }],
  ['hosts', { hosts: ['render.example'] }],
  ['publicUrl', { publicUrl: 'https://render.example' }],
])(
  'private webhooks are refused behind a proxy, which `%s` reveals, unless the owner allows them',
  async (_name, way) => {
    const closed = await openService(way);
    expect((await ask(closed.url, metadata)).status).toBe(400);
    expect((await ask(closed.url, 'http://127.0.0.1:9/')).status).toBe(400);
    const open = await openService({ ...way, hasPrivateWebhooks: true });
    expect((await ask(open.url, 'http://127.0.0.1:9/')).status).toBe(200);
  },
);

it('private webhooks are allowed if only this machine reaches the service, or its owner allows them', async () => {
  const { port, paths } = await openTarget();
  const workload = instantWorkload(() => 1);
  const [own, wanted] = [
    await openService({ workload }),
    await openService({ workload, host: '0.0.0.0', hasPrivateWebhooks: true }),
  ];
  expect((await ask(own.url, `http://127.0.0.1:${port}/own`)).status).toBe(200);
  expect((await ask(wanted.url, `http://127.0.0.1:${port}/wanted`)).status).toBe(200);
  await expect.poll(() => paths.toSorted()).toEqual(['/own', '/wanted']);
});

it('private webhooks are refused even on this machine alone if its owner forbids them', async () => {
  const { url } = await openService({ hasPrivateWebhooks: false });
  expect((await ask(url, metadata)).status).toBe(400);
  await submit(url, { scene: 'x' });
});

it('a webhook goes through a proxy only if `webhooks.proxy` says so', async () => {
  const { port, paths } = await openTarget();
  const proxy = await loopbackProxy(port);
  vi.stubEnv('HTTP_PROXY', 'http://127.0.0.1:9');
  onTestFinished(() => void vi.unstubAllEnvs());
  const workload = instantWorkload(() => 1);
  const { url } = await openService({ workload, hasPrivateWebhooks: true, webhookProxy: proxy.url });
  await ask(url, 'http://studio.example/done');
  await ask(url, `http://127.0.0.1:${port}/here`);
  await expect.poll(() => paths.toSorted()).toEqual(['/done', '/here']);
  expect(proxy.asked).toEqual(['POST http://studio.example/done']);
});

it.each([
  ['127.0.0.1', false],
  ['localhost', false],
  ['rebound.example', false],
  ['rebound.example', true],
])(
  'a webhook does not connect to %s for a job that was accepted before, or a name that turned out to be one (through a proxy: %s)',
  async (host, isProxied) => {
    const { port, paths } = await openTarget();
    const proxy = await loopbackProxy(port);
    const dataDir = await makeDataDir();
    let now = 1_000_000;
    const store = new JobStore(`${dataDir}/service.sqlite`, { retentionMs: 1e9, now: () => now });
    onTestFinished(() => store.close());
    const id = await accepted(store, 'farm', '{"scene":"x"}', { webhook: `http://${host}:${port}/` });
    await store.cancel('farm', id);
    const troubles: string[] = [];
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const webhooks = new Webhooks({
      store,
      secrets: { of: () => [Buffer.alloc(32)] as [Buffer] },
      retentionMs: 30 * 60_000,
      onProblem: (text) => troubles.push(text),
      now: () => now,
      hasPrivate: false,
      proxy: isProxied ? proxy.url : undefined,
      internet: { ...theInternet, lookup: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]) },
    });
    onTestFinished(() => webhooks.stop());
    while (troubles.length === 0) {
      now += 10_000;
      await vi.advanceTimersByTimeAsync(500);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(troubles).toEqual([
      expect.stringMatching(
        /was given up after (1 try,.*this machine or its network|\d tries,.*has no public address)/,
      ),
    ]);
    expect([...paths, ...proxy.asked]).toEqual([]);
  },
);
