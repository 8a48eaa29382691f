/**
 * Promise: a saved picture is rendered again if a person requests it, with another seed if wanted. The old
 * picture is kept.
 */
import { expect, it } from 'vitest';
import { fingerprintOf } from '../../../src/runner/core/scene.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import type { ManifestScenes } from '../../../src/runner/pipeline/ports.ts';
import { portablePath } from '../../../src/runner/core/naming.ts';
import { pictureOf } from '../../fakes/fake-service.ts';
import { namedBy, World } from '../../fakes/world.ts';

function listOf(inputs: Record<string, JsonObject>): ManifestScenes {
  const scenes = Object.entries(inputs).map(([id, input], i) => ({
    id,
    fingerprint: fingerprintOf(input),
    input: JSON.stringify(input),
    columns: JSON.stringify({ id, seed: input['seed'] ?? '' }),
    position: i + 1,
    source: `list.csv:${i + 2}`,
  }));
  return { scenes: () => scenes, badRows: () => [] };
}

const list = listOf({
  a: { scene: 'sea', seed: 7 },
  b: { scene: 'hills', seed: '8' },
  c: { scene: 'moon' },
});
const again = { kinds: [], ids: ['a', 'b'], notAt: undefined, isAgain: true };

/** Returns the inputs of the submissions, in their order. Later submissions are appended. */
function sending(world: World): JsonObject[] {
  const sent: JsonObject[] = [];
  const submit = world.service.submit.bind(world.service);
  world.service.submit = (endpoint, input, signal) => {
    sent.push(input);
    return submit(endpoint, input, signal);
  };
  return sent;
}

it('sends another seed at every attempt from then on, of the kind that the input had, and pays for nothing else', async () => {
  // The service returns no seed, so names have the seed that was sent.
  const world = new World((scene, nth) => {
    if (scene === 'sea' && nth === 2) return { failure: { kind: 'job-failed', text: 'once' } };
    const { seed: _, ...picture } = pictureOf(`${scene} ${nth}`);
    return { pictures: [picture] };
  });
  const settings = {
    concurrency: 1,
    ...namedBy((id, seed) => portablePath(`${id}-${JSON.stringify(seed)}`)),
  };
  await world.run({ manifest: list, settings });
  expect([...world.images.files.keys()]).toEqual(['a-7.png', 'b--8-.png', 'c---.png']);
  const sent = sending(world);
  const seeds = [7, 41, 8, 42];
  expect(await world.putBack({ ...again, newSeed: () => seeds.shift() ?? 0 })).toEqual({
    scenes: 2,
    givenUp: 0,
  });
  const result = await world.run({ manifest: list, settings });
  expect(result).toMatchObject({ ending: { kind: 'complete' }, counts: { saved: 3 } });
  expect(sent.map(({ seed }) => seed)).toEqual([41, '42', 41]);
  expect([...world.images.files.keys()].toSorted()).toEqual([
    'a-41.png',
    'a-7.png.former',
    'b--42-.png',
    'b--8-.png.former',
    'c---.png',
  ]);
  // The scene itself has not changed, so the list is still the same.
  await world.run({ manifest: list, settings });
  expect(sent).toHaveLength(3);
});

it('refuses another seed if none is sent, and changes nothing', async () => {
  const world = new World();
  await world.run({ manifest: list });
  const choice = { ...again, ids: ['a', 'c'], newSeed: () => 1 };
  expect(await world.putBack(choice)).toEqual([{ id: 'c', state: 'saved', isSeedless: true }]);
  expect(await world.putBack({ ...again, isAgain: false })).toEqual([
    { id: 'a', state: 'saved' },
    { id: 'b', state: 'saved' },
  ]);
  expect([...world.images.files.keys()]).toEqual(['a.png', 'b.png', 'c.png']);
});
