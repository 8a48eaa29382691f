/** A stream that nobody reads neither fills the disk nor becomes too long to be handed out. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { JobStore } from '../../src/service/jobs/job-store.ts';
import type { JobOfWorker } from '../../src/service/jobs/job-transitions.ts';
import { accepted } from './service-harness.ts';

let dir: string;
let store: JobStore;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'unread-streams-'));
  const path = join(dir, 'service.sqlite');
  store = new JobStore(path, { retentionMs: 60_000, now: Date.now, maxUnreadBytes: 1_000 });
});

afterEach(() => {
  store.close();
  rmSync(dir, { recursive: true, force: true });
});

async function takenJob(): Promise<JobOfWorker> {
  const id = await accepted(store, 'farm', '{"scene": "a red cube"}');
  await store.work.take('farm', [{ workerId: 'w1', isPulled: true }]);
  return { id, workerId: 'w1' };
}

const part = JSON.stringify('x'.repeat(400));

test('parts beyond the bound are refused until somebody has read those before', async () => {
  const job = await takenJob();
  const heard = [
    await store.streams.add(job, part),
    await store.streams.add(job, part),
    await store.streams.add(job, '3'),
  ];
  expect(heard).toEqual([true, false, true]);
  expect(await store.streams.drain(job.id)).toEqual([part, '3']);
  expect(await store.streams.add(job, part)).toBe(true);
  expect(await store.streams.drain(job.id)).toEqual([part]);
});

test('what one job streams is not counted to another', async () => {
  const jobs = [await takenJob(), await takenJob()];
  const heard = await Promise.all(jobs.map((job) => store.streams.add(job, part)));
  expect(heard).toEqual([true, true]);
});
