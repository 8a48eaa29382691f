/**
 * Promise: a job belongs to one worker, ends or returns to the queue as that worker says, and its result is
 * kept exactly or rejected with a message.
 */
import { describe, expect, it } from 'vitest';
import { JobResults } from '../../../src/service/jobs/job-work.ts';
import type { JobStore } from '../../../src/service/jobs/job-store.ts';
import { accepted, openStore } from '../service-harness.ts';

const own = { workerId: 'w', isPulled: false };

/** Creates a job that worker `w` runs. */
async function running(store: JobStore, terms = {}): Promise<{ id: string; workerId: string }> {
  const id = await accepted(store, 'a', '{"scene":"x"}', terms);
  await store.work.take('a', [own]);
  return { id, workerId: 'w' };
}

describe('a job that is taken', () => {
  it('is one job for each worker, and after the first no more than fits', async () => {
    const store = await openStore();
    const input = JSON.stringify({ scene: 'x'.repeat(90) });
    for (let count = 0; count < 6; count++) await accepted(store, 'a', input);
    const many = Array.from({ length: 4 }, (_, each) => ({ workerId: `w${each}`, isPulled: false }));
    expect(await store.work.take('b', many)).toEqual([]);
    expect(await store.work.take('a', many, 10)).toHaveLength(1);
    expect(await store.work.take('a', many, 2 * input.length)).toHaveLength(2);
    const last = await store.work.take('a', many.slice(1, 3), 1_000);
    expect(last).toMatchObject([
      { workerId: 'w1', input, webhook: null, s3Config: null },
      { workerId: 'w2', input },
    ]);
    expect([store.reads.queueLength('a'), store.reads.takeable('a')]).toEqual([1, 1]);
  });

  it('does not belong to a paused endpoint, also after a new start', async () => {
    const store = await openStore();
    await accepted(store, 'a', '{"scene":"x"}');
    await store.pause('a', true);
    expect([
      await store.work.take('a', [own]),
      store.reads.takeable('a'),
      store.reads.queueLength('a'),
    ]).toEqual([[], 0, 1]);
    expect([store.reads.isPaused('a'), store.reads.isPaused('b')]).toEqual([true, false]);
    await store.pause('a', false);
    expect(await store.work.take('a', [own])).toHaveLength(1);
  });

  it('goes with its webhook and the place of its results', async () => {
    const store = await openStore();
    await accepted(store, 'a', '{"scene":"x"}', { webhook: 'https://hook.example', s3Config: '{"a":1}' });
    expect(await store.work.take('a', [own])).toMatchObject([
      { webhook: 'https://hook.example', s3Config: '{"a":1}' },
    ]);
  });
});

describe('a job that runs', () => {
  it('shows progress from its worker only', async () => {
    const store = await openStore();
    const job = await running(store);
    expect(await store.work.setProgress({ ...job, workerId: 'other' }, '"no"')).toBe(false);
    expect(await store.work.setProgress(job, '"half"')).toBe(true);
    expect(store.reads.find('a', job.id)?.progress).toBe('"half"');
    await store.work.requeue(job, 'it died');
    expect(await store.work.setProgress(job, '"more"')).toBe(false);
    expect(store.reads.find('a', job.id)).toMatchObject({ progress: null, startedAt: null, retries: 1 });
  });

  it('takes its result after all if it was put back for silence, unless another has it', async () => {
    const store = await openStore();
    const job = await running(store);
    await store.work.requeue(job, 'it was silent');
    const done = { state: 'COMPLETED', output: '"late"' } as const;
    expect(await store.work.settle({ ...job, workerId: 'other' }, done)).toBe(false);
    expect(await store.work.settle(job, done)).toBe(true);
    expect(await store.work.settle(job, done)).toBe(false);
    const found = store.reads.find('a', job.id);
    expect([found?.state, found?.payload?.toString(), found?.startedAt]).toEqual([
      'COMPLETED',
      '"late"',
      expect.any(Number),
    ]);
    expect(store.reads.latestCompleted('a')).toEqual([job.id]);
    const next = await running(store);
    await store.work.requeue(next, 'it was silent');
    await store.work.take('a', [{ ...own, workerId: 'other' }]);
    expect(await store.work.settle(next, done)).toBe(false);
    expect(store.reads.find('a', next.id)?.workerId).toBe('other');
  });

  it('goes back uncounted if it never reached its worker', async () => {
    const store = await openStore();
    const job = await running(store, { maxRetries: 0 });
    expect(await store.work.requeue(job, 'not sent', { isCounted: false })).toBe('IN_QUEUE');
    await store.work.take('a', [own]);
    expect(await store.work.requeue(job, 'it died')).toBe('FAILED');
    expect(await store.work.requeue(job, 'it died')).toBeUndefined();
  });

  it('is described to its worker as it is now', async () => {
    const store = await openStore();
    const [done, failed, cancelled] = [await running(store), await running(store), await running(store)];
    expect(store.reads.standing(done)).toBe('in progress');
    expect([store.reads.isInProgress(done), store.reads.isInProgress({ ...done, workerId: 'x' })]).toEqual([
      true,
      false,
    ]);
    await store.work.settle(done, { state: 'COMPLETED', output: '1' });
    await store.work.settle(failed, { state: 'FAILED', error: 'no' });
    await store.cancel('a', cancelled.id);
    const standings = [done, failed, cancelled, { id: 'none', workerId: 'w' }, { ...done, workerId: 'x' }];
    expect(standings.map((job) => store.reads.standing(job))).toEqual([
      'settled',
      'settled',
      'unwanted',
      'unwanted',
      'unwanted',
    ]);
    expect([done, cancelled].map(({ id }) => store.reads.hasEnded(id))).toEqual([true, true]);
  });

  it('ends when its time is over, which says which', async () => {
    let now = 1_000;
    const store = await openStore({ now: () => now });
    const long = await running(store, { executionTimeoutMs: 50, ttlMs: 10_000 });
    const old = await running(store, { executionTimeoutMs: 10_000, ttlMs: 60 });
    const late = await accepted(store, 'a', '{"scene":"x"}', { ttlMs: 70 });
    const errors = () => [long.id, old.id, late].map((id) => store.reads.find('a', id)?.error ?? null);
    now += 49;
    expect(await store.bulk.timeOutSome()).toEqual([]);
    now += 1;
    expect(await store.bulk.timeOutSome()).toMatchObject([{ id: long.id, workerId: 'w' }]);
    now += 50;
    expect(await store.bulk.timeOutSome()).toHaveLength(2);
    expect(errors()).toEqual([
      'job timed out: it ran longer than its execution timeout of 50 ms',
      'job timed out: it was still running after its time to live of 60 ms',
      'job timed out: it was still in the queue after its time to live of 70 ms',
    ]);
    expect(store.reads.find('a', long.id)?.state).toBe('TIMED_OUT');
  });
});

it('never retries a job that had its own credentials', async () => {
  const store = await openStore();
  const failure = { state: 'FAILED', error: 'no' } as const;
  const job = await running(store, { s3Config: '{"a":1}' });
  await store.work.settle(job, failure);
  expect([await store.retry('a', job.id), await store.retry('b', job.id)]).toEqual([
    'without credentials',
    undefined,
  ]);
  const other = await running(store);
  await store.streams.add(other, '1');
  await store.work.settle(other, { ...failure, errorValue: '{"code":1}', output: '"half"' });
  expect(store.reads.find('a', other.id)).toMatchObject({ errorValue: '{"code":1}' });
  expect(await store.retry('a', other.id)).toBe('FAILED');
  expect([store.reads.find('a', other.id)?.payload, store.streams.hasNews(other.id)]).toEqual([null, false]);
  expect(store.reads.find('a', other.id)).toMatchObject({ error: null, errorValue: null, retries: 0 });
});

it('cancels a job that has not ended, once, and returns the state of one that has', async () => {
  const store = await openStore();
  const [job, waiting] = [await running(store), await accepted(store, 'a', '{"scene":"y"}')];
  expect([await store.cancel('a', waiting), await store.cancel('a', waiting)]).toEqual([
    'CANCELLED',
    'CANCELLED',
  ]);
  await store.work.settle(job, { state: 'COMPLETED', output: '1' });
  expect([
    await store.cancel('a', job.id),
    await store.cancel('b', job.id),
    await store.cancel('a', 'none'),
  ]).toEqual(['COMPLETED', undefined, undefined]);
  expect(store.reads.tally('a')).toMatchObject({ COMPLETED: 1, CANCELLED: 1, IN_QUEUE: 0 });
  expect([store.reads.has('a', job.id), store.reads.has('b', job.id), store.reads.has('a', 'none')]).toEqual([
    true,
    false,
    false,
  ]);
});

it('knows a job while its time is not over, and its key as long', async () => {
  let now = 1_000_000;
  const store = await openStore({ now: () => now, retentionMs: 100 });
  const idempotency = { key: Buffer.from('key'), body: Buffer.from('body') };
  const submit = (body = idempotency.body) =>
    store.accept('a', '{"scene":"x"}', { idempotency: { ...idempotency, body } });
  const first = await submit();
  expect([await submit(), store.reads.wasSubmitted(idempotency.key)]).toEqual([
    { ...(first as object), isNew: false },
    true,
  ]);
  expect(await submit(Buffer.from('other'))).toBe('another body');
  const { id } = first as { id: string };
  await store.cancel('a', id);
  now += 99;
  expect([store.reads.find('a', id)?.state, store.reads.has('a', id)]).toEqual(['CANCELLED', true]);
  now += 1;
  expect([store.reads.find('a', id), store.reads.has('a', id), await store.cancel('a', id)]).toEqual([
    undefined,
    false,
    undefined,
  ]);
  expect([store.reads.wasSubmitted(idempotency.key), store.reads.wasSubmitted(Buffer.from('x'))]).toEqual([
    false,
    false,
  ]);
  expect(await submit(Buffer.from('other'))).toMatchObject({ isNew: true, state: 'IN_QUEUE' });
});

describe('a result that a worker brings', () => {
  async function book() {
    const store = await openStore();
    const results = new JobResults(store, 20);
    const shown = (id: string) => {
      const job = store.reads.find('a', id);
      return [job?.state, job?.payload?.toString(), job?.error, job?.errorValue];
    };
    return { store, results, shown };
  }

  it('is kept up to its size in bytes, and beyond it fails with a message', async () => {
    const { store, results, shown } = await book();
    const [fits, long] = [await running(store), await running(store)];
    expect(await results.complete(fits, `"${'x'.repeat(18)}"`)).toBe(true);
    expect(await results.complete(long, `"${'é'.repeat(10)}"`)).toBe(true);
    expect(shown(fits.id)).toEqual(['COMPLETED', `"${'x'.repeat(18)}"`, null, null]);
    expect(shown(long.id)).toEqual(['FAILED', undefined, "the worker's output exceeds 20 bytes", null]);
  });

  it('of a failure has its message and its details', async () => {
    const { store, results, shown } = await book();
    const jobs = [];
    for (let count = 0; count < 4; count++) jobs.push(await running(store));
    const [whole, none, large, long] = jobs as [
      (typeof jobs)[0],
      (typeof jobs)[0],
      (typeof jobs)[0],
      (typeof jobs)[0],
    ];
    await results.fail(whole, { text: 'no', value: '{"a":1}', output: '"half"' });
    await results.fail(none, { text: 'no', output: 'null' });
    await results.fail(large, { text: 'no', output: `"${'x'.repeat(30)}"` });
    const value = JSON.stringify('x'.repeat(20_000));
    await results.fail(long, { text: 'x'.repeat(20_000), value });
    expect(shown(whole.id)).toEqual(['FAILED', '"half"', 'no', '{"a":1}']);
    expect([none, large].map(({ id }) => shown(id))).toEqual(
      [1, 2].map(() => ['FAILED', undefined, 'no', null]),
    );
    expect(shown(long.id)).toEqual(['FAILED', undefined, 'x'.repeat(10_000), null]);
  });

  it('is 100 MB at most if nothing is said', async () => {
    const { store } = await book();
    const job = await running(store);
    await new JobResults(store).failTooLarge(job);
    expect(store.reads.find('a', job.id)?.error).toBe("the worker's output exceeds 104857600 bytes");
  });
});

describe('a stream', () => {
  it('is kept until it is read, no more than so much at a time', async () => {
    const store = await openStore({ maxUnreadBytes: 250 });
    const [job, other] = [await running(store), await running(store)];
    const add = () => store.streams.add(job, '"12345"');
    expect([await store.streams.drain(job.id), store.streams.hasNews(job.id)]).toEqual([[], false]);
    expect([await add(), await add(), await add(), store.streams.hasNews(job.id)]).toEqual([
      true,
      true,
      false,
      true,
    ]);
    expect(await store.streams.add(other, '1')).toBe(true);
    expect(await store.streams.drain(job.id)).toEqual(['"12345"', '"12345"']);
    expect([await add(), await store.streams.drain(job.id), await store.streams.drain('none')]).toEqual([
      true,
      ['"12345"'],
      [],
    ]);
    await store.work.settle(job, { state: 'COMPLETED', output: '1' });
    expect([await add(), store.streams.hasNews(job.id), store.streams.hasNews('none')]).toEqual([
      false,
      false,
      false,
    ]);
    expect(await store.streams.drain(other.id)).toEqual(['1']);
  });

  it('of a job that is run again counts anew', async () => {
    const store = await openStore({ maxUnreadBytes: 150 });
    const job = await running(store);
    expect([await store.streams.add(job, '1'), await store.streams.add(job, '2')]).toEqual([true, false]);
    await store.work.settle(job, { state: 'FAILED', error: 'no' });
    await store.retry('a', job.id);
    await store.work.take('a', [own]);
    expect(await store.streams.add(job, '3')).toBe(true);
    expect(await store.streams.drain(job.id)).toEqual(['3']);
  });
});

describe('a list of jobs shows of an input', () => {
  it.each([
    ['{"scene":"a hill"}', 'a hill'],
    ['{"width":1,"prompt" : "a \\"hill\\"\\nat \\u00e9"}', 'a "hill" at é'],
    [JSON.stringify({ scene: 'x'.repeat(120) }), 'x'.repeat(120)],
    [JSON.stringify({ scene: 'x'.repeat(121) }), `${'x'.repeat(119)}…`],
    ['{"seed":1}', ''],
    ['{"scene":1}', ''],
    [JSON.stringify({ picture: 'x'.repeat(5_000), scene: 'a hill' }), ''],
  ])('%.40s: %j', async (input, summary) => {
    const store = await openStore();
    const id = await accepted(store, 'a', input);
    const row = store.file.db.prepare('SELECT summary FROM job WHERE id = ?').pluck().get(id);
    expect(row).toEqual(summary);
  });
});
