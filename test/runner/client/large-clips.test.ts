/**
 * Promise: a clip of 300 MB arrives complete over a connection that breaks five times. Hardly a byte is sent
 * twice, and little memory is used.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { HttpsDownloads } from '../../../src/runner/client/https-downloads.ts';
import { ReceivedFiles } from '../../../src/runner/client/received-files.ts';
import { digestOf, rangeHost } from '../../fakes/range-host.ts';

const megabyte = 1_000_000;

it(
  'a download continues where it broke, five times, and hardly a byte is sent twice',
  { timeout: 300_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'nightrender-clips-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = {
      bytes: 300 * megabyte,
      breaksAfter: (nth: number) => (nth <= 5 ? 45 * megabyte : undefined),
    };
    const host = await rangeHost(() => file);
    const downloads = new HttpsDownloads({
      hosts: [host.url],
      maxBytes: megabyte,
      requestTimeoutMs: 120_000,
      received: new ReceivedFiles(folder, 2_000 * megabyte),
    });
    onTestFinished(() => downloads.close());
    const before = process.memoryUsage().arrayBuffers;
    const job = { endpoint: { baseUrl: 'http://boxes.test', id: '', version: 'comfyui' }, jobId: 'job-1' };
    const never = new AbortController().signal;
    const reply = await downloads.receive(host.clip, { job, nth: 0 }, never);
    const held = process.memoryUsage().arrayBuffers - before;
    expect(reply).toMatchObject({ received: { length: file.bytes, sha256: digestOf(file) } });
    expect(statSync('received' in reply ? reply.received.path : '').size).toBe(file.bytes);
    expect(host.requests).toHaveLength(6);
    expect(host.sent()).toBeLessThan(301 * megabyte);
    expect(held).toBeLessThan(100 * megabyte);
  },
);
