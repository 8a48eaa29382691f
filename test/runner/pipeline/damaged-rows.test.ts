/**
 * Promise: nothing is sent or saved because of a damaged row of the checkpoint. The run ends with a message.
 */
import { describe, expect, it } from 'vitest';
import { seedText } from '../../../src/runner/checkpoint/damage.ts';
import { manifestOf, World } from '../../fakes/world.ts';

const list = manifestOf([
  ['s0', 'a fox'],
  ['s1', 'a heron'],
  ['s2', 'an otter'],
]);
const fast = { concurrency: 8 };

/** Returns a world with two jobs in flight and a third scene waiting. */
async function halfway(): Promise<World> {
  const world = new World();
  await world.run({ manifest: list, settings: { concurrency: 2 }, until: 1 });
  expect(world.service.jobs).toHaveLength(2);
  return world;
}

describe('a waiting scene', () => {
  it.each([
    ['one letter of its input', `input = replace(input, 'otter', 'ottar')`],
    ['an input that is no JSON any more', `input = replace(input, '}', 'y')`],
    ['a seed that is no JSON any more', `seed = '1x'`],
    ['a digit of its seed', `seed = '${seedText(41).replace('1', '3')}'`],
  ])('is not sent with %s changed, and paid results are collected by later runs', async (_, changed) => {
    const world = await halfway();
    const { input } = world.rows<{ input: string }>("SELECT input FROM scenes WHERE id = 's2'")[0] ?? {};
    world.db.exec(`UPDATE scenes SET ${changed} WHERE id = 's2'`);
    const result = await world.run({ manifest: list, settings: fast });
    expect(result?.ending.kind).toBe('output-unwritable');
    expect(result?.ending.text).toMatch(/checkpoint is damaged: .*scene s2.*nightrender verify .*--repair/);
    expect(world.service.jobs.map(({ scene }) => scene)).toEqual(['a fox', 'a heron']);
    world.db.prepare("UPDATE scenes SET input = ?, seed = NULL WHERE id = 's2'").run(input);
    expect((await world.run({ manifest: list, settings: fast }))?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(3);
  });

  it('that is damaged keeps no job id from the disk that is written with it', async () => {
    const world = new World();
    await world.run({ manifest: list, settings: { concurrency: 1 }, until: 1 });
    world.db.exec("UPDATE scenes SET input = replace(input, 'otter', 'ottar') WHERE id = 's2'");
    const result = await world.run({ manifest: list, settings: { concurrency: 2 } });
    expect(result?.ending.kind).toBe('output-unwritable');
    expect(world.rows('SELECT job_id FROM attempts ORDER BY attempt')).toEqual(
      world.service.jobs.map(({ id }) => ({ job_id: id })),
    );
  });
});

describe('a job in flight', () => {
  it.each([
    ['whose id was changed', `job_id = 'job-9'`],
    ['whose scene was changed', `scene = (SELECT scene FROM scenes WHERE id = 's2')`],
    ['whose endpoint was changed', `endpoint_id = 'scene-renderes'`],
    ['that has no id any more', 'job_id = NULL'],
  ])('%s is not polled, and the others are collected', async (_, changed) => {
    const world = await halfway();
    world.db.exec(`UPDATE attempts SET ${changed} WHERE job_id = 'job-1'`);
    world.service.log.length = 0;
    const result = await world.run({ manifest: list, settings: fast });
    expect(result?.ending.kind).toBe('output-unwritable');
    expect(result?.ending.text).toMatch(/checkpoint is damaged: /);
    expect(new Set(world.service.log)).toEqual(new Set(['status job-2']));
    expect(result?.counts.saved).toBe(1);
    expect(world.service.jobs).toHaveLength(2);
  });

  it('of a version that kept no checksum is collected', async () => {
    const world = await halfway();
    world.db.exec('UPDATE attempts SET checksum = NULL');
    expect((await world.run({ manifest: list, settings: fast }))?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(3);
  });
});
