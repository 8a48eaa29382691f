/** Promise: nobody waits for all that somebody else has submitted before. */
import { expect, it } from 'vitest';
import type { JobStore } from '../../../src/service/jobs/job-store.ts';
import { accepted, openStore } from '../service-harness.ts';

const worker = (workerId: string) => ({ workerId, isPulled: false });

async function submit(store: JobStore, keyId: string, count: number, isLowPriority = false) {
  const ids = [];
  for (let each = 0; each < count; each++)
    ids.push(await accepted(store, 'farm', `{"of":"${keyId}"}`, { keyId, isLowPriority }));
  return ids;
}

/** Whose job one worker does, one after the other. */
async function doNext(store: JobStore, count: number): Promise<string> {
  let whose = '';
  for (let each = 0; each < count; each++) {
    const [job] = await store.work.take('farm', [worker('w')]);
    if (job === undefined) break;
    whose += (JSON.parse(job.input) as { of: string }).of;
    await store.work.settle(job, { state: 'COMPLETED', output: '1' });
  }
  return whose;
}

it('does ten jobs of one key behind hundreds of another within twice their time alone', async () => {
  const store = await openStore();
  await submit(store, 'a', 300);
  await submit(store, 'b', 10);
  const whose = await doNext(store, 20);
  expect(whose.match(/b/g)).toHaveLength(10);
  expect(await doNext(store, 300)).toBe('a'.repeat(290));
});

it('has the next free worker do the job of whom fewest work for', async () => {
  const store = await openStore();
  await submit(store, 'a', 10);
  const first = await store.work.take('farm', [worker('w1'), worker('w2'), worker('w3')]);
  expect(first).toHaveLength(3);
  await submit(store, 'b', 4);
  expect(await doNext(store, 3)).toBe('bbb');
});

it('keeps the order of each key, and low priority behind all others', async () => {
  const store = await openStore();
  const late = await submit(store, 'b', 2, true);
  const ids = await submit(store, 'a', 3);
  const taken = await store.work.take(
    'farm',
    Array.from({ length: 9 }, (_, each) => worker(`w${each}`)),
  );
  expect(taken.map(({ id }) => id)).toEqual([...ids, ...late]);
});

it('gives a batch of jobs to one worker in turns as well', async () => {
  const store = await openStore();
  await submit(store, 'a', 4);
  await submit(store, 'b', 2);
  const jobs = await store.work.take(
    'farm',
    Array.from({ length: 6 }, () => worker('w')),
  );
  expect(jobs.map(({ input }) => (JSON.parse(input) as { of: string }).of).join('')).toBe('ababaa');
});
