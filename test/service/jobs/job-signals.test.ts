/**
 * Promise: a client that waits for a job, or a worker that waits for work, is woken as soon as it is
 * available.
 */
import { expect, it, onTestFinished } from 'vitest';
import { JobSignals, waitUntilFound } from '../../../src/service/jobs/job-signals.ts';
import type { JobStore } from '../../../src/service/jobs/job-store.ts';
import { accepted, openStore } from '../service-harness.ts';

const worker = { workerId: 'w', isPulled: true };
const failure = { state: 'FAILED', error: 'no' } as const;

/** Returns the signals for endpoint `a` and the job that are sent during `happens`. */
async function told(store: JobStore, id: string, happens: () => Promise<unknown>): Promise<string[]> {
  const heard = new Set<string>();
  const ends = ([`queued a`, `changed ${id}`, `streamed ${id}`] as const).map((event) =>
    store.signals.on(event, () => heard.add(event.split(' ')[0] ?? '')),
  );
  await happens();
  for (const end of ends) end();
  return [...heard].toSorted();
}

it('a signal reports every move of a job to the clients that wait for it', async () => {
  let now = 1_000;
  const store = await openStore({ now: () => now });
  const id = await accepted(store, 'a', '{"scene":"x"}', { maxRetries: 1, ttlMs: 5_000 });
  const job = { id, workerId: 'w' };
  const take = () => store.work.take('a', [worker]);
  const hear = (happens: () => Promise<unknown>) => told(store, id, happens);

  expect(await hear(() => store.accept('a', '{"scene":"y"}', { isLowPriority: true }))).toEqual(['queued']);
  expect(await hear(() => store.accept('b', '{"scene":"y"}'))).toEqual([]);
  expect(await hear(() => store.pause('a', true))).toEqual([]);
  expect(await hear(take)).toEqual([]);
  expect(await hear(() => store.pause('a', false))).toEqual(['queued']);
  expect(await hear(take)).toEqual(['changed']);
  expect(await hear(() => store.streams.add(job, '1'))).toEqual(['streamed']);
  expect(await hear(() => store.streams.add({ id, workerId: 'other' }, '1'))).toEqual([]);
  expect(await hear(() => store.work.requeue({ id, workerId: 'other' }, 'it died'))).toEqual([]);
  expect(await hear(() => store.work.requeue(job, 'it died'))).toEqual(['changed', 'queued']);
  await take();
  expect(await hear(() => store.work.requeue(job, 'it died'))).toEqual(['changed']);
  expect(store.reads.find('a', id)).toMatchObject({
    state: 'FAILED',
    error: 'the worker of this job died 2 times, with 1 retries allowed: it died',
  });
  expect(await hear(() => store.retry('a', id))).toEqual(['changed', 'queued']);
  expect(await hear(() => store.retry('a', id))).toEqual([]);
  await take();
  expect(await hear(() => store.work.settle({ id, workerId: 'other' }, failure))).toEqual([]);
  expect(await hear(() => store.work.settle(job, failure))).toEqual(['changed']);
  await store.retry('a', id);
  expect(await hear(() => store.cancel('b', id))).toEqual([]);
  expect(await hear(() => store.cancel('a', id))).toEqual(['changed']);
  const timely = await accepted(store, 'c', '{"scene":"x"}', { ttlMs: 10 });
  now += 10;
  expect(await told(store, timely, () => store.bulk.timeOutSome())).toEqual(['changed']);
  expect(await told(store, timely, async () => store.bulk.announceWaiting())).toEqual(['queued']);
});

it('a signal reports changes of many jobs at once', async () => {
  const store = await openStore();
  const [waiting, running, elsewhere] = [
    await accepted(store, 'a', '{"scene":"x"}', { keyId: 'me' }),
    await accepted(store, 'a', '{"scene":"y"}', { keyId: 'you' }),
    await accepted(store, 'b', '{"scene":"z"}'),
  ];
  expect(await told(store, waiting, () => store.bulk.purgeQueue('a', 'me'))).toEqual(['changed']);
  const own = { workerId: 'own', isPulled: false };
  await store.work.take('a', [own]);
  await store.work.take('b', [own]);
  expect(await told(store, running, () => store.bulk.requeueOwn('a'))).toEqual(['changed', 'queued']);
  expect(await told(store, running, () => store.bulk.requeueOwn('a'))).toEqual([]);
  expect(store.reads.find('a', running)).toMatchObject({ state: 'IN_QUEUE', retries: 0 });
  await store.work.take('a', [worker]);
  await store.bulk.requeueOwn('a');
  expect(await told(store, running, () => store.bulk.cancelAll('a'))).toEqual(['changed']);
  expect(await told(store, running, () => store.bulk.cancelAll('a'))).toEqual([]);
  const states = [waiting, running].map((id) => store.reads.find('a', id)?.state);
  expect([...states, store.reads.find('b', elsewhere)?.state]).toEqual([
    'CANCELLED',
    'CANCELLED',
    'IN_PROGRESS',
  ]);
});

it('wakes all waiting clients when the store closes', async () => {
  const store = await openStore();
  const id = await accepted(store, 'a', '{"scene":"x"}');
  expect(await told(store, id, async () => store.close())).toEqual(['changed', 'queued', 'streamed']);
});

const long = 600_000;

function whoWaits(waitMs = long) {
  const signals = new JobSignals();
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const values: (string | undefined)[] = [];
  let looks = 0;
  const found = waitUntilFound(
    signals,
    ['changed 1', 'changed 2'],
    { waitMs, signal: over.signal },
    async () => {
      looks += 1;
      return values.shift();
    },
  );
  return { signals, over, values, found, looks: () => looks };
}

it('a wait checks its condition at once, and after each of its signals', async () => {
  const { signals, values, found, looks } = whoWaits();
  await expect.poll(looks).toBe(1);
  signals.changed('3');
  signals.changed('1');
  await expect.poll(looks).toBe(2);
  values.push('here');
  signals.changed('2');
  expect([await found, looks()]).toEqual(['here', 3]);
});

it('a wait checks its condition again after a signal during a check', async () => {
  const { signals, values, found, looks } = whoWaits();
  // The first check is in progress.
  values.push(undefined, 'here');
  signals.changed('1');
  signals.changed('1');
  expect(looks()).toBe(1);
  await expect.poll(looks).toBeGreaterThan(1);
  signals.changed('1');
  expect(await found).toBe('here');
});

it('a wait ends without a result after its time and a last check, or if the client has gone', async () => {
  const short = whoWaits(1);
  expect([await short.found, short.looks()]).toEqual([undefined, 2]);
  const left = whoWaits();
  await expect.poll(left.looks).toBe(1);
  left.over.abort();
  expect([await left.found, left.looks()]).toEqual([undefined, 1]);
});
