/** Promise: a stream that no client reads neither fills the disk nor becomes too long to be sent. */
import { beforeEach, expect, test } from 'vitest';
import type { JobStore } from '../../src/service/jobs/job-store.ts';
import type { JobOfWorker } from '../../src/service/jobs/job-transitions.ts';
import { accepted, openStore } from './service-harness.ts';

let store: JobStore;

beforeEach(async () => {
  store = await openStore({ maxUnreadBytes: 1_000 });
});

async function takenJob(): Promise<JobOfWorker> {
  const id = await accepted(store, 'farm', '{"scene": "a red cube"}');
  await store.work.take('farm', [{ workerId: 'w1', isPulled: true }]);
  return { id, workerId: 'w1' };
}

const part = JSON.stringify('x'.repeat(400));

test('parts beyond the limit are rejected until earlier ones were read', async () => {
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

test('the stream of one job is not counted to another', async () => {
  const jobs = [await takenJob(), await takenJob()];
  const heard = await Promise.all(jobs.map((job) => store.streams.add(job, part)));
  expect(heard).toEqual([true, true]);
});
