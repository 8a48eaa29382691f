/** Promise: a scene that crashes the program every time is quarantined, and no other scene is. */
import { expect, it } from 'vitest';
import { manifestOf, World } from '../../fakes/world.ts';

const list = manifestOf(
  Array.from({ length: 12 }, (_, i): [string, string] => [`s${i}`, i === 4 ? 'a killer' : `scene ${i}`]),
);

/** Returns a world in which the program crashes whenever it checks a picture of the scene `a killer`. */
function deadly(): World {
  const world = new World((scene) =>
    scene === 'a killer' ? { pictures: [{ base64: Buffer.from('killer').toString('base64') }] } : {},
  );
  const check = world.images.check.bind(world.images);
  world.images.check = (picture, provenance) => {
    if ('base64' in picture && Buffer.from(picture.base64, 'base64').toString() === 'killer')
      world.killer.isDead = true;
    return check(picture, provenance);
  };
  return world;
}

it('a run quarantines the scene whose result crashes the program three times, and renders all others', async () => {
  const world = deadly();
  let runs = 0;
  for (let result; result === undefined; runs++) {
    if (runs > 20) throw new Error('it never ends');
    result = await world.run({ manifest: list, settings: { concurrency: 4 }, afterMs: 1_000 });
  }
  expect(runs).toBe(4);
  expect(world.rows("SELECT id, failure_kind FROM scenes WHERE state <> 'saved'")).toEqual([
    { id: 's4', failure_kind: 'quarantined' },
  ]);
  expect(world.service.submissionsOf('a killer')).toBe(1);
  expect(world.service.jobs).toHaveLength(12);
});

it('a run handles a scene that was in progress at two crashes after all other jobs in flight', async () => {
  const world = deadly();
  const { behaviour } = world.service;
  // After a crash, any scene in progress may be the cause. The other jobs end later, so only one scene is in
  // progress.
  world.service.behaviour = (scene, nth, input) => ({
    ...behaviour(scene, nth, input),
    executionMs: scene === 'a killer' ? 4_000 : 300_000,
  });
  for (const afterMs of [0, 1_000, 600_000])
    await world.run({ manifest: list, settings: { concurrency: 4 }, afterMs });
  expect(
    world.rows("SELECT id FROM attempts JOIN scenes USING (scene) WHERE attempts.state = 'submitted'"),
  ).toEqual([{ id: 's4' }]);
  expect(world.rows("SELECT deaths FROM scenes WHERE id = 's4'")).toEqual([{ deaths: 2 }]);
});

it('a run counts no crash for scenes that were only in flight, however often the program crashes', async () => {
  const world = new World(() => ({ queueMs: 600_000 }));
  for (let run = 0; run < 6; run++)
    await world.run({ manifest: list, settings: { concurrency: 12 }, until: 30_000, afterMs: 1_000 });
  const result = await world.run({ manifest: list, settings: { concurrency: 12 } });
  expect(result?.ending.kind).toBe('complete');
  expect(world.rows('SELECT DISTINCT deaths FROM scenes')).toEqual([{ deaths: 0 }]);
  expect(world.service.jobs).toHaveLength(12);
});

it('a run counts no crash for scenes whose pictures a full disk rejects, however often', async () => {
  const world = new World();
  world.images.isDiskFull = true;
  for (let run = 0; run < 4; run++) {
    const result = await world.run({ manifest: list, settings: { concurrency: 4 }, afterMs: 1_000 });
    expect(result?.ending.kind).toBe('output-unwritable');
  }
  world.images.isDiskFull = false;
  const result = await world.run({ manifest: list, settings: { concurrency: 4 } });
  expect(result?.ending.kind).toBe('complete');
  expect(world.rows('SELECT DISTINCT deaths FROM scenes')).toEqual([{ deaths: 0 }]);
  expect(world.service.jobs).toHaveLength(12);
});

it.each([
  ['knows no keys', undefined, 3],
  ['knows it by its key', 30 * 60_000, 1],
])(
  'quarantines a scene that is being sent at three crashes if the service %s',
  async (_, knowsKeysMs, jobs) => {
    const world = new World();
    world.service.knowsKeysMs = knowsKeysMs;
    const three = manifestOf([
      ['a', 'sea'],
      ['b', 'a killer'],
      ['c', 'moon'],
    ]);
    world.service.instead.submit = (scene) => {
      if (scene === 'a killer') world.killer.isDead = true;
      return undefined;
    };
    let runs = 0;
    for (let result; result === undefined; runs++) {
      if (runs > 20) throw new Error('it never ends');
      result = await world.run({ manifest: three, settings: { concurrency: 1 }, afterMs: 1_000 });
    }
    expect(world.service.submissionsOf('a killer')).toBe(jobs);
    expect(world.rows("SELECT id, failure_kind FROM scenes WHERE state <> 'saved'")).toEqual([
      { id: 'b', failure_kind: 'quarantined' },
    ]);
  },
);
