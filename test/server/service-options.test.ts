/** Options that no service can be started with are refused in words, and before anything is touched. */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ServiceOptions } from '../../src/server/start-service.ts';
import { ask, instantWorkload, makeDataDir, openService } from './service-harness.ts';

const workload = instantWorkload(() => 1);

const refused: [string, Partial<ServiceOptions>, RegExp][] = [
  ['every address', { host: '0.0.0.0' }, /loopback.*0\.0\.0\.0/],
  ['an address of the network', { host: '192.168.1.2' }, /loopback/],
  ['no key', { keys: [] }, /at least one key/],
  ['an empty key', { keys: ['fine', ''] }, /a key is empty/],
  ['a key that no header carries', { keys: ['kéy'] }, /cannot carry/],
  ['an endpoint without an id', { endpoints: [{ id: '', workers: 1, workload }] }, /empty id/],
  ['an endpoint with half a worker', { endpoints: [{ id: 'a', workers: 0.5, workload }] }, /whole number/],
  ['two endpoints of one id', { endpoints: ['a', 'a'].map((id) => ({ id, workers: 1, workload })) }, /id a$/],
  ['no retention', { retentionMs: 0 }, /retentionMs/],
  ['no body', { maxRequestBytes: Number.NaN }, /maxRequestBytes/],
];

it.each(refused)('refuses %s', async (_what, options, text) => {
  const dataDir = join(await makeDataDir(), 'new');
  await expect(openService({ ...options, dataDir })).rejects.toThrow(text);
  await expect(access(dataDir)).rejects.toThrow('ENOENT');
});

it.each(['127.0.0.1', 'localhost', '127.1.2.3'])('listens on %s', async (host) => {
  const { url } = await openService({ host });
  expect((await ask(url, '/')).status).toBe(404);
});
