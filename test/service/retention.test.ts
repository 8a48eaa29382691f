/** Promise: expired inputs and outputs disappear from answers at once, and from the disk soon after. */
import { describe, expect, it, vi } from 'vitest';
import { cancelPath } from '../../src/protocol/paths.ts';
import {
  ask,
  askStatus,
  bytesIn,
  bytesInUse,
  endpointId,
  makeDataDir,
  openService,
  statusOnce,
  submit,
} from './service-harness.ts';

const retentionMs = 10_000;

it.each(['COMPLETED', 'FAILED', 'CANCELLED'])(
  'a job that is %s is forgotten exactly when its retention is over',
  async (status) => {
    let now = 1_000_000;
    const { url, held } = await openService({ retentionMs, now: () => now });
    const id = await submit(url, { scene: 'a hill' });
    now += 60_000;
    const run = await held.next();
    if (status === 'COMPLETED') run.complete('done');
    else if (status === 'FAILED') run.fail('undone');
    else await ask(url, cancelPath('v2', endpointId, id), { method: 'POST' });
    await statusOnce(url, id, status);

    now += retentionMs - 1;
    expect((await askStatus(url, id)).status).toBe(200);
    now += 1;
    const reply = await askStatus(url, id);
    expect(reply.status).toBe(404);
    expect(reply.json).toEqual({ error: 'job not found' });
  },
);

it('jobs that have not ended are kept, however long they take', async () => {
  let now = 1_000_000;
  const { url, held } = await openService({ retentionMs, now: () => now });
  const running = await submit(url, { scene: 'running' });
  await held.next();
  const queued = await submit(url, { scene: 'queued' });
  now += 100 * retentionMs;
  expect((await askStatus(url, running)).json).toMatchObject({ status: 'IN_PROGRESS' });
  expect((await askStatus(url, queued)).json).toMatchObject({ status: 'IN_QUEUE' });
});

describe('an expired job on the disk', () => {
  it('leaves nothing of its input, output or error, and the other jobs stay', async () => {
    let now = 1_000_000;
    const dataDir = await makeDataDir();
    const first = await openService({ dataDir, retentionMs, now: () => now });
    const old = await submit(first.url, { scene: 'OLD-INPUT' });
    (await first.held.next()).complete('OLD-OUTPUT');
    const broken = await submit(first.url, { scene: 'BROKEN-INPUT' });
    (await first.held.next()).fail('OLD-ERROR');
    await statusOnce(first.url, old, 'COMPLETED');
    await statusOnce(first.url, broken, 'FAILED');
    now += retentionMs - 1;
    const young = await submit(first.url, { scene: 'YOUNG-INPUT' });
    (await first.held.next()).complete('YOUNG-OUTPUT');
    await statusOnce(first.url, young, 'COMPLETED');
    await submit(first.url, { scene: 'WAITING-INPUT' });
    now += 1;
    await first.close();

    const bytes = await bytesIn(dataDir);
    const found = /(OLD|BROKEN|YOUNG|WAITING)-(INPUT|OUTPUT|ERROR)/g;
    const texts = new Set([...bytes.toString('latin1').matchAll(found)].map(([text]) => text));
    expect([...texts].toSorted()).toEqual(['WAITING-INPUT', 'YOUNG-INPUT', 'YOUNG-OUTPUT']);
  });

  it('is swept while the service runs, without being asked', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      let now = 1_000_000;
      const { url, held, dataDir, troubles } = await openService({ retentionMs, now: () => now });
      const id = await submit(url, { scene: 'OLD-INPUT' });
      (await held.next()).complete('OLD-OUTPUT');
      await statusOnce(url, id, 'COMPLETED');
      await submit(url, { scene: 'RUNNING-INPUT' });
      await held.next();
      expect(await bytesInUse(dataDir)).toMatch(/OLD-INPUT/);
      now += retentionMs;
      vi.advanceTimersByTime(retentionMs / 10);
      while ((await bytesInUse(dataDir)).includes('OLD-'));
      expect(await bytesInUse(dataDir)).toMatch(/RUNNING-INPUT/);
      expect(troubles).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('is swept at the start as well', async () => {
    let now = 1_000_000;
    const dataDir = await makeDataDir();
    const first = await openService({ dataDir, retentionMs, now: () => now });
    const id = await submit(first.url, { scene: 'OLD-INPUT' });
    (await first.held.next()).complete('OLD-OUTPUT');
    await statusOnce(first.url, id, 'COMPLETED');
    await first.close();
    expect((await bytesIn(dataDir)).toString('latin1')).toMatch(/OLD-INPUT/);

    now += retentionMs;
    const second = await openService({ dataDir, retentionMs, now: () => now });
    now = 0;
    await second.close();
    expect((await bytesIn(dataDir)).toString('latin1')).not.toMatch(/OLD-/);
  });
});
