/** Promise: write before you act. If a write does not return, no step that depends on it is taken. */
import { expect, it } from 'vitest';
import type { Attempt } from '../../../src/runner/core/attempt.ts';
import { PictureNames } from '../../../src/runner/pipeline/picture-names.ts';
import type { Checkpoint, ImageStore } from '../../../src/runner/pipeline/ports.ts';
import { defaultSettings, endpoint, manifestOf, World } from '../../fakes/world.ts';

const one = manifestOf([['a', 'sea']]);

it.each<
  [name: string, port: 'checkpoint' | 'images', method: keyof Checkpoint | keyof ImageStore, log: string[]]
>([
  ['a run sends nothing before the intent is on disk', 'checkpoint', 'claim', []],
  ['a run polls no job before its id is on disk', 'checkpoint', 'recordSubmitted', ['submit sea']],
])('%s', async (_, port, method, log) => {
  const world = new World();
  await world.run({ manifest: one, hang: `${port}.${method}`, until: 60_000 });
  expect(world.service.log).toEqual(log);
});

it('a scene is not saved before the picture has its name', async () => {
  const world = new World();
  await world.run({ manifest: one, hang: 'images.write', until: 600_000 });
  expect(world.rows('SELECT state FROM scenes')).toEqual([{ state: 'active' }]);
  expect(world.rows('SELECT state FROM attempts')).toEqual([{ state: 'submitted' }]);
});

it('two pictures never get one name, although nothing of them is on disk yet', async () => {
  const names = new PictureNames({ ownerOf: async () => undefined }, defaultSettings);
  const attempt = (key: number, sceneId: string): Attempt => ({
    key,
    sceneId,
    fingerprint: `${key}`.repeat(32),
    number: 1,
    input: {},
    columns: {},
    isReplaced: false,
    endpoint,
    before: { failed: 0, unanswered: 0, expired: 0, failedKinds: [], digests: [] },
    crashes: 0,
  });
  const reserved = await Promise.all([
    names.reserve(attempt(1, 'fox'), [{ seed: '1' }, { seed: '2' }]),
    names.reserve(attempt(2, 'FOX'), [{ seed: '1' }]),
  ]);
  expect(new Set(reserved.flat().map((name) => name.toLowerCase())).size).toBe(3);
  names.release(reserved.flat());
  expect(await names.reserve(attempt(3, 'fox'), [{ seed: '1' }])).toEqual(['fox.png']);
});
