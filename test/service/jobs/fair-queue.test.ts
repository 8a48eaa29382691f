/** Promise: a key's jobs do not wait for all earlier jobs of another key. */
import { expect, it } from 'vitest';
import type { JobStore } from '../../../src/service/jobs/job-store.ts';
import { accepted, makeDataDir, openStore } from '../service-harness.ts';

const worker = (workerId: string) => ({ workerId, isPulled: false });

async function submit(store: JobStore, keyId: string, count: number, isLowPriority = false) {
  const ids = [];
  for (let each = 0; each < count; each++)
    ids.push(await accepted(store, 'farm', `{"of":"${keyId}"}`, { keyId, isLowPriority }));
  return ids;
}

/** Lets one worker do this many jobs, and returns whose jobs they were, in order. */
async function doNext(store: JobStore, count: number): Promise<string> {
  let whose = '';
  for (let each = 0; each < count; each++) {
    const [job] = await store.work.take('farm', [worker('w')]);
    if (job === undefined) break;
    whose += (JSON.parse(String(job.input)) as { of: string }).of;
    await store.work.settle(job, { state: 'COMPLETED', output: '1' });
  }
  return whose;
}

it('the queue does ten jobs of one key behind hundreds of another within twice their time alone', async () => {
  const store = await openStore();
  await submit(store, 'a', 300);
  await submit(store, 'b', 10);
  const whose = await doNext(store, 20);
  expect(whose.match(/b/g)).toHaveLength(10);
  expect(await doNext(store, 300)).toBe('a'.repeat(290));
});

it('the queue gives the next free worker a job of the key for which the fewest workers work', async () => {
  const store = await openStore();
  await submit(store, 'a', 10);
  const first = await store.work.take('farm', [worker('w1'), worker('w2'), worker('w3')]);
  expect(first).toHaveLength(3);
  await submit(store, 'b', 4);
  expect(await doNext(store, 3)).toBe('bbb');
});

it('the queue keeps the order of each key, and low priority behind all others', async () => {
  const store = await openStore();
  const late = await submit(store, 'b', 2, true);
  const ids = await submit(store, 'a', 3);
  const taken = await store.work.take(
    'farm',
    Array.from({ length: 9 }, (_, each) => worker(`w${each}`)),
  );
  expect(taken.map(({ id }) => id)).toEqual([...ids, ...late]);
});

it('the queue gives a batch of jobs to one worker in turns as well', async () => {
  const store = await openStore();
  await submit(store, 'a', 4);
  await submit(store, 'b', 2);
  const jobs = await store.work.take(
    'farm',
    Array.from({ length: 6 }, () => worker('w')),
  );
  expect(jobs.map(({ input }) => (JSON.parse(String(input)) as { of: string }).of).join('')).toBe('ababaa');
});

it('the queue knows since when the next job of a key has waited, however late others came', async () => {
  let now = 1_000;
  const store = await openStore({ now: () => now });
  expect(store.reads.nextQueuedAt('farm')).toBeUndefined();
  for (const [keyId, isLowPriority] of [
    ['b', true],
    ['a', false],
    ['b', false],
  ] as const) {
    await submit(store, keyId, 1, isLowPriority);
    now += 100;
  }
  const since = () => store.reads.nextQueuedAt('farm');
  expect([since(), await doNext(store, 2), since(), await doNext(store, 2), since()]).toEqual([
    1_000,
    'ab',
    1_000,
    'b',
    undefined,
  ]);
  expect(store.reads.queueLengths()).toEqual([]);
});

it('the queue gives the turn to the key that has waited longest for one, also if it began later', async () => {
  const store = await openStore();
  await submit(store, 'b', 3);
  expect(await doNext(store, 1)).toBe('b');
  await submit(store, 'a', 2);
  await submit(store, 'c', 2);
  expect(await doNext(store, 6)).toBe('acbacb');
});

it('the queue of each endpoint is separate, and keeps a pause over a new start', async () => {
  const dir = await makeDataDir();
  const store = await openStore({}, dir);
  for (const endpoint of ['farm', 'other']) await accepted(store, endpoint, '{"of":"a"}');
  expect(store.reads.queueLengths()).toEqual([
    { endpointId: 'farm', jobs: 1 },
    { endpointId: 'other', jobs: 1 },
  ]);
  await store.pause('other', true);
  store.close();
  const next = await openStore({}, dir);
  expect([await next.work.take('other', [worker('w')]), await doNext(next, 2)]).toEqual([[], 'a']);
  await next.pause('other', false);
  expect(await next.work.take('other', [worker('w')])).toHaveLength(1);
});
