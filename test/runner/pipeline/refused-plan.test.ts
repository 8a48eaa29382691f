/**
 * Promise: before a run asks a person whether to submit, it collects the results already paid for, so that
 * none expires.
 */
import { expect, it } from 'vitest';
import { ListCutOff, UnknownPictures } from '../../../src/runner/core/batch-plan.ts';
import type { ManifestScenes } from '../../../src/runner/pipeline/ports.ts';
import { manifestOf, World } from '../../fakes/world.ts';

const three: [string, string][] = [
  ['a', 'a bench'],
  ['b', 'a boat'],
  ['c', 'a barn'],
];

/** Returns a world whose run crashed with two jobs at the service. */
async function interrupted(): Promise<World> {
  const world = new World();
  await world.run({ manifest: manifestOf(three), until: 1_000 });
  expect(world.service.jobs).toHaveLength(2);
  return world;
}

function shorter(): ManifestScenes {
  return { ...manifestOf(three.slice(0, 1)), allowsFewer: false };
}

it('paid results are collected before the question about a list that was cut off', async () => {
  const world = await interrupted();
  await expect(world.run({ manifest: shorter() })).rejects.toThrow(ListCutOff);
  expect([...world.images.files.keys()].toSorted()).toEqual(['a.png', 'b.png']);
  expect(world.service.jobs).toHaveLength(2);
  expect(world.rows('SELECT id, state FROM scenes ORDER BY id')).toEqual([
    { id: 'a', state: 'saved' },
    { id: 'b', state: 'saved' },
    { id: 'c', state: 'waiting' },
  ]);
});

it('paid results are collected before the question about unknown pictures', async () => {
  const world = await interrupted();
  world.images.files.set('c.png', 'a picture of somebody else');
  await expect(world.run({ manifest: manifestOf(three) })).rejects.toThrow(UnknownPictures);
  expect([...world.images.files.keys()].toSorted()).toEqual(['a.png', 'b.png', 'c.png']);
  expect(world.service.jobs).toHaveLength(2);
});

it('the question about a list that was cut off is asked although the endpoint is gone and nothing can be collected', async () => {
  const world = await interrupted();
  world.service.instead = {
    status: () => ({ kind: 'missing', text: 'no such endpoint' }),
    health: () => ({ kind: 'unknown', text: 'no such endpoint' }),
  };
  await expect(world.run({ manifest: shorter() })).rejects.toThrow(ListCutOff);
  expect(world.rows('SELECT state FROM attempts')).toEqual([{ state: 'submitted' }, { state: 'submitted' }]);
});
