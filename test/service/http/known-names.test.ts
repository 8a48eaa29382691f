/**
 * Promise: requests without a key are answered only under the host names of the service, so no other site
 * reads them by DNS rebinding.
 */
import { hostname } from 'node:os';
import { Agent, request, type Dispatcher } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { Connections } from '../../../src/service/http/connections.ts';
import { TrustedProxies } from '../../../src/lib/net/addresses.ts';
import { KnownNames } from '../../../src/lib/http/http-server.ts';
import { openService as openBehind } from '../../../src/service/instance/open-service.ts';
import { checkServiceOptions } from '../../../src/service/instance/service-options.ts';
import { healthPath } from '../../../src/protocol/paths.ts';
import { certificatesIn, hasOpenssl } from '../certificates.ts';
import { ownPage, openWithConsole } from '../console/visit.ts';
import { endpointId, key, makeDataDir } from '../service-harness.ts';

type Asking = {
  method?: 'GET' | 'POST' | 'OPTIONS';
  body?: string;
  headers?: Record<string, string>;
  dispatcher?: Dispatcher;
};

async function statusOf(url: string, path: string, host: string, { headers, ...asking }: Asking = {}) {
  const { statusCode, body } = await request(url + path, { ...asking, headers: { host, ...headers } });
  return { status: statusCode, text: await body.text() };
}

/** Paths that need no key, with their status. */
const open: [path: string, status: number, asking?: Asking][] = [
  ['/metrics', 401],
  ['/openapi.json', 200],
  ['/', 303],
  ['/console/', 200],
  ['/console/help/service', 200],
  ['/console/api/session', 200, { headers: ownPage }],
  ['/console/api/session', 200, { method: 'POST', headers: ownPage, body: JSON.stringify({ key }) }],
  ['/console/api/overview', 401, { headers: ownPage }],
];

it('the service answers under IP addresses, its own names and configured ones', async () => {
  const { url } = await openWithConsole({
    hosts: ['Render.example', '*.farm.example'],
    publicUrl: 'https://public.example/',
  });
  const { port } = new URL(url);
  const known = [
    `127.0.0.1:${port}`,
    `localhost:${port}`,
    'LOCALHOST.',
    'night.localhost',
    `[::1]:${port}`,
    '192.168.1.20',
    '[fe80::1]',
    hostname(),
    'render.example',
    'render.example:8443',
    'public.example',
    'one.farm.example',
  ];
  for (const host of known)
    for (const [path, status, asking] of open)
      expect([host, path, (await statusOf(url, path, host, asking)).status]).toEqual([host, path, status]);
});

it('the service answers under no other name, and says what to do', async () => {
  const { url } = await openWithConsole({ hosts: ['render.example', '*.farm.example'] });
  const unknown = [
    'evil.example',
    'evil.example:4747',
    'render.example.evil.example',
    'a.render.example',
    'farm.example',
    'one.two.farm.example',
    '127.0.0.1.evil.example',
    '2130706433',
    'localhost.evil.example',
  ];
  for (const host of unknown)
    for (const [path, , asking] of open)
      expect([host, path, (await statusOf(url, path, host, asking)).status]).toEqual([
        host,
        path,
        path === '/metrics' ? 401 : 421,
      ]);
  expect(JSON.parse((await statusOf(url, '/openapi.json', 'evil.example:1')).text)).toEqual({
    error:
      'this service is not known as "evil.example": ask for it by its address, or add the name to `hosts` in its service.yaml',
  });
});

it('the service answers with a good key under any name, as proxies and Kubernetes ask', async () => {
  const { url } = await openWithConsole({ origins: ['https://studio.example'] });
  const headers = { authorization: `Bearer ${key}` };
  for (const path of [healthPath('v2', endpointId), '/metrics', '/openapi.json'])
    expect([path, (await statusOf(url, path, 'any.svc.cluster.local', { headers })).status]).toEqual([
      path,
      200,
    ]);
  const wrong = { authorization: 'Bearer wrong' };
  expect((await statusOf(url, '/metrics', 'any.example', { headers: wrong })).status).toBe(421);
  expect((await statusOf(url, healthPath('v2', endpointId), 'any.example')).status).toBe(401);
  const preflight = { origin: 'https://studio.example', 'access-control-request-method': 'POST' };
  const asked = await statusOf(url, healthPath('v2', endpointId), 'any.example', {
    method: 'OPTIONS',
    headers: preflight,
  });
  expect(asked.status).toBe(204);
});

it('accepts a request without a Host header, because browsers always send one', () => {
  expect([undefined, ''].map((host) => new KnownNames([]).has(host))).toEqual([true, true]);
});

it.skipIf(!hasOpenssl)('knows the names of its certificate (skipped if there is no openssl)', async () => {
  const names = ['render.example', '*.farm.example'];
  const { cert, key: privateKey } = certificatesIn(await makeDataDir(), { names });
  const { url } = await openWithConsole({ tls: { cert, key: privateKey } });
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  onTestFinished(() => dispatcher.close());
  for (const [host, status] of [
    ['render.example', 200],
    ['one.farm.example', 200],
    ['evil.example', 421],
  ] as const)
    expect([host, (await statusOf(url, '/console/', host, { dispatcher })).status]).toEqual([host, status]);
});

it.skipIf(!hasOpenssl)(
  'knows the names of a certificate as soon as it is renewed (skipped if there is no openssl)',
  async () => {
    const dir = await makeDataDir();
    const { cert, key: privateKey } = certificatesIn(dir, { names: ['old.example'] });
    const clientLimits = { checkEveryMs: 20 };
    const { url } = await openWithConsole({ tls: { cert, key: privateKey }, clientLimits });
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    onTestFinished(() => dispatcher.close());
    const statuses = async () => {
      const asked = ['old.example', 'New.example'].map((host) =>
        statusOf(url, '/console/', host, { dispatcher }),
      );
      return (await Promise.all(asked)).map(({ status }) => status);
    };
    expect(await statuses()).toEqual([200, 421]);
    certificatesIn(dir, { names: ['new.example'] });
    await expect.poll(statuses).toEqual([421, 200]);
  },
);

it('starts whatever has become of the files of its certificate, also when it begins to lead', async () => {
  const nowhere = { cert: '/nowhere/cert.pem', key: '/nowhere/key.pem' };
  const options = { dataDir: await makeDataDir(), keys: [key], endpoints: [], workloadOf: () => undefined };
  const service = await openBehind(checkServiceOptions({ ...options, tls: nowhere }), {
    dataDir: options.dataDir,
    url: 'https://127.0.0.1:1',
    workersUrl: 'http://127.0.0.1:1',
    proxies: new TrustedProxies([]),
    certifiedNames: () => [],
    connections: new Connections(10),
    closeConnections: async () => undefined,
  });
  await service.close();
});
