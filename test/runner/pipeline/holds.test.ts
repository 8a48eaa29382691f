/**
 * Promise: a problem that a setting can fix costs only a restart. No paid result is lost, and nothing is paid
 * twice.
 */
import { describe, expect, it } from 'vitest';
import type { Failure } from '../../../src/runner/core/failure.ts';
import { firstTier, sampled, sampledUpTo } from '../../fakes/tier.ts';
import { defaultSettings, manifestOf, outputWith, World } from '../../fakes/world.ts';
import type { ManifestScenes } from '../../../src/runner/pipeline/ports.ts';

const listOf = (count: number): ManifestScenes =>
  manifestOf(Array.from({ length: count }, (_, i) => [`s${i + 1}`, `a scene ${i + 1}`]));

const list = listOf(12);

/** Returns a world whose outputs have the picture at a place that the settings do not name yet. */
const elsewhere = (): World => new World(() => ({ place: 'image_base64' }));

firstTier.describe('an output without a picture where the settings look', () => {
  it('stops the run at the first; after the fix every paid job is collected and none is paid twice', async () => {
    const world = elsewhere();
    const first = await world.run({ manifest: list });
    expect(first?.ending).toMatchObject({
      kind: 'halted',
      text: expect.stringContaining('no picture was found'),
    });
    expect(first?.counts).toMatchObject({ active: 2, failed: 0, waiting: 10 });
    expect(first?.held).toMatchObject([{ setting: '`output`', count: 2, kept: 2 }]);
    expect(world.service.jobs).toHaveLength(2);

    world.service.place = 'image_base64';
    const second = await world.run({ manifest: list, settings: { outputDigest: 'fixed' } });
    expect(second?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(12);
    expect(world.answers.kept.size).toBe(0);
  });

  it('is saved from its kept answer although the service has forgotten it', async () => {
    const world = elsewhere();
    await world.run({ manifest: list });
    world.service.place = 'image_base64';
    world.service.instead.status = (jobId) =>
      ['job-1', 'job-2'].includes(jobId) ? { kind: 'missing', text: 'job not found' } : undefined;
    const end = await world.run({
      manifest: list,
      settings: { outputDigest: 'fixed' },
      afterMs: 12 * 3_600_000,
    });
    expect(end?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(12);
  });

  it('costs only its execution time, not the time it waited', async () => {
    const world = elsewhere();
    const pricing = { perSecond: 1, currency: 'USD' };
    await world.run({ manifest: listOf(2), settings: { pricing } });
    world.service.place = 'image_base64';
    const settings = { pricing, outputDigest: 'fixed' };
    const end = await world.run({ manifest: listOf(2), settings, afterMs: 12 * 3_600_000 });
    expect(end?.ending.kind).toBe('complete');
    expect(end?.cost?.spent).toBeLessThan(60);
    expect((await world.run({ manifest: listOf(2), settings }))?.cost?.spent).toBeLessThan(60);
  });

  it('waits on while the setting is still wrong, and nothing is submitted', async () => {
    const world = elsewhere();
    await world.run({ manifest: list });
    const again = await world.run({ manifest: list });
    expect(again?.ending.kind).toBe('halted');
    expect(again?.held).toMatchObject([{ count: 2, kept: 2 }]);
    expect(world.service.jobs).toHaveLength(2);
  });

  it("is that job's own failure once the settings have found a picture", async () => {
    const world = new World((scene, nth) => (scene === 'a scene 5' && nth === 1 ? { place: 'nowhere' } : {}));
    const end = await world.run({ manifest: list });
    expect(end?.ending.kind).toBe('complete');
    expect(world.events.filter(({ type }) => type === 'attempt-failed')).toMatchObject([
      { kind: 'picture-not-found', next: 'waiting' },
    ]);
  });

  it('waits if a clip is in its place, although the settings have found pictures before and after', async () => {
    const world = new World();
    const failure: Failure = { kind: 'picture-not-found', text: 'it holds a clip', isOtherMedia: true };
    world.service.instead.status = (jobId) =>
      jobId === 'job-5' ? { kind: 'ended', status: 'COMPLETED', failure } : undefined;
    const end = await world.run({ manifest: list });
    expect(end?.counts).toMatchObject({ saved: 11, active: 1, failed: 0 });
    expect(end?.held).toMatchObject([{ setting: '`output`', count: 1 }]);
    expect(world.service.jobs).toHaveLength(12);
  });

  it('is its own failure in a later run with the same settings as well', async () => {
    const world = new World((scene, nth) => (scene === 'a scene 5' && nth === 1 ? { place: 'nowhere' } : {}));
    await world.run({
      manifest: list,
      onEvent: (event, stop) => {
        if (event.type === 'scene-saved') stop.request('drain', { kind: 'interrupted', text: 'stopped' });
      },
    });
    const end = await world.run({ manifest: list });
    expect(end?.ending.kind).toBe('complete');
  });

  it('is kept without its answer if there is no room, and the run stops in order', async () => {
    const world = elsewhere();
    world.answers.isFull = true;
    const end = await world.run({ manifest: list });
    expect(end?.ending.text).toContain('`limits.kept`');
    expect(end?.held).toMatchObject([{ count: 2, kept: 0 }]);
    expect(end?.counts.failed).toBe(0);
  });

  it('is deleted with its attempt although the program crashed before its answer was on record', async () => {
    const world = new World(() => ({ place: 'image_base64', queueMs: 0, executionMs: 0 }));
    await world.run({ manifest: list, hang: 'checkpoint.recordStatus', until: 60_000 });
    expect(world.answers.kept.size).toBeGreaterThan(0);
    world.service.place = 'image_base64';
    const end = await world.run({ manifest: list, settings: { outputDigest: 'fixed' } });
    expect(end?.ending.kind).toBe('complete');
    expect(world.answers.kept.size).toBe(0);
  });

  it('is requested at the service if its kept answer is damaged', async () => {
    const world = elsewhere();
    await world.run({ manifest: list });
    world.answers.kept.clear();
    world.service.place = 'image_base64';
    const end = await world.run({ manifest: list, settings: { outputDigest: 'fixed' } });
    expect(end?.ending.kind).toBe('complete');
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: 'warning', text: expect.stringContaining('kept answer of scene s1') }),
    );
    expect(world.service.jobs).toHaveLength(12);
  });

  it('is kept again if its kept answer was damaged and the setting is still wrong', async () => {
    const world = elsewhere();
    await world.run({ manifest: list });
    world.answers.kept.clear();
    expect((await world.run({ manifest: list }))?.ending.kind).toBe('halted');
    world.service.place = 'image_base64';
    world.service.instead.status = (jobId) =>
      ['job-1', 'job-2'].includes(jobId) ? { kind: 'missing', text: 'job not found' } : undefined;
    await world.run({ manifest: list, settings: { outputDigest: 'fixed' }, afterMs: 12 * 3_600_000 });
    expect(world.service.jobs).toHaveLength(12);
  });

  it('is read with few others at a time, as each may be large', async () => {
    const world = elsewhere();
    await world.run({ manifest: list, settings: { concurrency: 12 } });
    expect(world.answers.kept.size).toBe(12);
    world.service.place = 'image_base64';
    const read = world.answers.read.bind(world.answers);
    let [reads, settled, most] = [0, 0, 0];
    world.answers.read = async (attempt) => {
      most = Math.max(most, ++reads - settled);
      return read(attempt);
    };
    const end = await world.run({
      manifest: list,
      settings: { outputDigest: 'fixed' },
      onEvent: ({ type }) => void (settled += type === 'scene-saved' ? 1 : 0),
    });
    expect(end?.ending.kind).toBe('complete');
    expect(most).toBeLessThanOrEqual(4);
  });

  it('is left to the machine that has its answer if the service has forgotten it', async () => {
    const world = elsewhere();
    await world.run({ manifest: list });
    world.db.exec("UPDATE attempts SET failure_digest = 'digest@other-box' WHERE failure_digest IS NOT NULL");
    world.answers.kept.clear();
    world.service.instead.status = () => ({ kind: 'missing', text: 'job not found' });
    const end = await world.run({
      manifest: listOf(2),
      settings: { outputDigest: 'fixed' },
      afterMs: 3_600_000,
    });
    expect(end?.counts.active).toBe(2);
    // A chain stops here, because its next batch needs this picture.
    expect(end?.ending).toMatchObject({ kind: 'halted', text: expect.stringContaining('kept on other-box') });
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: 'warning', text: expect.stringContaining('kept on other-box') }),
    );
  });

  it('is left by `cancel` to the machine that has its answer', async () => {
    const world = elsewhere();
    await world.run({ manifest: list });
    world.db.exec("UPDATE attempts SET failure_digest = 'digest@other-box' WHERE failure_digest IS NOT NULL");
    world.answers.kept.clear();
    world.service.instead.status = () => ({ kind: 'missing', text: 'job not found', isDeleted: true });
    const cancelled = await world.cancel();
    expect(cancelled?.left.map(({ why }) => why)).toEqual([
      expect.stringContaining('kept on other-box'),
      expect.stringContaining('kept on other-box'),
    ]);
  });

  it('is collected by `cancel` as far as it can be, and given up by nothing', async () => {
    const world = elsewhere();
    await world.run({ manifest: list });
    const cancelled = await world.cancel();
    expect(cancelled?.left).toHaveLength(2);
    expect(cancelled?.left[0]?.why).toContain('waits for a setting');
    world.service.place = 'image_base64';
    expect((await world.cancel({ settings: { outputDigest: 'fixed' } }))?.left).toEqual([]);
    expect(world.images.files.size).toBe(2);
  });
});

firstTier.describe('a result that one setting refuses while others are saved', () => {
  const refused: Failure = {
    kind: 'url-refused',
    text: 'the picture is at cdn-b, which `output.hosts` does not list',
  };
  const mixed = (isRefused: (scene: number) => boolean): World =>
    new World((scene) => (isRefused(Number(scene.slice(8))) ? { failure: refused } : {}));

  it('waits, the others are saved, and the run ends as halted', async () => {
    const world = mixed((scene) => scene % 4 === 0);
    const end = await world.run({ manifest: list });
    expect(end?.counts).toMatchObject({ saved: 9, active: 3, failed: 0 });
    expect(end?.ending).toMatchObject({ kind: 'halted', text: 'Halted: 3 results wait for `output.hosts`' });
  });

  it('stops the run before more than `concurrency` of them live only as long as their hosts keep them', async () => {
    const byAddress: Failure = { ...refused, isByAddress: true };
    const world = new World((scene) => (Number(scene.slice(8)) > 8 ? { failure: byAddress } : {}));
    const end = await world.run({ manifest: listOf(40), settings: { concurrency: 4 } });
    expect(end?.ending.kind).toBe('halted');
    expect(end?.held).toMatchObject([{ addresses: 4 }]);
  });

  it('stops the run after `halt.consecutive` of the kind with nothing saved between them', async () => {
    const world = mixed((scene) => scene > 2);
    const halt = { ...defaultSettings.halt, consecutive: 4 };
    const end = await world.run({ manifest: list, settings: { halt } });
    expect(end?.ending.text).toContain('`output.hosts` does not list');
    expect(world.service.jobs.length).toBeLessThanOrEqual(2 + 4 + 1);
  });
});

firstTier.describe('pictures that the service itself refuses to a key that works otherwise', () => {
  it('wait until the key may read them, and no job is paid for again', async () => {
    const world = new World();
    let isRefused = true;
    world.service.instead.status = () =>
      isRefused
        ? {
            kind: 'failure',
            failure: { kind: 'picture-refused', text: 'the picture was answered 403' },
            done: { status: 'COMPLETED' },
          }
        : undefined;
    const first = await world.run({ manifest: list });
    expect(first?.ending.kind).toBe('halted');
    expect(first?.counts).toMatchObject({ active: 2, failed: 0 });
    isRefused = false;
    expect((await world.run({ manifest: list }))?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(12);
  });
});

firstTier.describe('pictures by address that a setting refuses', () => {
  it('are put at risk for no more jobs than `concurrency`', async () => {
    const world = new World((scene) => ({
      executionMs: 1,
      pictures: [{ url: `https://${Number(scene.slice(8)) % 2 === 0 ? 'listed' : 'other'}.example/x` }],
    }));
    world.downloads.answer = (url) =>
      url.includes('other') ? { kind: 'url-refused', text: 'not listed' } : undefined;
    const end = await world.run({ manifest: listOf(40), settings: { concurrency: 4 } });
    expect(end?.ending.kind).toBe('halted');
    expect(end?.held[0]?.addresses).toBeLessThanOrEqual(4);
  });
});

firstTier.describe('values by which `scenes.until` decides', () => {
  it('stop the run at the third output in a row without any of them, before every seed is paid for', async () => {
    const world = new World(() => ({ pictures: [{ base64: 'eA==', output: { rest: { score: 1 } } }] }));
    const scenes = { until: 'score > 0.5' };
    const wrong = { scenes, ...outputWith({ values: [{ name: 'score', at: ['q', 'score'] }] }) };
    const first = await world.run({ manifest: list, settings: wrong });
    expect(first?.held).toMatchObject([{ setting: '`output.values`', count: 2 }]);
    expect(first?.counts).toMatchObject({ saved: 2, active: 2 });
    // The setting is still wrong, so none of the waiting results is collected.
    const again = await world.run({ manifest: list, settings: wrong });
    expect(again?.counts).toMatchObject({ saved: 2, active: 2 });
    const right = outputWith({ values: [{ name: 'score', at: ['score'] }] });
    const settings = { scenes, ...right, outputDigest: 'fixed' };
    expect((await world.run({ manifest: list, settings }))?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(12);
  });
});

firstTier.describe('a time-out', () => {
  const slow = (): World => new World(() => ({ executionMs: 3_600_000 }));
  const timeouts = { ...defaultSettings.timeouts, execution: 60_000 };

  it('that is too short for every job cancels none: they are collected once it is longer', async () => {
    const world = slow();
    const first = await world.run({ manifest: list, settings: { timeouts } });
    expect(first?.ending.kind).toBe('halted');
    expect(first?.counts).toMatchObject({ active: 2, failed: 0 });
    // The service sent no output, so there is no answer to keep.
    expect(first?.held).toMatchObject([{ count: 2, kept: 0 }]);
    await world.run({ manifest: list, settings: { timeouts } });
    expect(world.service.jobs).toHaveLength(2);
    expect(world.service.log.some((line) => line.startsWith('cancel'))).toBe(false);

    const fixed = { ...timeouts, execution: 7_200_000, queue: 7_200_000 };
    const end = await world.run({ manifest: list, settings: { timeouts: fixed } });
    expect(end?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(12);
  });

  it('that was made too short after pictures were saved leaves no more jobs running than `concurrency`', async () => {
    const world = new World(() => ({ executionMs: 600_000 }));
    await world.run({ manifest: listOf(2) });
    const end = await world.run({ manifest: list, settings: { timeouts } });
    expect(end?.ending.kind).toBe('halted');
    expect(end?.counts).toMatchObject({ saved: 2, active: 2, failed: 0 });
  });

  it('is not proved long enough by a job that took longer', async () => {
    const world = slow();
    await world.run({ manifest: list, settings: { timeouts } });
    // Both jobs are done by now, long after their time-out.
    await world.run({ manifest: list, settings: { timeouts }, afterMs: 7_200_000 });
    const third = await world.run({ manifest: list, settings: { timeouts } });
    expect(third?.counts).toMatchObject({ failed: 0 });
    expect(world.service.log.some((line) => line.startsWith('cancel'))).toBe(false);
  });

  it('of the endpoint itself is tried with one job at a start', async () => {
    const failure: Failure = { kind: 'job-timed-out', text: 'TIMED_OUT: execution timeout exceeded' };
    const world = new World(() => ({ failure }));
    await world.run({ manifest: list });
    expect(world.service.jobs).toHaveLength(2);
    await world.run({ manifest: list });
    expect(world.service.jobs).toHaveLength(3);
    world.service.behaviour = () => ({});
    const end = await world.run({ manifest: list });
    expect(end?.ending.kind).toBe('complete');
  });

  it('that comes as the job ends with a result that waits keeps that result', async () => {
    // The first job shows that other jobs fit the time-out.
    const world = new World((scene) => (scene === 'a scene 1' ? {} : { executionMs: 3_600_000 }));
    world.service.instead.cancel = () => ({ kind: 'unsupported', text: 'it is done' });
    const refused: Failure = { kind: 'url-refused', text: 'the host is not listed' };
    world.service.instead.status = (id) =>
      world.service.log.includes(`cancel ${id}`)
        ? { kind: 'ended', status: 'COMPLETED', failure: refused }
        : undefined;
    const end = await world.run({ manifest: listOf(2), settings: { timeouts } });
    expect(end?.counts).toMatchObject({ saved: 1, active: 1, failed: 0 });
    expect(end?.held).toMatchObject([{ setting: '`output.hosts`', count: 1 }]);
  });

  it("is the job's own failure if another job of the endpoint has ended otherwise", async () => {
    const world = new World((scene, nth) =>
      scene === 'a scene 12' && nth === 1 ? { executionMs: 3_600_000 } : {},
    );
    const end = await world.run({ manifest: list, settings: { timeouts } });
    expect(end?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(13);
  });
});

describe("the service's default time-out of ten minutes", () => {
  const timedOut: Failure = { kind: 'job-timed-out', text: 'TIMED_OUT: the service gave no reason' };
  const policy = { executionTimeout: 1_800_000 };
  const timeouts = { queue: 3_600_000, execution: 3_600_000 };

  /** The scene `slow` takes twelve minutes, all others four seconds. */
  const night = (slow = 'a scene 2'): { world: World; raise: () => void } => {
    let isRaised = false;
    const world = new World((scene) => {
      if (scene !== slow) return {};
      return isRaised ? { executionMs: 720_000 } : { executionMs: 600_000, failure: timedOut };
    });
    return { world, raise: () => void (isRaised = true) };
  };

  firstTier.it(
    'sets the one job aside that it ends, without another attempt, until `policy` is set',
    async () => {
      const { world, raise } = night();
      const first = await world.run({ manifest: listOf(6), settings: { timeouts } });
      expect(first?.ending).toMatchObject({
        kind: 'halted',
        text: expect.stringContaining('`endpoint.policy.executionTimeout`'),
      });
      expect(first?.counts).toMatchObject({ saved: 5, active: 1, failed: 0 });
      expect(first?.held).toMatchObject([
        { setting: '`endpoint.policy.executionTimeout`', count: 1, kept: 0 },
      ]);
      expect(first?.lostResults).toBe(1);

      // The same command sends no request and pays for nothing, even after the service has forgotten the job.
      const asked = world.service.log.length;
      const again = await world.run({ manifest: listOf(6), settings: { timeouts }, afterMs: 2 * 86_400_000 });
      expect(again?.counts).toMatchObject({ saved: 5, active: 1, failed: 0 });
      expect(again?.lostResults ?? 0).toBe(0);
      expect(world.service.log).toHaveLength(asked);

      raise();
      const end = await world.run({ manifest: listOf(6), settings: { timeouts, policy } });
      expect(end?.ending.kind).toBe('complete');
      expect(world.service.submissionsOf('a scene 2')).toBe(2);
      expect(world.service.jobs).toHaveLength(7);
    },
  );

  firstTier.it('stops the run at the first job if nothing was saved yet', async () => {
    const world = new World(() => ({ executionMs: 600_000, failure: timedOut }));
    const end = await world.run({ manifest: list, settings: { timeouts } });
    expect(end?.ending.kind).toBe('halted');
    expect(world.service.jobs).toHaveLength(2);
  });

  firstTier.it.each([
    ['more wait for it than `halt.consecutive`', {}],
    ['`output` was changed', { outputDigest: 'edited' }],
  ])('keeps no other scene from being rendered by the next run if %s', async (_, change) => {
    const world = new World((scene) =>
      Number(/\d+$/.exec(scene)?.[0]) % 4 === 1
        ? { executionMs: 600_000, failure: timedOut }
        : { executionMs: 30_000 },
    );
    const settings = { timeouts, concurrency: 2, halt: { ...defaultSettings.halt, consecutive: 3 } };
    await world.run({ manifest: listOf(60), settings, until: 1_500_000 });
    expect(world.service.jobs.length).toBeLessThan(40);
    const end = await world.run({ manifest: listOf(60), settings: { ...settings, ...change } });
    expect(end?.held).toMatchObject([{ count: 15 }]);
    expect(end?.counts).toMatchObject({ saved: 45, active: 15, waiting: 0 });
    expect(world.service.jobs).toHaveLength(60);
  });

  firstTier.it('is taken for the cause in a run that did not see the job begin', async () => {
    const { world } = night();
    await world.run({ manifest: listOf(3), settings: { timeouts }, until: 60_000 });
    const end = await world.run({ manifest: listOf(3), settings: { timeouts }, afterMs: 900_000 });
    expect(end?.held).toMatchObject([{ setting: '`endpoint.policy.executionTimeout`', count: 1 }]);
    expect(world.service.submissionsOf('a scene 2')).toBe(1);
  });

  firstTier.it.each([
    ['executing', 0, 1],
    ['waiting', 600_000, 2],
  ])(
    'is taken for the cause without times only if a job was seen executing: %s',
    async (_, queueMs, jobs) => {
      const world = new World((scene, nth) =>
        scene === 'a scene 2' && nth < 2
          ? { queueMs, executionMs: 600_000, failure: timedOut, isUntimed: true }
          : {},
      );
      await world.run({ manifest: listOf(3), settings: { timeouts }, until: 60_000 });
      const end = await world.run({ manifest: listOf(3), settings: { timeouts }, afterMs: 1_200_000 });
      expect(end?.held).toHaveLength(2 - jobs);
      expect(world.service.submissionsOf('a scene 2')).toBe(jobs);
    },
  );

  firstTier.it('is not the cause if a job waits in the queue until its `ttl` is over', async () => {
    const world = new World((scene, nth) =>
      scene === 'a scene 2' && nth < 2
        ? { queueMs: 1_800_000, executionMs: 0, failure: timedOut, isUntimed: true }
        : {},
    );
    const end = await world.run({ manifest: listOf(3), settings: { timeouts } });
    expect(end?.ending.kind).toBe('complete');
    expect(world.service.submissionsOf('a scene 2')).toBe(2);
  });

  firstTier.it.each([
    ['ends long before', {}, 120_000],
    ['ends with `policy` set', { policy }, 600_000],
  ])("is not the cause if the job %s: it is the job's own failure", async (_, settings, executionMs) => {
    const world = new World((scene, nth) =>
      scene === 'a scene 3' && nth < 3 ? { executionMs, failure: timedOut } : {},
    );
    const end = await world.run({ manifest: listOf(3), settings: { timeouts, ...settings } });
    expect(end?.ending.kind).toBe('complete');
    expect(world.service.submissionsOf('a scene 3')).toBe(3);
  });

  it('costs one job, whenever the program is killed, and one more once `policy` is set', async () => {
    const plain = night();
    await plain.world.run({ manifest: listOf(3), settings: { timeouts } });
    for (const killAt of sampledUpTo(plain.world.killer.halves, { ms: 8 })) {
      const { world, raise } = night();
      world.service.knowsKeysMs = 86_400_000;
      await world.run({ manifest: listOf(3), settings: { timeouts }, killAt });
      const stopped = await world.run({ manifest: listOf(3), settings: { timeouts }, afterMs: 60_000 });
      expect(stopped?.counts, `killed at ${killAt}`).toMatchObject({ saved: 2, active: 1, failed: 0 });
      raise();
      const end = await world.run({
        manifest: listOf(3),
        settings: { timeouts, policy },
        killAt: 1 + (killAt % 40),
      });
      const last = end ?? (await world.run({ manifest: listOf(3), settings: { timeouts, policy } }));
      expect(last?.ending.kind, `killed at ${killAt}`).toBe('complete');
      expect(world.service.submissionsOf('a scene 2'), `killed at ${killAt}`).toBe(2);
      expect(world.service.jobs, `killed at ${killAt}`).toHaveLength(4);
    }
  });
});

firstTier.describe('submissions that are refused before any was accepted', () => {
  const refused: Failure = { kind: 'input-refused', text: '400: prompt is required' };

  it('stop the run at the fifth scene, and no scene has failed', async () => {
    const world = new World(() => ({ reply: refused }));
    const end = await world.run({ manifest: list });
    expect(end?.ending).toMatchObject({
      kind: 'halted',
      text: expect.stringContaining('prompt is required'),
    });
    expect(end?.counts).toMatchObject({ waiting: 12, failed: 0 });
    expect(world.service.log.filter((line) => line.startsWith('refused')).length).toBeLessThanOrEqual(6);
    world.service.behaviour = () => ({});
    expect((await world.run({ manifest: list, afterMs: 1_000 }))?.ending.kind).toBe('complete');
  });

  it('fail their scenes, once one was accepted, and if there are fewer than five', async () => {
    const some = new World((scene) => (scene === 'a scene 3' ? {} : { reply: refused }));
    expect((await some.run({ manifest: listOf(4) }))?.counts).toMatchObject({ saved: 1, failed: 3 });
    const few = new World(() => ({ reply: refused }));
    expect((await few.run({ manifest: listOf(3) }))?.counts).toMatchObject({ failed: 3 });
  });
});

firstTier.describe('an output that comes after the word COMPLETED', () => {
  it('is waited for, in no slot, and its job is not paid twice', async () => {
    const world = new World((scene) => (scene === 'a scene 1' ? { emptyAnswers: 3 } : {}));
    const end = await world.run({ manifest: list, settings: { concurrency: 1 } });
    expect(end?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(12);
    // The second scene is submitted while the output of the first is awaited.
    const { log } = world.service;
    expect(log.indexOf('submit a scene 2')).toBeLessThan(log.lastIndexOf('status job-1'));
  });

  it('is waited for by `cancel` as well', async () => {
    const world = new World(() => ({ emptyAnswers: 2 }));
    await world.run({ manifest: listOf(2), until: 4_900 });
    world.service.instead.cancel = () => ({ kind: 'unsupported', text: 'it is done' });
    const cancelled = await world.cancel({ afterMs: 60_000 });
    expect(cancelled?.left).toEqual([]);
    expect(world.images.files.size).toBe(2);
  });

  it('is not waited for any more after three jobs in a row that stayed empty', async () => {
    const world = new World(() => ({ emptyAnswers: 99 }));
    await world.run({ manifest: listOf(19), settings: { retry: { ...defaultSettings.retry, attempts: 1 } } });
    const { completedAnswers } = world.service;
    expect([completedAnswers.get('job-1'), completedAnswers.get('job-19')]).toEqual([4, 1]);
  });
});

describe('a death', () => {
  it('at any call while answers are kept and read again loses no result and pays for none twice', async () => {
    const plain = elsewhere();
    await plain.run({ manifest: listOf(3) });
    const halves = plain.killer.halves;
    const cases = sampledUpTo(halves, { ms: 8 });
    for (const killAt of cases) {
      const world = elsewhere();
      await world.run({ manifest: listOf(3), killAt });
      await world.run({ manifest: listOf(3) });
      world.service.place = 'image_base64';
      const again = sampled([killAt], { ms: 4 }).map((at) => at % 60);
      for (const second of again)
        await world.run({ manifest: listOf(3), settings: { outputDigest: 'fixed' }, killAt: 1 + second });
      const end = await world.run({ manifest: listOf(3), settings: { outputDigest: 'fixed' } });
      expect(end?.ending.kind, `killed at ${killAt}`).toBe('complete');
      const unanswered = world.rows<{ n: number }>(
        "SELECT count(*) AS n FROM attempts WHERE state = 'unanswered'",
      );
      expect(world.service.jobs.length, `killed at ${killAt}`).toBeLessThanOrEqual(
        3 + (unanswered[0]?.n ?? 0),
      );
      expect(world.answers.kept.size).toBe(0);
    }
  });
});
