/**
 * Promise: existing pictures without a record are adopted if they belong to a scene, so the scene is not paid
 * for again.
 */
import { expect, it } from 'vitest';
import { portablePath } from '../../../src/runner/core/naming.ts';
import type { BatchResult } from '../../../src/runner/pipeline/report-batch.ts';
import { readReached } from '../../../src/runner/checkpoint/find-loss.ts';
import { readAttemptStates, readSpending } from '../../../src/runner/checkpoint/read-totals.ts';
import { describeEvent } from '../../../src/terminal/describe-event.ts';
import { pictureOf, type Behaviour } from '../../fakes/fake-service.ts';
import { manifestOf, namedBy, World } from '../../fakes/world.ts';

const abc = manifestOf([
  ['a', 'sea'],
  ['b', 'two hills'],
  ['c', 'moon'],
]);

const behaviour: Behaviour = (scene) =>
  scene.startsWith('two') ? { pictures: [pictureOf('first'), pictureOf('second')] } : {};

/**
 * Renders everything, then deletes the records. If `isMute` is set, it also removes the provenance from the
 * pictures.
 */
async function lost(isMute: boolean, manifest = abc): Promise<World> {
  const world = new World(behaviour);
  await world.run({ manifest });
  world.db.exec('DELETE FROM pictures; DELETE FROM attempts; DELETE FROM scenes; DELETE FROM batch');
  if (isMute) world.images.origins.clear();
  world.events.length = 0;
  return world;
}

function adopt(world: World, manifest = abc, settings = {}): Promise<BatchResult | undefined> {
  return world.run({ manifest, settings: { ...settings, unknownPictures: 'adopt' } });
}

const said = ({ events }: World): unknown => events.find(({ type }) => type === 'adopted');

it.each([false, true])('adopts matching pictures, and sends nothing (by names alone: %j)', async (isMute) => {
  const world = await lost(isMute);
  expect(await adopt(world)).toMatchObject({ ending: { kind: 'complete' }, counts: { saved: 3 } });
  const byName = isMute ? 4 : 0;
  expect(said(world)).toEqual({
    type: 'adopted',
    scenes: 3,
    pictures: 4,
    byName,
    unused: 0,
    examples: [],
  });
  const line = describeEvent(
    { type: 'adopted', scenes: 1, pictures: 2, byName, unused: 0, examples: [] },
    0,
    '',
  );
  expect(line?.includes('of them by name only: an edited row may have its old picture')).toBe(isMute);
  expect(world.service.jobs).toHaveLength(3);
  const jobs = world.rows<{ job_id: string | null }>('SELECT job_id FROM attempts ORDER BY scene');
  const made = world.service.jobs.map(({ id }): string | null => id);
  expect(jobs.map(({ job_id }) => job_id)).toEqual(isMute ? [null, null, null] : made);
  expect(await world.run({ manifest: abc })).toMatchObject({ ending: { kind: 'complete' } });
  expect(world.service.jobs).toHaveLength(3);
});

it('renders scenes that were edited since, are damaged or lack a part, and keeps every file', async () => {
  const world = await lost(false);
  world.images.files.set('a.png', 'bad: it is cut');
  world.images.files.delete('b.png');
  const edited = manifestOf([
    ['a', 'sea'],
    ['b', 'two hills'],
    ['c', 'moon at noon'],
  ]);
  const before = new Map(world.images.files);
  expect(await adopt(world, edited)).toMatchObject({ ending: { kind: 'complete' }, counts: { saved: 3 } });
  expect(said(world)).toMatchObject({ scenes: 0, pictures: 0, unused: 3 });
  expect(said(world)).toMatchObject({
    examples: ['a.png: it is cut', 'b-2.png: fits no scene that waits', 'c.png: fits no scene that waits'],
  });
  for (const file of ['a.png', 'c.png'])
    expect(world.images.files.get(`${file}.former`)).toBe(before.get(file));
});

it('adopts no picture by a name that several scenes would give, or that depends on the seed', async () => {
  const world = await lost(true);
  await adopt(
    world,
    abc,
    namedBy((id) => portablePath(id === 'c' ? 'a' : id)),
  );
  // Both a and c would be named a.png, so it is unknown whose picture it is.
  expect(said(world)).toMatchObject({ scenes: 1, pictures: 2, unused: 2 });
  const seeded = await lost(true);
  await adopt(
    seeded,
    abc,
    namedBy((id, seed) => portablePath(id + (seed as string))),
  );
  expect(said(seeded)).toMatchObject({ scenes: 0, unused: 4 });
});

it('works in an existing batch, and leaves its known scenes unchanged', async () => {
  const world = new World(behaviour);
  await world.run({ manifest: abc });
  world.db.exec(
    `DELETE FROM pictures WHERE file = 'a.png'; UPDATE scenes SET state = 'waiting' WHERE id = 'a'`,
  );
  expect(await adopt(world)).toMatchObject({ ending: { kind: 'complete' } });
  expect(said(world)).toMatchObject({ scenes: 1, pictures: 1, unused: 0 });
  expect(world.service.jobs).toHaveLength(3);
});

it('an adopted picture is not claimed again by a preview', async () => {
  const world = await lost(false);
  await adopt(world, abc, { part: { limit: 2 } });
  expect(world.service.jobs).toHaveLength(3);
});

/** Returns a world whose checkpoint is an older copy. Two of its three scenes were rendered again since. */
async function rolledBack(): Promise<World> {
  const world = new World(behaviour);
  await world.run({ manifest: abc });
  world.db.exec(`DELETE FROM pictures WHERE attempt > 1; DELETE FROM attempts WHERE attempt > 1;
    UPDATE scenes SET state = 'waiting', attempts = 0 WHERE scene > 1`);
  return world;
}

it('asks before it pays again for pictures that an older checkpoint does not know', async () => {
  const world = await rolledBack();
  const writeReport = (): Promise<never> => Promise.reject(new Error('the report of before stays'));
  await expect(world.run({ manifest: abc, writeReport })).rejects.toThrow(
    /^2 scenes that wait have a picture in the folder that the checkpoint does not know \(b\.png\)/,
  );
  expect(world.service.jobs).toHaveLength(3);
  expect(await adopt(world)).toMatchObject({ ending: { kind: 'complete' }, counts: { saved: 3 } });
  expect(world.service.jobs).toHaveLength(3);
});

it('renders unknown pictures again if the user confirms it, and does not ask about known ones', async () => {
  const world = await rolledBack();
  const settings = { unknownPictures: 'keep' } as const;
  expect(await world.run({ manifest: abc, settings })).toMatchObject({ ending: { kind: 'complete' } });
  expect(world.service.jobs).toHaveLength(5);
  expect(await world.run({ manifest: abc })).toMatchObject({ ending: { kind: 'complete' } });
});

it.each([2, 5])('counts no submission twice that was lost before (%d were)', async (lostBefore) => {
  const world = await rolledBack();
  world.db.exec(`UPDATE commits SET lost_submissions = ${lostBefore}`);
  expect(readSpending(world.db)).toMatchObject({ jobs: 1 + lostBefore, untold: lostBefore });
  const before = readReached(world.db).attempts;
  await adopt(world);
  const left = lostBefore - 2;
  // Adopted pictures were paid for too, so they still count in the cost.
  expect(readSpending(world.db)).toMatchObject({ jobs: 3 + left, untold: 2 + left });
  expect(readAttemptStates(world.db)).toMatchObject({ saved: 3, unanswered: left });
  expect(readReached(world.db).attempts).toBe(before);
});

it('adopts no picture by its name that may as well be the second one of another scene', async () => {
  const twins = manifestOf([
    ['a', 'two seas'],
    ['a-2', 'two hills'],
    ['c', 'moon'],
  ]);
  const world = await lost(true, twins);
  expect(await adopt(world, twins)).toMatchObject({ ending: { kind: 'complete' }, counts: { saved: 3 } });
  expect(said(world)).toMatchObject({ scenes: 1, pictures: 1 });
  expect(world.service.jobs.map(({ scene }) => scene).slice(3)).toEqual(['two seas', 'two hills']);
});

it('adopts by its name a picture whose name only resembles that of a second picture', async () => {
  const shots = manifestOf([
    ['shot-1', 'sea'],
    ['shot-2', 'hills'],
    ['c', 'moon'],
  ]);
  const world = await lost(true, shots);
  expect(await adopt(world, shots)).toMatchObject({ ending: { kind: 'complete' } });
  expect(said(world)).toMatchObject({ scenes: 3, pictures: 3 });
});
