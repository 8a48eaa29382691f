/**
 * Promise: scenes that an earlier version failed because ComfyUI refused the workflow are rendered by the
 * same command.
 */
import { expect, it } from 'vitest';
import { manifestOf, World } from '../../fakes/world.ts';

const texts = {
  'a lake': 'ComfyUI refused the workflow: node 4 (Loader): Value not in list',
  'a hill': 'ComfyUI refused a part of the workflow: node 4 (Loader): Value not in list',
  'a wood': 'ComfyUI refused what the scene sets: node 6 (Text): Value not in list',
};

it('scenes that were refused for the workflow are rendered once, and none that was refused for its own values', async () => {
  let isRefusing = true;
  const world = new World((scene) => {
    const [, text = ''] = Object.entries(texts).find(([name]) => name === scene) ?? [];
    return isRefusing ? { reply: { kind: 'input-refused', text } } : {};
  });
  const manifest = manifestOf(Object.keys(texts).map((scene, i) => [`s${i}`, scene]));
  const first = await world.run({ manifest });
  expect(first?.counts).toMatchObject({ failed: 3 });
  isRefusing = false;
  const second = await world.run({ manifest });
  expect(second?.counts).toMatchObject({ saved: 2, failed: 1 });
  expect(world.service.submissionsOf('a wood')).toBe(0);
});
