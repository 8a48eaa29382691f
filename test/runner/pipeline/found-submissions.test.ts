/**
 * Promise: if the service does not accept idempotency keys but lists its jobs, a submission whose answer was
 * lost is found in that list or counts as unanswered.
 */
import { describe, expect, it } from 'vitest';
import { Stop } from '../../../src/runner/pipeline/stop.ts';
import { firstTier, sampledUpTo } from '../../fakes/tier.ts';
import { defaultSettings, manifestOf, World } from '../../fakes/world.ts';

const scenes = Array.from({ length: 6 }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]);
const list = manifestOf(scenes);
const settings = { concurrency: 3 };
const hold = { ...settings, retry: { ...defaultSettings.retry, unanswered: 'hold' as const } };

/**
 * Returns a world in which the first answer for every other scene is lost, including that of the first scene.
 */
function losing(): World {
  const world = new World((scene, nth) => ({ isAnswerLost: nth === 1 && Number(scene.at(-1)) % 2 === 0 }));
  world.service.knowsKeysMs = 30 * 60_000;
  world.service.findsLost = true;
  return world;
}

/** Returns a world in which the first submission gets no answer and never becomes a job. */
function losingTheFirst(): World {
  const world = losing();
  let isFirst = true;
  world.service.behaviour = () => ({});
  world.service.instead.submit = () => {
    if (!isFirst) return undefined;
    isFirst = false;
    return { kind: 'failure', failure: { kind: 'unanswered', text: 'cut off' } };
  };
  return world;
}

const statesOf = (world: World): unknown =>
  world.rows('SELECT state, count(*) AS n FROM attempts GROUP BY state ORDER BY state');

const jobsOf = ({ service }: World): string[] => service.jobs.map(({ scene }) => scene).toSorted();

describe('a submission whose answer was lost', () => {
  firstTier.it('is found, and sent no second time', async () => {
    const world = losing();
    expect((await world.run({ manifest: list, settings }))?.ending.kind).toBe('complete');
    expect(jobsOf(world)).toEqual(scenes.map(([, scene]) => scene));
    expect(statesOf(world)).toEqual([{ state: 'saved', n: 6 }]);
  });

  it('is found by the next run if this one crashes, at any call', async () => {
    const few = scenes.slice(0, 3);
    const manifest = manifestOf(few);
    const unharmed = losing();
    await unharmed.run({ manifest, settings });
    for (const killAt of sampledUpTo(unharmed.killer.halves, { ms: 60, weight: 2 })) {
      const world = losing();
      await world.run({ manifest, settings, killAt });
      const result = await world.run({ manifest, settings, afterMs: 1_000 });
      expect(result?.ending.kind, `killed at call ${killAt}`).toBe('complete');
      // An attempt that was recorded but not sent has no job to be found, so it counts as unanswered.
      expect(jobsOf(world), `killed at call ${killAt}`).toEqual(few.map(([, scene]) => scene));
    }
  });

  firstTier.it('is declared and sent again if no job of it is there', async () => {
    const world = losingTheFirst();
    expect((await world.run({ manifest: list, settings }))?.ending.kind).toBe('complete');
    expect(statesOf(world)).toEqual([
      { state: 'saved', n: 6 },
      { state: 'unanswered', n: 1 },
    ]);
  });

  firstTier.it('is declared and held if that is configured', async () => {
    const world = losingTheFirst();
    expect((await world.run({ manifest: list, settings: hold }))?.counts).toMatchObject({
      saved: 5,
      failed: 1,
    });
    expect(jobsOf(world)).toHaveLength(5);
  });

  firstTier.it("of two scenes that send the same, takes no job that is the other scene's", async () => {
    const twins = manifestOf([
      ['a', 'the same'],
      ['b', 'the same'],
    ]);
    const world = losing();
    let sent = 0;
    world.service.behaviour = () => ({ isAnswerLost: ++sent === 2 });
    expect((await world.run({ manifest: twins, settings: { concurrency: 2 } }))?.ending.kind).toBe(
      'complete',
    );
    expect(statesOf(world)).toEqual([{ state: 'saved', n: 2 }]);
    expect(world.service.jobs).toHaveLength(2);
  });
});

describe('a submission whose answer was lost, of a service that lists jobs once they are over', () => {
  const minuteMs = 60_000;
  const { queue, execution } = defaultSettings.timeouts;

  /**
   * Each job takes 20 minutes, and answers selected by `lost` are lost. If `isSent` is false, these
   * submissions never arrive.
   */
  function slowWorld(lost: (scene: string, nth: number) => boolean, isSent = true): World {
    const world = new World((scene, nth) =>
      lost(scene, nth) && !isSent
        ? { reply: { kind: 'unanswered', text: 'cut off' } }
        : { executionMs: 20 * minuteMs, isAnswerLost: lost(scene, nth) },
    );
    Object.assign(world.service, {
      knowsKeysMs: 30 * 24 * 60 * minuteMs,
      findsLost: true,
      listsOnlyEnded: true,
    });
    return world;
  }

  const isFirst = (scene: string, nth: number): boolean => scene === 'scene 0' && nth === 1;

  firstTier.it('is looked for without a slot until it is over, and is paid for once', async () => {
    const world = slowWorld(isFirst);
    const began = world.clock.now();
    const result = await world.run({ manifest: list, settings: { concurrency: 1 } });
    expect(result?.ending.kind).toBe('complete');
    expect(jobsOf(world)).toEqual(scenes.map(([, scene]) => scene));
    expect(statesOf(world)).toEqual([{ state: 'saved', n: 6 }]);
    // The five other jobs use the only slot one after another from the start.
    const second = world.service.jobs[1];
    expect((second?.submittedAt ?? Infinity) - began).toBeLessThan(minuteMs);
  });

  firstTier.it('is found if all answers are lost, with no more of them than slots at first', async () => {
    const world = slowWorld((_, nth) => nth === 1);
    const result = await world.run({ manifest: list, settings: { concurrency: 2 } });
    expect(result?.ending.kind).toBe('complete');
    expect(jobsOf(world)).toEqual(scenes.map(([, scene]) => scene));
    const [first] = world.service.jobs;
    const soon = world.service.jobs.filter(
      ({ submittedAt }) => submittedAt < (first?.submittedAt ?? 0) + 20 * minuteMs,
    );
    expect(soon.length).toBeLessThanOrEqual(4);
  });

  firstTier.it('counts as never accepted once its job would be over, and is sent again', async () => {
    const world = slowWorld(isFirst, false);
    const result = await world.run({ manifest: list, settings });
    expect(result?.ending.kind).toBe('complete');
    expect(statesOf(world)).toEqual([
      { state: 'saved', n: 6 },
      { state: 'unanswered', n: 1 },
    ]);
    const job = world.service.jobs.find(({ scene }) => scene === 'scene 0');
    const [first] = world.service.jobs;
    expect((job?.submittedAt ?? 0) - (first?.submittedAt ?? 0)).toBeGreaterThanOrEqual(
      queue + execution - minuteMs,
    );
  });

  firstTier.it('is held then, if that is configured', async () => {
    const world = slowWorld(isFirst, false);
    expect((await world.run({ manifest: list, settings: hold }))?.counts).toMatchObject({
      saved: 5,
      failed: 1,
    });
  });

  firstTier.it(
    'is looked for without a slot while the list cannot be read, and then counts as unanswered',
    async () => {
      const world = slowWorld(isFirst);
      world.service.isListUnreadable = true;
      const began = world.clock.now();
      const result = await world.run({ manifest: list, settings: { concurrency: 1 } });
      expect(result?.ending.kind).toBe('complete');
      expect(statesOf(world)).toEqual([
        { state: 'saved', n: 6 },
        { state: 'unanswered', n: 1 },
      ]);
      const [, second, ...later] = world.service.jobs.map(({ submittedAt }) => submittedAt - began);
      expect(second).toBeLessThan(minuteMs);
      const { unreachable } = defaultSettings.halt;
      const searchMs = queue + execution + unreachable;
      expect(later.at(-1)).toBeGreaterThanOrEqual(searchMs);
      expect(later.at(-1)).toBeLessThan(searchMs + 20 * minuteMs);
    },
  );

  firstTier.it('is found once the list can be read, if it could not when its job was over', async () => {
    const world = slowWorld(isFirst);
    world.service.isListUnreadable = true;
    const timeouts = { queue: 5 * minuteMs, execution: 25 * minuteMs };
    const readableAt = world.clock.now() + 40 * minuteMs;
    world.service.instead.submit = () => {
      world.service.isListUnreadable = world.clock.now() < readableAt;
      return undefined;
    };
    const result = await world.run({ manifest: list, settings: { ...settings, timeouts } });
    expect(result?.ending.kind).toBe('complete');
    expect(jobsOf(world)).toEqual(scenes.map(([, scene]) => scene));
  });

  firstTier.it('is found if it was sent long after it was recorded', async () => {
    const world = slowWorld(() => false);
    const manifest = manifestOf(scenes.slice(0, 1));
    const openAt = world.clock.now() + queue + execution + 60 * minuteMs;
    world.service.instead.submit = () => {
      if (world.clock.now() < openAt)
        return { kind: 'failure', failure: { kind: 'overloaded', text: '429' } };
      // The service accepts the job, and the program crashes before the answer arrives.
      world.killer.isDead = true;
      return undefined;
    };
    expect(await world.run({ manifest, settings })).toBeUndefined();
    world.service.instead = {};
    const result = await world.run({ manifest, settings, afterMs: minuteMs });
    expect(result?.ending.kind).toBe('complete');
    expect(jobsOf(world)).toEqual(['scene 0']);
    expect(statesOf(world)).toEqual([{ state: 'saved', n: 1 }]);
  });

  firstTier.it('keeps no run waiting that drains, and is found by the next', async () => {
    const world = slowWorld(isFirst);
    const stop = new Stop();
    const began = world.clock.now();
    await world.run({
      manifest: manifestOf(scenes.slice(0, 1)),
      settings,
      stop,
      onEvent: ({ type }) => {
        if (type === 'request-troubled')
          stop.request('drain', { kind: 'limit-reached', text: 'the deadline' });
      },
    });
    expect(world.clock.now() - began).toBeLessThan(minuteMs);
    const result = await world.run({ manifest: list, settings });
    expect(result?.ending.kind).toBe('complete');
    expect(jobsOf(world)).toEqual(scenes.map(([, scene]) => scene));
    expect(statesOf(world)).toEqual([{ state: 'saved', n: 6 }]);
  });

  firstTier.it('delays no other scene after two kills in the middle of a search', async () => {
    const world = slowWorld(isFirst);
    let looks = 0;
    world.service.instead.submit = () => {
      if (world.service.jobs.length === 1 && ++looks <= 2) world.killer.isDead = true;
      return undefined;
    };
    for (let kill = 0; kill < 2; kill++) await world.run({ manifest: list, settings: { concurrency: 1 } });
    expect(looks).toBe(2);
    const began = world.clock.now();
    const result = await world.run({ manifest: list, settings: { concurrency: 1 } });
    expect(result?.ending.kind).toBe('complete');
    expect((world.service.jobs[1]?.submittedAt ?? Infinity) - began).toBeLessThan(minuteMs);
    expect(jobsOf(world)).toEqual(scenes.map(([, scene]) => scene));
  });

  firstTier.it(
    'is found after three kills while it was looked for, which say nothing of its scene',
    async () => {
      const world = slowWorld(isFirst);
      const calls = (): number => world.service.log.filter((each) => each === 'submit scene 0').length;
      for (let kill = 0; kill < 4; kill++) {
        const stop = new Stop();
        const before = calls();
        await world.run({
          manifest: list,
          settings: { concurrency: 1 },
          stop,
          onEvent: ({ type }) => {
            if (type === 'request-troubled') world.killer.isDead = true;
          },
        });
        expect(calls(), `kill ${kill}`).toBeGreaterThan(before);
      }
      const result = await world.run({ manifest: list, settings: { concurrency: 1 } });
      expect(result?.ending.kind).toBe('complete');
      expect(jobsOf(world)).toEqual(scenes.map(([, scene]) => scene));
      expect(statesOf(world)).toEqual([{ state: 'saved', n: 6 }]);
    },
  );

  it('is found by the next run if the program crashes, at any call', async () => {
    const few = manifestOf(scenes.slice(0, 2));
    const unharmed = slowWorld(isFirst);
    await unharmed.run({ manifest: few, settings });
    for (const killAt of sampledUpTo(unharmed.killer.halves, { ms: 60, weight: 2 })) {
      const world = slowWorld(isFirst);
      await world.run({ manifest: few, settings, killAt });
      const result = await world.run({ manifest: few, settings, afterMs: 1_000 });
      expect(result?.ending.kind, `killed at call ${killAt}`).toBe('complete');
      expect(jobsOf(world), `killed at call ${killAt}`).toEqual(['scene 0', 'scene 1']);
    }
  });
});
