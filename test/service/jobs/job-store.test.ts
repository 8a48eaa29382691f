/** Promise: the job store deletes expired results from the disk, and handles unusual orders of events. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { JobStore } from '../../../src/service/jobs/job-store.ts';
import { longText } from '../../../src/service/jobs/long-texts.ts';
import type { TakenJob } from '../../../src/service/jobs/job-statements.ts';
import { firstTier, isWhole, runs } from '../../fakes/tier.ts';
import { openStore, accepted, bytesIn, makeDataDir } from '../service-harness.ts';

const taker = { workerId: 'w', isPulled: false };

firstTier.it('the store drops the result of a cancelled job, also if both come at once', async () => {
  const store = await openStore({ retentionMs: 10, now: () => 1_000 });
  const ids = [await accepted(store, 'a', '{"scene":"x"}'), await accepted(store, 'a', '{"scene":"y"}')];
  await store.work.take('a', [taker, taker]);
  const settle = (id: string) =>
    store.work.settle({ id, workerId: 'w' }, { state: 'COMPLETED', output: '1' });
  expect(await Promise.all(ids.map((id) => store.cancel('a', id)))).toEqual(['CANCELLED', 'CANCELLED']);
  await settle(ids[0] ?? '');
  const third = await accepted(store, 'a', '{"scene":"z"}');
  await store.work.take('a', [taker]);
  await Promise.all([store.cancel('a', third), settle(third)]);
  expect([...ids, third].map((id) => store.reads.find('a', id)?.state)).toEqual(Array(3).fill('CANCELLED'));
});

firstTier.it('the store deletes an ended job on request with its texts, and no open job', async () => {
  const dataDir = await makeDataDir();
  const store = new JobStore(join(dataDir, 'book.sqlite'), { retentionMs: 1_000, now: () => 1_000 });
  const long = JSON.stringify({ text: 'z'.repeat(longText) });
  const [ended, open] = [await accepted(store, 'a', long), await accepted(store, 'a', '{"scene":"y"}')];
  await store.work.take('a', [taker]);
  await store.work.settle({ id: ended, workerId: 'w' }, { state: 'COMPLETED', output: long });
  for (const id of [ended, open, 'unknown']) await store.expiry.deleteEnded(id);
  expect([ended, open].map((id) => store.reads.find('a', id)?.state)).toEqual([undefined, 'IN_QUEUE']);
  expect(['inputs', 'results'].flatMap((folder) => readdirSync(join(dataDir, folder)))).toEqual([]);
  store.close();
});

it('the store leaves nothing of deleted results of any size, in any order', async () => {
  const dataDir = await makeDataDir();
  const random = randomOf(8);
  const rounds = runs(500, { ms: 10, least: 60 });
  const retentionMs = 1_000;
  let now = 1_000_000;
  const store = new JobStore(join(dataDir, 'book.sqlite'), { retentionMs, now: () => now });
  const text = (what: string) =>
    JSON.stringify({ text: `TOKEN-${what}-${'z'.repeat(sizes[random(5)] ?? 0)}` });
  const open: TakenJob[] = [];
  const tokens = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    now += 10;
    const names = Array.from({ length: random(10) }, (_, count) => `${round}.${count}-in`);
    await Promise.all(names.map((name) => accepted(store, 'a', text(name))));
    open.push(
      ...(await store.work.take(
        'a',
        Array.from({ length: 10 }, () => taker),
      )),
    );
    while (open.length > 100) {
      const [job] = open.splice(random(open.length), 1);
      if (job === undefined) break;
      const output = text(`${job.id}-out`);
      for (const each of [String(job.input), output])
        tokens.set(/TOKEN-.*?-(in|out)-/.exec(each)?.[0] ?? '', now);
      await store.work.settle(job, { state: 'COMPLETED', output });
    }
    while ((await store.expiry.deleteSome()) > 0);
  }
  store.close();

  const bytes = (await bytesIn(dataDir)).toString('latin1');
  const isWrong = ([token, at]: [string, number]) => bytes.includes(token) !== now < at + retentionMs;
  expect([...tokens].filter(isWrong)).toEqual([]);
  expect(tokens.size).toBeGreaterThan(isWhole ? 3_000 : 100);
});

const sizes = [40, 200, 900, 2_500, 9_000];

/** Returns a random source. The same seed gives the same integers below the bound. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * below);
  };
}
