/**
 * Promise: `cancel` cancels every job in flight that the service can cancel, keeps every paid result, and
 * reports the other jobs.
 */
import { describe, expect, it } from 'vitest';
import type { Event } from '../../../src/runner/pipeline/event.ts';
import type { Stop } from '../../../src/runner/pipeline/stop.ts';
import { firstTier, sampledUpTo } from '../../fakes/tier.ts';
import { manifestOf, World } from '../../fakes/world.ts';

const minutes = 60_000;
const list = (count: number) =>
  manifestOf(Array.from({ length: count }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));

/** Leaves `count` jobs of a run in flight. */
async function leftInFlight(world: World, count: number): Promise<World> {
  let submitted = 0;
  const onEvent = (event: Event, stop: Stop): void => {
    if (event.type === 'scene-submitted' && ++submitted === count)
      stop.request('leave', { kind: 'interrupted', text: '' });
  };
  await world.run({ manifest: list(count), settings: { concurrency: count }, onEvent });
  return world;
}

firstTier.describe('a service that accepts 20 cancellations in ten seconds', () => {
  it('cancels 200 jobs all the same: a job that is given up would run on, and bill', async () => {
    const world = await leftInFlight(new World(() => ({ queueMs: 0, executionMs: 60 * minutes })), 200);
    const accepted: number[] = [];
    world.service.instead.cancel = () => {
      const now = world.clock.elapsed();
      if (accepted.filter((at) => at > now - 10_000).length >= 20)
        return { kind: 'failure', failure: { kind: 'overloaded', text: '429' } };
      accepted.push(now);
      return undefined;
    };
    expect(await world.cancel()).toMatchObject({ ending: { kind: 'complete' }, found: 200, left: [] });
    expect(accepted).toHaveLength(200);
  });

  it('that refuses every cancellation is given up after a while, and the jobs are named', async () => {
    const world = await leftInFlight(new World(() => ({ queueMs: 0, executionMs: 60 * minutes })), 3);
    world.service.instead.cancel = () => ({ kind: 'failure', failure: { kind: 'overloaded', text: '429' } });
    const result = await world.cancel();
    expect(result?.left.map(({ why }) => why)).toEqual(Array(3).fill('it could not be cancelled: 429'));
    expect(world.clock.elapsed()).toBeLessThan(30 * minutes);
  });
});

firstTier.describe('a job in flight', () => {
  it('is cancelled; its scene waits, the attempt counts for nothing, and the next run renders it', async () => {
    const world = await leftInFlight(new World(), 3);
    const result = await world.cancel();
    expect(result).toMatchObject({ ending: { kind: 'complete' }, found: 3, left: [] });
    expect(world.rows('SELECT DISTINCT state, failure_kind FROM attempts')).toEqual([
      { state: 'failed', failure_kind: 'cancelled' },
    ]);
    // With one attempt per scene, a counted attempt would have been the last one.
    const settings = { retry: { ...retry, attempts: 1, submissions: 1 } };
    expect((await world.run({ manifest: list(3), settings }))?.ending.kind).toBe('complete');
    for (const i of [0, 1, 2]) expect(world.service.submissionsOf(`scene ${i}`)).toBe(2);
  });

  it('is saved if it is done already: it is paid', async () => {
    const world = await leftInFlight(new World(), 3);
    const settings = { pricing: { perSecond: 0.01, currency: 'USD' } };
    const result = await world.cancel({ afterMs: 5 * minutes, settings });
    expect(result).toMatchObject({ ending: { kind: 'complete' }, left: [] });
    const saved = world.events.filter(({ type }) => type === 'scene-saved');
    expect(saved.at(-1)).toMatchObject({ cost: { spent: expect.closeTo(3 * 4 * 0.01) as number } });
    expect(world.images.files.size).toBe(3);
    expect(world.rows("SELECT count(*) AS n FROM scenes WHERE state = 'saved'")).toEqual([{ n: 3 }]);
  });

  it('keeps the failure that it had by itself if the service cancels nothing', async () => {
    const world = await leftInFlight(
      new World(() => ({ failure: { kind: 'job-failed', text: 'no memory' } })),
      1,
    );
    world.service.instead.cancel = () => ({ kind: 'unsupported', text: '404' });
    await world.cancel({ afterMs: 5 * minutes });
    expect(world.rows('SELECT failure_kind FROM attempts')).toEqual([{ failure_kind: 'job-failed' }]);
  });

  it.each([
    [{ kind: 'unsupported', text: 'no such operation (405)' } as const, /no such operation \(405\)/],
    [{ kind: 'cancelled' } as const, /accepted the cancellation and still reports IN_QUEUE/],
    [
      { kind: 'failure', failure: { kind: 'poll-failed', text: '502' } } as const,
      /could not be cancelled: 502/,
    ],
  ])('stays in flight, and is said, if the answer is %j and it runs on', async (reply, why) => {
    const world = await leftInFlight(new World(() => ({ queueMs: 60 * minutes })), 2);
    world.service.instead.cancel = () => reply;
    const result = await world.cancel();
    expect(result?.ending).toEqual({ kind: 'incomplete', text: '2 jobs are still in flight' });
    expect(result?.left).toMatchObject([
      { scene: 's0', jobId: 'job-1', why: expect.stringMatching(why) },
      { scene: 's1', jobId: 'job-2', why: expect.stringMatching(why) },
    ]);
    expect(world.rows("SELECT count(*) AS n FROM attempts WHERE state = 'submitted'")).toEqual([{ n: 2 }]);
  });

  it('is asked about again if an answer gets lost, after a wait', async () => {
    const world = await leftInFlight(new World(), 1);
    let asked = 0;
    const retryAfterMs = 7_000;
    world.service.instead.cancel = () =>
      ++asked < 3
        ? { kind: 'failure', failure: { kind: 'overloaded', text: '429', retryAfterMs } }
        : undefined;
    expect((await world.cancel())?.left).toEqual([]);
    expect(world.clock.elapsed()).toBeGreaterThanOrEqual(2 * retryAfterMs);
  });

  it('is left alone if the service does not know it yet', async () => {
    const world = await leftInFlight(new World(), 1);
    world.service.instead.cancel = () => ({ kind: 'unsupported', text: '404' });
    world.service.instead.status = () => ({ kind: 'missing', text: '404' });
    expect((await world.cancel())?.left).toMatchObject([{ scene: 's0' }]);
  });

  it('that crashed the program is cancelled without handling its result', async () => {
    const world = await leftInFlight(new World(), 1);
    world.db.exec('UPDATE scenes SET deaths = 3');
    await world.cancel();
    expect(world.service.log.filter((line) => line.startsWith('cancel'))).toHaveLength(1);
    expect(world.service.log.filter((line) => line.startsWith('status'))).toEqual([]);
    expect(world.rows('SELECT state, failure_kind FROM scenes')).toEqual([
      { state: 'failed', failure_kind: 'quarantined' },
    ]);
  });
});

describe('cancelling', () => {
  firstTier.it(
    'never halts, however many jobs it cancels, and sends no more than 100 requests in ten seconds',
    async () => {
      const world = await leftInFlight(new World(() => ({ queueMs: 60 * minutes })), 300);
      const began = world.clock.now();
      let isHalted = false;
      const result = await world.cancel({ onEvent: (_, stop) => (isHalted ||= stop.draining.aborted) });
      expect(result).toMatchObject({ ending: { kind: 'complete' }, found: 300, left: [] });
      expect(world.clock.now() - began).toBeGreaterThan(20_000);
      expect(isHalted).toBe(false);
    },
  );

  firstTier.it('stops if the key is refused, and leaves everything as it was', async () => {
    const world = await leftInFlight(new World(), 3);
    world.service.instead.cancel = () => ({
      kind: 'failure',
      failure: { kind: 'key-refused', text: 'the service does not accept the key (401)' },
    });
    const result = await world.cancel();
    expect(result?.ending.kind).toBe('not-allowed');
    expect(result?.left).toHaveLength(3);
    expect((await world.run({ manifest: list(3) }))?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(3);
  });

  firstTier.it.each(['input-refused', 'unanswered'] as const)(
    'counts a submission of a dead run that is %s when it is sent again',
    async (kind) => {
      const world = new World();
      world.service.knowsKeysMs = 30 * 60_000;
      await world.run({ manifest: list(1) });
      await world.run({ manifest: list(2), hang: 'service.submit', until: 1 });
      world.service.instead.submit = () => ({
        kind: 'failure',
        failure: { kind, text: '400' },
      });
      const result = await world.cancel();
      expect(result).toMatchObject({ ending: { kind: 'complete' }, found: 0, unanswered: 1 });
      expect(world.rows("SELECT 1 FROM attempts WHERE state = 'intended'")).toEqual([]);
    },
  );

  firstTier.it('declares submissions that a dead run may have sent, as the start of a run does', async () => {
    const world = new World();
    await world.run({ manifest: list(1), hang: 'service.submit', until: 1 });
    const result = await world.cancel();
    expect(result).toMatchObject({ ending: { kind: 'complete' }, found: 0, unanswered: 1 });
    expect(world.rows('SELECT state, failure_kind FROM attempts')).toEqual([
      { state: 'unanswered', failure_kind: 'unanswered' },
    ]);
  });

  it('may die at any call: the next run renders every scene, and no job is forgotten', async () => {
    const inFlight = () => leftInFlight(new World(() => ({ executionMs: 8_000 })), 2);
    const unharmed = await inFlight();
    await unharmed.cancel({ afterMs: 2_000 });
    for (const killAt of sampledUpTo(unharmed.killer.halves, { ms: 15 })) {
      const world = await inFlight();
      await world.cancel({ killAt, afterMs: 2_000 });
      const last = await world.run({ manifest: list(2), afterMs: minutes });
      expect(last?.ending.kind, `killed at ${killAt}`).toBe('complete');
      const attempts = world.rows<{ n: number }>(
        'SELECT count(*) AS n FROM attempts WHERE job_id IS NOT NULL',
      );
      expect(attempts[0]?.n, `killed at ${killAt}`).toBe(world.service.jobs.length);
    }
  });
});

const retry = {
  attempts: 3,
  submissions: 10,
  firstWait: 2_000,
  longestWait: 120_000,
  unanswered: 'resubmit',
} as const;
