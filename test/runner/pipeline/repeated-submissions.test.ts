/**
 * Promise: if the service accepts idempotency keys, each scene is one job, and no submission stays
 * unanswered.
 */
import { describe, expect, it } from 'vitest';
import type { RetryRules } from '../../../src/runner/core/retry-policy.ts';
import type { PipelineConfig } from '../../../src/runner/pipeline/pipeline-config.ts';
import { firstTier, sampledUpTo } from '../../fakes/tier.ts';
import { defaultSettings, endpoint, manifestOf, World } from '../../fakes/world.ts';

const minutes = 60_000;
const scenes = Array.from({ length: 6 }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]);
const list = manifestOf(scenes);

/** Returns a world in which the answer for every other scene is lost, including that of the first scene. */
function losing(): World {
  const world = new World((scene) => ({ isAnswerLost: Number(scene.at(-1)) % 2 === 0 }));
  world.service.knowsKeysMs = 30 * minutes;
  return world;
}

const settingsOf = (unanswered: RetryRules['unanswered']): Partial<PipelineConfig> => ({
  retry: { ...defaultSettings.retry, unanswered },
  concurrency: 3,
});
const hold = settingsOf('hold');

function expectOneJobEach({ service }: World): void {
  expect(service.jobs.map(({ scene }) => scene).toSorted()).toEqual(scenes.map(([, scene]) => scene));
}

const statesOf = (world: World): unknown =>
  world.rows('SELECT state, count(*) AS n FROM attempts GROUP BY state ORDER BY state');

describe.each(['hold', 'resubmit'] as const)('with retry.unanswered: %s', (unanswered) => {
  const settings = settingsOf(unanswered);

  firstTier.it('a submission whose answer was lost is sent again, and is the same job', async () => {
    const world = losing();
    const result = await world.run({ manifest: list, settings });
    expect(result?.ending.kind).toBe('complete');
    expectOneJobEach(world);
    expect(statesOf(world)).toEqual([{ state: 'saved', n: 6 }]);
    // When the first answer was lost, no earlier answer had shown whether the service accepts keys, so the
    // run asks once.
    expect(world.service.log.filter((line) => line === 'health')).toHaveLength(1);
  });

  it('after a crash at any call, the next run gets the same jobs', async () => {
    const unharmed = losing();
    await unharmed.run({ manifest: list, settings });
    for (const killAt of sampledUpTo(unharmed.killer.halves, { ms: 60, weight: 2 })) {
      const world = losing();
      await world.run({ manifest: list, settings, killAt });
      const result = await world.run({ manifest: list, settings, afterMs: 1_000 });
      expect(result?.ending.kind, `killed at call ${killAt}`).toBe('complete');
      expectOneJobEach(world);
      expect(statesOf(world), `killed at call ${killAt}`).toEqual([{ state: 'saved', n: 6 }]);
    }
  });

  firstTier.it(
    'a service that is away for a minute after it took the first one is asked until it says whether it knows it',
    async () => {
      const world = losing();
      const isAway = (): boolean => world.service.jobs.length > 0 && world.clock.now() < backAt;
      const backAt = world.clock.now() + 1 * minutes;
      world.service.instead.submit = () =>
        isAway() ? { kind: 'failure', failure: { kind: 'not-reached', text: 'refused' } } : undefined;
      world.service.instead.health = () =>
        isAway() ? { kind: 'failure', failure: { kind: 'poll-failed', text: 'refused' } } : undefined;
      const result = await world.run({ manifest: list, settings: { ...settings, concurrency: 1 } });
      expect(result?.ending.kind).toBe('complete');
      expectOneJobEach(world);
      expect(statesOf(world)).toEqual([{ state: 'saved', n: 6 }]);
    },
  );

  firstTier.it(
    'a service that never says so is not waited for beyond the end that the run was given',
    async () => {
      const world = losing();
      world.service.instead.submit = () => ({
        kind: 'failure',
        failure: { kind: 'unanswered', text: '500' },
      });
      world.service.instead.health = () => ({
        kind: 'failure',
        failure: { kind: 'poll-failed', text: '500' },
      });
      const result = await world.run({ manifest: list, settings: { ...settings, limits: { for: 1_000 } } });
      expect(result?.ending.kind).toBe('limit-reached');
      expect(world.clock.elapsed()).toBeLessThan(60_000);
      expect(statesOf(world), 'the next run asks again').toEqual([{ state: 'intended', n: 1 }]);
    },
  );

  it('this also holds after a second crash in the same submission', async () => {
    for (const killAt of sampledUpTo(59, { ms: 20 })) {
      const world = losing();
      await world.run({ manifest: list, settings, killAt: 30 });
      await world.run({ manifest: list, settings, killAt, afterMs: 1_000 });
      const result = await world.run({ manifest: list, settings, afterMs: 1_000 });
      expect(result?.ending.kind, `killed at call ${killAt}`).toBe('complete');
      expectOneJobEach(world);
    }
  });
});

firstTier.it('facts that answers to others have shown are not requested, and the latest counts', async () => {
  const world = new World((scene) => ({ isAnswerLost: scene === 'scene 2' || scene === 'scene 5' }));
  world.service.knowsKeysMs = 30 * minutes;
  world.service.instead.submit = (scene) => {
    // From here on, a service without idempotency keys answers.
    if (scene === 'scene 3') world.service.knowsKeysMs = undefined;
    return undefined;
  };
  const first = await world.run({
    manifest: manifestOf(scenes.slice(0, 3)),
    settings: { ...hold, concurrency: 1 },
  });
  expect(first?.ending.kind).toBe('complete');
  expect(world.service.log).not.toContain('health');
  world.service.instead.health = () => ({ kind: 'answers' });
  await world.run({ manifest: list, settings: { ...hold, concurrency: 1 } });
  expectOneJobEach(world);
  expect(statesOf(world)).toEqual([
    { state: 'saved', n: 5 },
    { state: 'unanswered', n: 1 },
  ]);
});

firstTier.describe('nothing is sent again', () => {
  it('if the service shows no keys: all is as it was', async () => {
    const world = losing();
    world.service.knowsKeysMs = undefined;
    const result = await world.run({ manifest: list, settings: hold });
    expect(result?.ending.kind).toBe('incomplete');
    expectOneJobEach(world);
    expect(statesOf(world)).toEqual([
      { state: 'saved', n: 3 },
      { state: 'unanswered', n: 3 },
    ]);
  });

  it('if an earlier version recorded the attempt, and sent no key', async () => {
    const world = new World();
    world.service.knowsKeysMs = 30 * minutes;
    await world.run({ manifest: list, settings: hold, hang: 'service.submit', until: 1_000 });
    world.db.exec('UPDATE runs SET idempotency_key = NULL');
    await world.run({ manifest: list, settings: hold });
    expect(statesOf(world)).toContainEqual({ state: 'unanswered', n: 1 });
  });

  it('once the service may have forgotten it, by the clock on the wall', async () => {
    for (const [afterMs, left] of [
      [25 * minutes, 0],
      [28 * minutes, 1],
      [-5 * minutes, 1],
    ] as const) {
      const world = new World();
      world.service.knowsKeysMs = 30 * minutes;
      await world.run({ manifest: list, settings: hold, hang: 'service.submit', until: 1_000 });
      await world.run({ manifest: list, settings: hold, afterMs });
      const unanswered = world.rows("SELECT 1 FROM attempts WHERE state = 'unanswered'");
      expect(unanswered, `after ${afterMs} ms`).toHaveLength(left);
    }
  });

  it('for a row that is gone from the list', async () => {
    const world = new World();
    world.service.knowsKeysMs = 30 * minutes;
    await world.run({ manifest: list, settings: hold, hang: 'service.submit', until: 1_000 });
    const result = await world.run({ manifest: manifestOf(scenes.slice(1)), settings: hold });
    expect(result?.ending.kind).toBe('complete');
    expect(world.service.submissionsOf('scene 0')).toBe(0);
    expect(statesOf(world)).toContainEqual({ state: 'unanswered', n: 1 });
  });

  it('to another endpoint', async () => {
    const world = new World();
    world.service.knowsKeysMs = 30 * minutes;
    await world.run({ manifest: list, settings: hold, hang: 'service.submit', until: 1_000 });
    await world.run({ manifest: list, settings: { ...hold, endpoint: { ...endpoint, id: 'other' } } });
    expect(statesOf(world)).toContainEqual({ state: 'unanswered', n: 1 });
  });
});

firstTier.describe('a run that leaves before the answer', () => {
  /** Loses all answers from the fourth job on, until `comeBack` is called. */
  function silent(): { world: World; comeBack: () => void } {
    const world = new World();
    world.service.knowsKeysMs = 30 * minutes;
    let isBack = false;
    world.service.behaviour = () => ({ isAnswerLost: !isBack && world.service.jobs.length >= 3 });
    world.service.instead.submit = () =>
      !isBack && world.service.jobs.length > 3
        ? { kind: 'failure', failure: { kind: 'unanswered', text: '502' } }
        : undefined;
    return { world, comeBack: () => void (isBack = true) };
  }

  it('leaves the submission to the next one, and counts no crash for its scene', async () => {
    const { world, comeBack } = silent();
    for (let run = 0; run < 4; run++) {
      const result = await world.run({
        manifest: list,
        settings: hold,
        afterMs: 1_000,
        onEvent: (event, stop) => {
          if (event.type !== 'request-troubled') return;
          stop.request('drain', { kind: 'interrupted', text: 'Ctrl-C' });
          stop.request('leave', { kind: 'interrupted', text: 'Ctrl-C, again' });
        },
      });
      expect(result?.ending.kind).toBe('interrupted');
      world.db.exec('UPDATE runs SET ended_at = 1, exit_code = 130 WHERE exit_code IS NULL');
    }
    expect(world.rows("SELECT 1 FROM attempts WHERE state = 'unanswered'")).toEqual([]);
    expect(world.rows('SELECT max(deaths) AS deaths FROM scenes')).toEqual([{ deaths: 0 }]);
    comeBack();
    const result = await world.run({ manifest: list, settings: hold, afterMs: 1_000 });
    expect(result?.ending.kind).toBe('complete');
    expectOneJobEach(world);
  });

  it('stops asking when it drains and the service answers no request', async () => {
    const { world } = silent();
    const result = await world.run({
      manifest: list,
      settings: { ...hold, halt: { ...defaultSettings.halt, unreachable: minutes } },
    });
    expect(result?.ending.kind).toBe('halted');
    expect(world.rows("SELECT 1 FROM attempts WHERE state = 'unanswered'")).toEqual([]);
    expect(world.clock.elapsed()).toBeLessThan(5 * minutes);
  });

  it.each([1, 3])('or whose key is refused meanwhile leaves it, too (%i at once)', async (concurrency) => {
    const { world, comeBack } = silent();
    world.service.instead.submit = () =>
      world.service.jobs.length > 3
        ? { kind: 'failure', failure: { kind: 'key-refused', text: '401' } }
        : undefined;
    const refused = await world.run({ manifest: list, settings: { ...hold, concurrency } });
    expect(refused?.ending.kind).toBe('not-allowed');
    world.service.instead = {};
    comeBack();
    const result = await world.run({ manifest: list, settings: hold, afterMs: 1_000 });
    expect(result?.ending.kind).toBe('complete');
    expectOneJobEach(world);
  });
});

firstTier.it(
  'a submission that is refused when it is sent again is unanswered: the first may have been accepted',
  async () => {
    const world = losing();
    world.service.instead.submit = () =>
      world.service.jobs.length === 1
        ? { kind: 'failure', failure: { kind: 'file-changed', text: 'the file is gone' } }
        : undefined;
    await world.run({ manifest: manifestOf(scenes.slice(0, 1)), settings: hold });
    expect(world.rows('SELECT state, failure_text AS text FROM attempts')).toEqual([
      { state: 'unanswered', text: 'a proxy says 502; sent again, it brought: the file is gone' },
    ]);
  },
);

firstTier.it(
  'cancelling finds the job of a submission that a dead run may have sent, and cancels it',
  async () => {
    const world = losing();
    world.service.behaviour = () => ({ isAnswerLost: true, queueMs: 10 * minutes });
    await world.run({ manifest: list, settings: hold, hang: 'service.health', until: 1_000 });
    expect(world.service.jobs).toHaveLength(1);
    const result = await world.cancel({ settings: hold, afterMs: 1_000 });
    expect(result).toMatchObject({ found: 1, unanswered: 0, left: [] });
    expect(world.service.jobs.map(({ isCancelled }) => isCancelled)).toEqual([true]);
  },
);
