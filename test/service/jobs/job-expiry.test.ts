/**
 * Promise: expired jobs are deleted a few at a time, and their remains in the database file are erased when
 * the service is idle.
 */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openForReading } from '../../../src/lib/sqlite/database.ts';
import { FolderWatch } from '../../../src/service/jobs/data-folder.ts';
import { jobSchema } from '../../../src/service/jobs/job-schema.ts';
import { accepted, openStore } from '../service-harness.ts';
import { Sweeper } from '../../../src/service/instance/open-service.ts';

it('the store deletes only expired jobs, and cleans its file when it is idle', async () => {
  let now = 1_000;
  const store = await openStore({ now: () => now, retentionMs: 100 });
  const { db } = store.file;
  const jobs = () => db.prepare('SELECT count(*) FROM job').pluck().get();
  /** Returns the number of free pages. Rewriting the file removes all of them. */
  const empty = () => Number(db.pragma('freelist_count', { simple: true }));
  const text = JSON.stringify({ scene: 'x'.repeat(50_000) });
  const ids = await Promise.all(Array.from({ length: 60 }, () => accepted(store, 'a', text)));
  store.expiry.scrub(true);
  await Promise.all(ids.slice(0, 30).map((id) => store.cancel('a', id)));
  now += 50;
  await Promise.all(ids.slice(30).map((id) => store.cancel('a', id)));
  expect([await store.expiry.deleteSome(), jobs()]).toEqual([0, 60]);
  now += 50;
  expect([await store.expiry.deleteSome(), jobs()]).toEqual([25, 35]);
  expect([await store.expiry.deleteSome(), await store.expiry.deleteSome(), jobs()]).toEqual([5, 0, 30]);
  expect(empty()).toBeGreaterThan(0);

  const open = await accepted(store, 'a', '{"scene":"x"}');
  store.expiry.scrub();
  expect(empty()).toBeGreaterThan(0);
  await store.cancel('a', open);
  store.expiry.scrub();
  expect(empty()).toBe(0);

  await store.expiry.deleteEnded(ids[30] ?? '');
  expect([jobs(), empty() > 0]).toEqual([30, true]);
  store.expiry.scrub();
  expect(empty()).toBe(0);
});

it('the store knows a submission by its idempotency key as long as its job may be kept', async () => {
  let now = 1_000;
  const store = await openStore({ now: () => now, retentionMs: 100 });
  expect(store.expiry.idempotencyMs).toBe(100);
  now = -50;
  expect(store.expiry.idempotencyMs).toBe(0);
});

it('the store does not wait for a reader such as a backup, and empties its log once that has ended', async () => {
  const store = await openStore();
  const { db } = store.file;
  const logBytes = () => statSync(`${db.name}-wal`).size;
  // With this timeout, a scrub that waits for the reader would exceed the time limit of the test.
  db.pragma('busy_timeout = 600000');
  const reader = openForReading(db.name, jobSchema);
  reader?.exec('BEGIN; SELECT count(*) FROM job');
  await store.cancel('a', await accepted(store, 'a', '{}'));
  store.expiry.scrub();
  expect([store.expiry.isScrubDue, logBytes() > 0]).toEqual([true, true]);
  reader?.close();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const problems: string[] = [];
  const say = (text: string) => void problems.push(text);
  const sweeper = new Sweeper(store, new FolderWatch(dirname(db.name), [], say), 10_000, say);
  vi.advanceTimersByTime(1_000);
  await vi.waitFor(() => expect([store.expiry.isScrubDue, logBytes(), problems]).toEqual([false, 0, []]));
  sweeper.stop();
  expect(db.pragma('busy_timeout', { simple: true })).toBe(600_000);
});
