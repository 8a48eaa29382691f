/** Many webhooks for a host that never answers keep nobody else from being told. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { JobBook } from '../../src/server/job-book.ts';
import { ResultFiles } from '../../src/server/result-files.ts';
import { Webhooks } from '../../src/server/webhooks.ts';
import { accepted } from './service-harness.ts';

let dir: string;
let book: JobBook;
let silent: Server;
let heard: Server;
let webhooks: Webhooks;
let onHeard: (body: string) => void;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'webhooks-of-many-'));
  book = new JobBook(join(dir, 'service.sqlite'), { retentionMs: 600_000, now: Date.now });
  silent = createServer(() => undefined);
  heard = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      response.end();
      onHeard(body);
    });
  });
  await Promise.all([silent, heard].map(listen));
});

afterEach(async () => {
  await webhooks.stop();
  for (const server of [silent, heard]) {
    server.closeAllConnections();
    server.close();
  }
  book.close();
  rmSync(dir, { recursive: true, force: true });
});

function listen(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
}

async function endedJob(server: Server): Promise<string> {
  const webhook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const id = await accepted(book, 'farm', '{"scene": "a red cube"}', { webhook });
  await book.cancel('farm', id);
  return id;
}

test('a webhook behind a thousand for a host that never answers is sent', async () => {
  await Promise.all(Array.from({ length: 1_000 }, () => endedJob(silent)));
  const id = await endedJob(heard);
  const told = new Promise<string>((resolve) => (onHeard = resolve));
  const files = new ResultFiles(join(dir, 'results'));
  webhooks = new Webhooks({ book, files, onTrouble: () => undefined, now: Date.now });
  expect(JSON.parse(await told)).toMatchObject({ id, status: 'CANCELLED' });
});
