/** Many webhooks for a host that never answers keep nobody else from being told. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { JobStore } from '../../../src/service/jobs/job-store.ts';
import { Webhooks } from '../../../src/service/webhooks/webhooks.ts';
import { rest } from '../../fakes/tier.ts';
import { accepted } from '../service-harness.ts';

let dir: string;
let store: JobStore;
let silent: Server;
let heard: Server;
let webhooks: Webhooks;
let onHeard: (body: string) => void;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'webhooks-of-many-'));
  store = new JobStore(join(dir, 'service.sqlite'), { retentionMs: 600_000, now: Date.now });
  silent = createServer(() => undefined);
  heard = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      response.end();
      onHeard(body);
    });
  });
  // On all addresses of this machine, of which 127.0.0.0/8 are many.
  await Promise.all([silent, heard].map(listen));
});

afterEach(async () => {
  await webhooks.stop();
  for (const server of [silent, heard]) {
    server.closeAllConnections();
    server.close();
  }
  store.close();
  rmSync(dir, { recursive: true, force: true });
});

function listen(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '0.0.0.0', resolve));
}

async function endedJob(server: Server, host = '127.0.0.1'): Promise<string> {
  const webhook = `http://${host}:${(server.address() as AddressInfo).port}/`;
  const id = await accepted(store, 'farm', '{"scene": "a red cube"}', { webhook });
  await store.cancel('farm', id);
  return id;
}

function begin(): void {
  webhooks = new Webhooks({ store, onProblem: () => undefined, now: Date.now, hasPrivate: true });
}

function nextHeard(): Promise<string> {
  return new Promise<string>((resolve) => (onHeard = resolve));
}

test('a webhook behind a thousand for a host that never answers is sent', async () => {
  await Promise.all(Array.from({ length: 1_000 }, () => endedJob(silent)));
  const id = await endedJob(heard);
  const told = nextHeard();
  begin();
  expect(JSON.parse(await told)).toMatchObject({ id, status: 'CANCELLED' });
});

rest.it.skipIf(process.platform === 'darwin')(
  'a webhook for a host that answers is sent behind those for a thousand hosts that never do (skipped on macOS, which has one loopback address only)',
  async () => {
    let told = nextHeard();
    begin();
    const first = await endedJob(heard);
    expect(JSON.parse(await told)).toMatchObject({ id: first });
    const hosts = Array.from({ length: 1_000 }, (_, index) => `127.1.${index >> 8}.${index & 255}`);
    await Promise.all(hosts.map((host) => endedJob(silent, host)));
    told = nextHeard();
    const second = await endedJob(heard);
    expect(JSON.parse(await told)).toMatchObject({ id: second });
  },
);
