/** Promise: jobs can be ended on a full disk, and ended jobs stay ended. */
import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { JobReserve } from '../../../src/service/jobs/data-folder.ts';
import { cancelPath } from '../../../src/protocol/paths.ts';
import { canMount, fillDisk, mountSmallDisk } from '../../e2e/small-disk.ts';
import { firstTier, rest, runs } from '../../fakes/tier.ts';
import {
  openStore,
  accepted,
  ask,
  askStatus,
  endpointId,
  makeDataDir,
  openService,
  post,
  statusOnce,
  submit,
} from '../service-harness.ts';

const purgePath = `/v2/${endpointId}/purge-queue`;
const body = JSON.stringify({ input: { scene: 'x' } });

describe.skipIf(!canMount)('on a disk that is full (skipped if this user may not mount one)', () => {
  let dataDir: string;
  const reserveBytes = 2 * 1024 * 1024;
  const waitingJobs = runs(300, { ms: 4 });

  beforeEach(async () => {
    dataDir = join(await makeDataDir(), 'disk');
    mountSmallDisk(dataDir, 40);
  });

  it('cancels and purges at once, for good, and takes on jobs again when there is space', async () => {
    const first = await openService({ dataDir, reserveBytes });
    const running = await submit(first.url, { scene: 'running' });
    const run = await first.held.next();
    const waiting = [];
    for (let count = 0; count < waitingJobs; count++) waiting.push(await submit(first.url, { count }));
    const others = fillDisk(dataDir);
    // Submits until the free space within the files of the service is used up too.
    let late = await post(first.url, body);
    for (; late.status === 200; late = await post(first.url, body)) waiting.push((late.json as Job).id);
    expect(late.status).toBe(507);

    const cancel = (id: string) => ask(first.url, cancelPath('v2', endpointId, id), { method: 'POST' });
    expect((await cancel(waiting[0] ?? '')).json).toMatchObject({ status: 'CANCELLED' });
    const purged = await ask(first.url, purgePath, { method: 'POST' });
    expect([purged.status, purged.json]).toEqual([200, { removed: waiting.length - 1, status: 'completed' }]);
    const cancelled = await cancel(running);
    expect([cancelled.status, cancelled.json]).toEqual([200, { id: running, status: 'CANCELLED' }]);
    expect(run.signal.aborted).toBe(true);
    const refused = await post(first.url, body);
    expect(refused.status).toBe(507);
    expect(refused.json).toMatchObject({
      error: expect.stringContaining('the disk of the service is full') as string,
    });
    expect(first.troubles).toContainEqual(expect.stringContaining('accepts no jobs until'));

    rmSync(others);
    while ((await post(first.url, body)).status !== 200);
    expect(existsSync(join(dataDir, 'reserve'))).toBe(true);
    await first.close();
    const second = await openService({ dataDir, reserveBytes, workers: 0 });
    for (const id of [running, ...waiting])
      expect((await askStatus(second.url, id)).json).toMatchObject({ status: 'CANCELLED' });
  });

  it('begins no job, and requeues none, until there is space', async () => {
    const { url, held } = await openService({ dataDir, reserveBytes });
    const failed = await submit(url, { scene: 'failing' });
    (await held.next()).fail(new Error('no'));
    await statusOnce(url, failed, 'FAILED');
    const [running, next] = [await submit(url, { scene: 'running' }), await submit(url, { scene: 'next' })];
    expect((await held.next()).job.id).toBe(running);
    const unwanted = await submit(url, { scene: 'unwanted' });
    const others = fillDisk(dataDir);
    while ((await post(url, body)).status === 200);
    const act = (path: string) => ask(url, path, { method: 'POST' });
    for (const id of [unwanted, running])
      expect((await act(cancelPath('v2', endpointId, id))).json).toMatchObject({ status: 'CANCELLED' });
    const retried = await act(`/v2/${endpointId}/retry/${failed}`);
    expect([retried.status, (await askStatus(url, failed)).json]).toMatchObject([507, { status: 'FAILED' }]);
    expect(held.runs).toHaveLength(2);

    rmSync(others);
    expect((await held.next()).job.id).toBe(next);
  });

  rest.it('takes the ends of jobs, and long results once there is space', async () => {
    const { url, held, troubles } = await openService({ dataDir, reserveBytes, workers: 3 });
    const ids = [];
    for (const scene of ['long', 'short', 'failing']) ids.push(await submit(url, { scene }));
    const [long, short, failing] = [await held.next(), await held.next(), await held.next()];
    const others = fillDisk(dataDir);
    while ((await post(url, body)).status === 200);
    long.complete('x'.repeat(5_000_000));
    while (!troubles.some((text) => text.includes('accepts no jobs'))) await askStatus(url, ids[0] ?? '');
    expect(existsSync(join(dataDir, 'reserve'))).toBe(true);
    short.complete('y'.repeat(200_000));
    failing.fail(new Error('no'));
    expect((await statusOnce(url, ids[1] ?? '', 'COMPLETED')).output).toHaveLength(200_000);
    expect((await statusOnce(url, ids[2] ?? '', 'FAILED')).error).toBe('no');

    rmSync(others);
    expect((await statusOnce(url, ids[0] ?? '', 'COMPLETED')).output).toHaveLength(5_000_000);
  });

  rest.it('deletes expired jobs, which frees space for more', async () => {
    let now = 1_000_000;
    const service = await openService({ dataDir, reserveBytes, retentionMs: 10_000, now: () => now });
    const id = await submit(service.url, { scene: 'x' });
    (await service.held.next()).complete([{ rendered_image: 'x'.repeat(5_000_000) }]);
    while (((await askStatus(service.url, id)).json as Job).status !== 'COMPLETED');
    fillDisk(dataDir);
    while ((await post(service.url, body)).status === 200);
    now += 10_000;
    while ((await post(service.url, body)).status !== 200);
    expect((await askStatus(service.url, id)).status).toBe(404);
  });
});

interface Job {
  id: string;
  status: string;
}

firstTier.it('gives out no job while the disk is full', async () => {
  const store = await openStore();
  const id = await accepted(store, 'a', '{"scene":"x"}');
  const take = () => store.work.take('a', [{ workerId: 'w', isPulled: true }]);
  store.reserve.isFull = true;
  expect(await take()).toEqual([]);
  store.reserve.isFull = false;
  expect(await take()).toMatchObject([{ id }]);
});

firstTier.describe('the reserved space', () => {
  const full = () => Promise.reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
  const bytes = 3_000_000;
  let path: string;
  let troubles: string[];

  beforeEach(async () => {
    path = join(await makeDataDir(), 'reserve');
    troubles = [];
  });

  const reserveOf = (size = bytes) =>
    new JobReserve({ path, bytes: size, onProblem: (text) => troubles.push(text) });

  it('is given to necessary writes, once, for all that failed together', async () => {
    const reserve = reserveOf();
    expect(statSync(path).size).toBeGreaterThanOrEqual(bytes);
    const needing = (done: string) =>
      reserve.spend(() => (existsSync(path) ? full() : Promise.resolve(done)));
    expect(await Promise.all([needing('a'), needing('b')])).toEqual(['a', 'b']);
    expect([reserve.isFull, troubles.length]).toEqual([true, 1]);
    reserve.refill();
    expect([reserve.isFull, existsSync(path)]).toEqual([false, true]);
  });

  it('is not given to a write that fails for another reason, or again', async () => {
    const reserve = reserveOf();
    await expect(reserve.spend(() => Promise.reject(new Error('a bug')))).rejects.toThrow('a bug');
    expect(reserve.isFull).toBe(false);
    await expect(reserve.spend(full)).rejects.toThrow('no space left');
  });

  it('may be zero', async () => {
    await expect(reserveOf(0).spend(full)).rejects.toThrow('no space left');
    expect([existsSync(path), troubles]).toEqual([false, []]);
  });
});
