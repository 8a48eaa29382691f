/**
 * Promise: long results are streamed from their file to any number of slow readers, complete or not at all.
 */
import { readdirSync, readlinkSync, rmSync, truncateSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { firstTier, rest } from '../../fakes/tier.ts';
import type { AnswerOf } from '../../../src/protocol/operations.ts';
import { runPath, statusPath } from '../../../src/protocol/paths.ts';
import { listenOnLoopback } from '../../e2e/listen-on-loopback.ts';
import {
  ask,
  askStatus,
  endpointId,
  instantWorkload,
  openService,
  post,
  submit,
  type TestService,
  type TestServiceOptions,
} from '../service-harness.ts';
import { SlowClient } from './slow-client.ts';

const megabyte = 2 ** 20;

/** More than the buffers of a connection hold. */
const resultBytes = 12 * megabyte;

interface WithResult extends TestService {
  id: string;
  path: string;
}

async function serviceWithResult(options: TestServiceOptions = {}): Promise<WithResult> {
  const service = await openService({
    workload: instantWorkload(() => ({ picture: 'é'.repeat(resultBytes / 2) })),
    ...options,
  });
  const id = await submit(service.url, { scene: 'a hill' });
  await ask(service.url, `/v2/${endpointId}/status-sync/${id}`);
  return { ...service, id, path: statusPath('v2', endpointId, id) };
}

/** Returns the announced length of the body, and the number of bytes received. */
function bodyBytes(reader: SlowClient): { announced: number; received: number } {
  const [head = ''] = reader.text().split('\r\n\r\n', 1);
  const [, length] = /^content-length: (\d+)$/im.exec(head) ?? [];
  return { announced: Number(length), received: reader.received - head.length - 4 };
}

/** Returns the number of result files that this process has open. */
function openResults({ dataDir }: Pick<TestService, 'dataDir'>): number {
  const names = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(join('/proc/self/fd', fd));
    } catch {
      return '';
    }
  });
  return names.filter((name) => name.startsWith(join(dataDir, 'results/'))).length;
}

async function untilClosed(service: Pick<TestService, 'dataDir'>): Promise<void> {
  while (openResults(service) > 0) await nextTurn();
}

rest.it.each(['status', 'status-sync'])(
  'a long answer is whole and of the stated length: %s, in both versions',
  async (operation) => {
    const { url, id } = await serviceWithResult();
    for (const version of ['v1', 'v2']) {
      const reply = await ask(url, `/${version}/${endpointId}/${operation}/${id}`);
      expect(reply.headers.get('content-length')).toBe(String(Buffer.byteLength(reply.text)));
      const { status, output } = reply.json as AnswerOf<'status'>;
      expect(status).toBe('COMPLETED');
      expect((output as { picture: string }).picture === 'é'.repeat(resultBytes / 2)).toBe(true);
    }
  },
);

firstTier.it('a long answer is the answer to a submission that waits for it as well', async () => {
  const { url } = await openService({ workload: instantWorkload(() => 'x'.repeat(megabyte)) });
  const reply = await post(url, '{"input":{"scene":"x"}}', `/v2/${endpointId}/runsync`);
  expect((reply.json as AnswerOf<'status'>).output).toHaveLength(megabyte);
});

firstTier.it(
  'a long answer uses only the memory of its chunks, with many clients that do not read',
  async () => {
    const { url, path } = await serviceWithResult();
    const before = process.memoryUsage().arrayBuffers;
    const readers = await Promise.all(Array.from({ length: 10 }, () => SlowClient.connect(url)));
    for (const reader of readers) reader.ask(path);
    await Promise.all(readers.map((reader) => reader.readUpTo(1)));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(resultBytes);
    await Promise.all(readers.map((reader) => reader.readUpTo(resultBytes)));
  },
);

rest.describe.skipIf(process.platform !== 'linux')(
  'the file of a long answer (skipped if there is no /proc)',
  () => {
    it('is closed when the answer was read', async () => {
      const service = await serviceWithResult();
      await askStatus(service.url, service.id);
      await untilClosed(service);
    });

    it('is closed when its reader goes away in the middle', async () => {
      const service = await serviceWithResult();
      const reader = await SlowClient.connect(service.url);
      reader.ask(service.path);
      await reader.readUpTo(megabyte);
      expect(openResults(service)).toBe(1);
      reader.leave();
      await untilClosed(service);
      expect(service.troubles).toEqual([]);
    });
  },
);

rest.it('a long answer is read to its end if it is deleted in the middle', async () => {
  const { url, path, dataDir, id } = await serviceWithResult();
  const reader = await SlowClient.connect(url);
  reader.ask(path);
  await reader.readUpTo(1);
  rmSync(join(dataDir, 'results'), { recursive: true });
  expect((await askStatus(url, id)).status).toBe(404);
  const { announced, received } = bodyBytes(reader);
  await reader.readUpTo(reader.received + announced - received);
  expect(bodyBytes(reader).received).toBe(announced);
  expect(reader.text().slice(-60)).toMatch(/"},"status":"COMPLETED","workerId":"\w+"}$/);
});

rest.it('a long answer breaks off with a logged error if its file cannot be read to the end', async () => {
  const { url, path, dataDir, troubles } = await serviceWithResult();
  const reader = await SlowClient.connect(url);
  reader.ask(path);
  await reader.readUpTo(1);
  const [name = ''] = readdirSync(join(dataDir, 'results'));
  truncateSync(join(dataDir, 'results', name), resultBytes - 1_000);
  await reader.readToEnd();
  const { announced, received } = bodyBytes(reader);
  expect(announced).toBeGreaterThan(resultBytes);
  expect(received).toBeLessThan(announced);
  await expect.poll(() => troubles).toEqual([expect.stringContaining('the file is shorter than it was')]);
});

rest.it(
  'a long answer takes the memory of its pieces only on its way to webhooks that do not read, too',
  async () => {
    let heard = 0;
    const target = await listenOnLoopback(createServer(() => void heard++));
    const { url } = await openService({ workload: instantWorkload(() => 'x'.repeat(resultBytes)) });
    const before = process.memoryUsage().arrayBuffers;
    const body = JSON.stringify({ input: { scene: 'x' }, webhook: target });
    for (let count = 0; count < 4; count++) await post(url, body, runPath('v2', endpointId));
    await expect.poll(() => heard).toBe(4);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * resultBytes);
  },
);

rest.describe('a long answer while the service ends', () => {
  it('arrives whole', async () => {
    const { url, path, close } = await serviceWithResult();
    const reader = await SlowClient.connect(url);
    reader.ask(path);
    await reader.readUpTo(1);
    const closed = close();
    await reader.readToEnd();
    const { announced, received } = bodyBytes(reader);
    expect(received).toBe(announced);
    await closed;
  });

  it('is waited for only until the grace is over', async () => {
    const { url, path, close } = await serviceWithResult({ clientLimits: { closingMs: 1 } });
    const reader = await SlowClient.connect(url);
    reader.ask(path);
    await reader.readUpTo(1);
    await close();
    await reader.readToEnd();
    const { announced, received } = bodyBytes(reader);
    expect(received).toBeLessThan(announced);
  });
});
