/** Promise: invalid options of a service are rejected with a message before anything changes. */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import { parsePostgresAddress } from '../../../src/lib/postgres/postgres.ts';
import { checkServiceOptions, type ServiceOptions } from '../../../src/service/instance/service-options.ts';
import { ask, makeDataDir, openService } from '../service-harness.ts';

const refused: [string, Partial<ServiceOptions>, RegExp][] = [
  ['an empty key', { keys: ['fine', ''] }, /a key is empty/],
  ['a key that no header carries', { keys: ['kéy'] }, /cannot carry/],
  ['an endpoint without an id', { endpoints: [endpointSettings({ id: '' })] }, /empty id/],
  [
    'an endpoint with half a worker',
    { endpoints: [endpointSettings({ id: 'a', workers: 0.5 })] },
    /whole number/,
  ],
  ['two endpoints of one id', { endpoints: ['a', 'a'].map((id) => endpointSettings({ id })) }, /id a$/],
  ['no retention', { retentionMs: 0 }, /retentionMs/],
  ['no body', { maxRequestBytes: Number.NaN }, /maxRequestBytes/],
];

it.each(refused)('refuses %s', async (_what, options, text) => {
  const dataDir = join(await makeDataDir(), 'new');
  await expect(openService({ ...options, dataDir })).rejects.toThrow(text);
  await expect(access(dataDir)).rejects.toThrow('ENOENT');
});

it('a service does not start for the whole network if nobody has a key', async () => {
  await expect(openService({ keys: [], host: '0.0.0.0' })).rejects.toThrow(/0\.0\.0\.0 is not a loopback/);
});

it('a service listens for the network if there is a key', async () => {
  const { url } = await openService({ host: '0.0.0.0' });
  expect((await ask(url, '/')).status).toBe(404);
});

it.each(['127.0.0.1', 'localhost', '127.1.2.3'])('a service listens on %s', async (host) => {
  const { url } = await openService({ host });
  expect((await ask(url, '/')).status).toBe(404);
});

const address = parsePostgresAddress('postgresql://localhost/night', []);
const store = { address, onChange: () => undefined };
it.each<[boolean, Partial<ServiceOptions>]>([
  [true, {}],
  [true, { store }],
  [false, { store: { ...store, reachedAt: 'http://10.0.0.5:4747' } }],
  [false, { publicUrl: 'https://render.example' }],
  [false, { host: '0.0.0.0' }],
  [true, { host: '0.0.0.0', hasPrivateWebhooks: true }],
])(
  'allows private webhooks by default only if nothing leads others to it: %s for %j',
  (expected, options) => {
    const workloadOf = () => expect.fail('nothing runs');
    const checked = checkServiceOptions({ dataDir: '', keys: [], endpoints: [], workloadOf, ...options });
    expect(checked.hasPrivateWebhooks).toBe(expected);
  },
);
