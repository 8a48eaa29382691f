/**
 * Promise: besides submission and status, clients can wait for jobs, read streams, retry jobs, set policies,
 * and rely on limits.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { endpointSettings } from '../../src/service/model/endpoint-settings.ts';
import { JobResults } from '../../src/service/jobs/job-work.ts';
import { inProcessWorkload } from './in-process-workload.ts';
import type { AnswerOf } from '../../src/protocol/operations.ts';
import { runPath, versions } from '../../src/protocol/paths.ts';
import {
  openStore,
  accepted,
  ask,
  askStatus,
  bytesInUse,
  endpointId,
  instantWorkload,
  makeDataDir,
  openService,
  post,
  type Reply,
  statusOnce,
  submit,
} from './service-harness.ts';

const body = (extra: object = {}, input: object = { scene: 'a hill' }): string =>
  JSON.stringify({ input, ...extra });

function at(operation: string, version = 'v2'): string {
  return `/${version}/${endpointId}/${operation}`;
}

function retry(url: string, id: string): Promise<Reply> {
  return ask(url, at(`retry/${id}`), { method: 'POST' });
}

describe.each(['runsync', 'render'])('%s', (operation) => {
  it.each(versions)('answers with the job once it is done (%s)', async (version) => {
    const { url } = await openService({ workload: instantWorkload(() => [{ seed: 7 }]) });
    const reply = await post(url, body(), at(operation, version));
    const job = reply.json as AnswerOf<'status'>;
    expect(reply.status).toBe(200);
    expect(job).toEqual({
      delayTime: expect.any(Number) as number,
      executionTime: expect.any(Number) as number,
      workerId: expect.any(String) as string,
      id: expect.stringMatching(/^sync-/) as string,
      output: [{ seed: 7 }],
      status: 'COMPLETED',
    });
    expect((await askStatus(url, job.id, version)).text).toBe(reply.text);
  });

  it('answers with the current job when the wait is over, and the job continues', async () => {
    const { url, held } = await openService();
    const first = (await post(url, body(), at(`${operation}?wait=1`))).json as AnswerOf<'status'>;
    const second = (await post(url, body(), at(`${operation}?wait=0`))).json as AnswerOf<'status'>;
    expect(['IN_QUEUE', 'IN_PROGRESS']).toContain(first.status);
    expect(second).toEqual({ id: second.id, status: 'IN_QUEUE' });
    (await held.next()).complete([1]);
    expect((await statusOnce(url, first.id, 'COMPLETED')).output).toEqual([1]);
  });

  it('answers with the failure of a failed job', async () => {
    const { url, held } = await openService();
    const asked = post(url, body(), at(operation));
    (await held.next()).fail(new Error('no such sampler'));
    const { status, json } = await asked;
    expect([status, json]).toMatchObject([200, { status: 'FAILED', error: 'no such sampler' }]);
  });

  it('leaves the job running when its client goes away', async () => {
    const { url, held, troubles } = await openService();
    const leaving = new AbortController();
    const init = { method: 'POST', body: body(), signal: leaving.signal };
    const asked = ask(url, at(operation), init);
    const run = await held.next();
    leaving.abort();
    await expect(asked).rejects.toThrow();
    run.complete([1]);
    expect((await statusOnce(url, run.job.id, 'COMPLETED')).output).toEqual([1]);
    expect(troubles).toEqual([]);
  });

  it('refuses what /run refuses', async () => {
    const { url } = await openService();
    expect((await post(url, '{"input":{}}', at(operation))).status).toBe(400);
  });
});

describe('status-sync', () => {
  it.each(versions)('answers when the job ends (%s)', async (version) => {
    const { url, held } = await openService();
    const id = await submit(url, { scene: 'x' });
    const run = await held.next();
    const early = await ask(url, at(`status-sync/${id}?wait=1`, version));
    expect(early.json).toMatchObject({ status: 'IN_PROGRESS', input: { scene: 'x' } });
    const waiting = ask(url, at(`status-sync/${id}`, version));
    run.complete([1]);
    expect((await waiting).json).toMatchObject({ status: 'COMPLETED', output: [1] });
  });

  it.each(['cancel', 'purge-queue'])('answers when the job is ended by %s', async (operation) => {
    const { url } = await openService({ workers: 0 });
    const id = await submit(url, { scene: 'x' });
    const waiting = ask(url, at(`status-sync/${id}`));
    await ask(url, at(operation === 'cancel' ? `cancel/${id}` : operation), { method: 'POST' });
    expect((await waiting).json).toEqual({ id, status: 'CANCELLED' });
  });
});

describe('a stream', () => {
  it('hands each part out once, in order, and messages of progress are the output meanwhile', async () => {
    const workload = inProcessWorkload('streaming', async (_job, { stream, progress }) => {
      for (let part = 0; part < 500; part++) void stream({ part });
      void progress('almost');
      return 'all';
    });
    const { url } = await openService({ workload });
    const id = await submit(url, { scene: 'x' });
    const parts: unknown[] = [];
    let status = '';
    while (status !== 'COMPLETED') {
      const reply = (await ask(url, at(`stream/${id}`))).json as { status: string; stream: unknown[] };
      parts.push(...reply.stream);
      ({ status } = reply);
    }
    expect(parts).toEqual(Array.from({ length: 500 }, (_, part) => ({ output: { part } })));
    expect((await ask(url, at(`stream/${id}`))).json).toEqual({ status: 'COMPLETED', stream: [] });
    expect((await askStatus(url, id)).json).toMatchObject({ status: 'COMPLETED', output: 'all' });
  });

  it('shared by two clients gives each part to one of them', async () => {
    const workload = inProcessWorkload('streaming', async (_job, { stream }) => {
      for (let part = 0; part < 100; part++) await stream(part);
      return 'all';
    });
    const { url } = await openService({ workload });
    const id = await submit(url, { scene: 'x' });
    await statusOnce(url, id, 'COMPLETED');
    const replies = await Promise.all(Array.from({ length: 5 }, () => ask(url, at(`stream/${id}`))));
    const outputs = replies.flatMap(({ json }) => (json as { stream: { output: number }[] }).stream);
    expect(outputs.map(({ output }) => output)).toEqual(Array.from({ length: 100 }, (_, part) => part));
  });
});

describe('retry', () => {
  it.each(['FAILED', 'TIMED_OUT'])('queues a job that is %s anew under its id', async (status) => {
    const { url, held } = await openService();
    const policy = status === 'TIMED_OUT' ? { executionTimeout: 1 } : {};
    const { id } = (await post(url, body({ policy }))).json as AnswerOf<'status'>;
    const run = await held.next();
    if (status === 'FAILED') run.fail(new Error('no'));
    const before = await statusOnce(url, id, status);
    expect(before).toMatchObject({
      delayTime: expect.any(Number) as number,
      executionTime: expect.any(Number) as number,
      workerId: expect.any(String) as string,
      error: expect.any(String) as string,
    });
    const blocker = await submit(url, { scene: 'takes the worker' });
    const blocking = await held.next();
    expect(blocking.job.id).toBe(blocker);
    const reply = await retry(url, id);
    expect([reply.status, reply.json]).toEqual([200, { id, status: 'IN_QUEUE' }]);
    expect((await askStatus(url, id)).json).toEqual({ id, status: 'IN_QUEUE' });
    blocking.complete([1]);
    const again = await held.next();
    expect(again.job).toMatchObject({ id, input: { scene: 'a hill' } });
    again.complete([2]);
    if (status === 'FAILED') expect((await statusOnce(url, id, 'COMPLETED')).output).toEqual([2]);
    else await ask(url, at(`status-sync/${id}`));
  });

  it('is refused for a job in any other state', async () => {
    const { url, held } = await openService();
    const running = await submit(url, { scene: 'x' });
    const run = await held.next();
    const waiting = await submit(url, { scene: 'y' });
    for (const id of [running, waiting]) expect((await retry(url, id)).status).toBe(409);
    run.complete([1]);
    await statusOnce(url, running, 'COMPLETED');
    await ask(url, at(`cancel/${waiting}`), { method: 'POST' });
    for (const id of [running, waiting]) expect((await retry(url, id)).status).toBe(409);
    expect((await retry(url, 'no-such-job')).status).toBe(404);
    expect((await askStatus(url, running)).json).toMatchObject({ status: 'COMPLETED' });
  });

  it('is over with the retention', async () => {
    let now = 1_000_000;
    const { url, held } = await openService({ retentionMs: 1_000, now: () => now });
    const id = await submit(url, { scene: 'x' });
    (await held.next()).fail(new Error('no'));
    await statusOnce(url, id, 'FAILED');
    now += 1_000;
    expect((await retry(url, id)).status).toBe(404);
  });
});

describe('a policy', () => {
  it('of executionTimeout ends a job that runs for too long, and informs its worker', async () => {
    const { url, held } = await openService();
    const { id } = (await post(url, body({ policy: { executionTimeout: 1 } }))).json as AnswerOf<'status'>;
    const run = await held.next();
    expect((await statusOnce(url, id, 'TIMED_OUT')).error).toBe(
      'job timed out: it ran longer than its execution timeout of 1 ms',
    );
    const next = await submit(url, { scene: 'next' });
    expect((await held.next()).job.id).toBe(next);
    expect(run.signal.aborted).toBe(true);
  });

  it('of ttl ends a job that waits for too long', async () => {
    const { url } = await openService({ workers: 0 });
    const { id } = (await post(url, body({ policy: { ttl: 1 } }))).json as AnswerOf<'status'>;
    expect(await statusOnce(url, id, 'TIMED_OUT')).toEqual({
      error: 'job timed out: it was still in the queue after its time to live of 1 ms',
      id,
      status: 'TIMED_OUT',
    });
  });

  it('of low priority has a job wait behind all others', async () => {
    const { url, held } = await openService();
    await submit(url, { scene: 'first' });
    const { id: low } = (await post(url, body({ policy: { lowPriority: true } }))).json as AnswerOf<'status'>;
    const high = await submit(url, { scene: 'high' });
    (await held.next()).complete([1]);
    const second = await held.next();
    expect(second.job.id).toBe(high);
    second.complete([1]);
    expect((await held.next()).job.id).toBe(low);
  });

  it.each([
    { policy: null },
    { policy: [] },
    { policy: 'fast' },
    { policy: { executionTimeout: 0 } },
    { policy: { executionTimeout: -1 } },
    { policy: { executionTimeout: '5000' } },
    { policy: { ttl: 1.5 } },
    { policy: { ttl: 1e300 } },
    { policy: { ttl: null } },
    { policy: { lowPriority: 'yes' } },
    { webhook: 7 },
    { webhook: '' },
    { webhook: 'example.com' },
    { webhook: 'ftp://example.com/x' },
    { webhook: 'https://user:password@example.com/' },
  ])('that is none is refused with a message: %j', async (extra) => {
    const { url, held } = await openService();
    const reply = await post(url, body(extra));
    expect(reply.status).toBe(400);
    const [name = ''] = Object.keys(extra);
    expect((reply.json as { error: string }).error).toMatch(
      new RegExp(`^"${name}[a-zA-Z.]*" is .+; expected `),
    );
    expect(held.runs).toEqual([]);
  });
});

it('says when the clock was set back, too, how long a job took', async () => {
  let now = 1_000_000;
  const { url, held } = await openService({ now: () => now });
  const blocker = await submit(url, { scene: 'x' });
  const run = await held.next();
  const id = await submit(url, { scene: 'y' });
  now -= 5_000;
  run.complete([1]);
  await statusOnce(url, blocker, 'COMPLETED');
  (await held.next()).complete([1]);
  expect(await statusOnce(url, id, 'COMPLETED')).toMatchObject({ delayTime: 0, executionTime: 0 });
});

describe('a large result', () => {
  const large = (mark: string) => [{ rendered_image: `${mark}${'x'.repeat(400_000)}${mark}`, seed: 1 }];

  it('lives in a file of its own, is answered as any other, and is gone when its time is over', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      let now = 1_000_000;
      const workload = instantWorkload(() => large('MARK'));
      const { url, dataDir } = await openService({ retentionMs: 10_000, now: () => now, workload });
      const id = await submit(url, { scene: 'x' });
      expect((await statusOnce(url, id, 'COMPLETED')).output).toEqual(large('MARK'));
      expect(await readdir(join(dataDir, 'results'))).toHaveLength(1);
      expect(await bytesInUse(dataDir)).toContain('MARK');
      now += 10_000;
      expect((await askStatus(url, id)).status).toBe(404);
      vi.advanceTimersByTime(1_000);
      while ((await bytesInUse(dataDir)).includes('MARK'));
      expect(await readdir(join(dataDir, 'results'))).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('of a job that was cancelled in the meantime leaves nothing', async () => {
    const dir = await makeDataDir();
    const store = await openStore({}, dir);
    const id = await accepted(store, endpointId, '{"scene":"x"}');
    const [job] = await store.work.take(endpointId, [{ workerId: 'w1', isPulled: false }]);
    await store.cancel(endpointId, id);
    const output = JSON.stringify(large('MARK'));
    expect(await new JobResults(store).complete(job ?? expect.fail(), output)).toBe(false);
    expect(await readdir(join(dir, 'results'))).toEqual([]);
  });

  it('is FAILED with a message if it is too large', async () => {
    const { url } = await openService({ maxResultBytes: 1_000, workload: instantWorkload(() => large('X')) });
    const id = await submit(url, { scene: 'x' });
    const job = await statusOnce(url, id, 'FAILED');
    expect(job.error).toBe("the worker's output exceeds 1000 bytes");
    expect(job).not.toHaveProperty('output');
  });
});

describe('too much', () => {
  const full = (maxQueued: number) => [endpointSettings({ id: endpointId, workers: 0, maxQueued })];

  it('in the queue is answered with 429 and when to come back, also if it comes at once', async () => {
    const { url } = await openService({ endpoints: full(5) });
    const replies = await Promise.all(Array.from({ length: 40 }, () => post(url, body())));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(5);
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(35);
    expect(refused[0]?.json).toEqual({ error: 'the queue of this endpoint is full: 5 jobs wait' });
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    await ask(url, at('purge-queue'), { method: 'POST' });
    expect((await post(url, body())).status).toBe(200);
  });

  it('from one key is answered with 429 and when to come back, for each operation apart', async () => {
    const { url } = await openService({
      workers: 0,
      keys: ['key-of-the-tests', 'another'],
      rate: { requests: 3, withinMs: 3_600_000 },
    });
    const statuses = [];
    for (let count = 0; count < 5; count++) statuses.push((await post(url, body())).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    const refused = await post(url, body());
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60);
    expect((await ask(url, at('health'))).status).toBe(200);
    const headers = { Authorization: 'Bearer another' };
    const init = { method: 'POST', body: body(), headers };
    expect((await ask(url, runPath('v2', endpointId), init)).status).toBe(200);
  });
});
