/** A batch has the same name on every page. */
import { expect, it } from 'vitest';
import { batchName } from '../../../src/runner/core/naming.ts';

it.each([
  ['/home/me/night/out', 'night/out'],
  ['/home/me/night/renders/scenes/', 'renders/scenes'],
  ['C:\\nights\\harbour\\out', 'harbour/out'],
  ['/out', 'out'],
])('a batch in %j is called %j', (dir, name) => {
  expect(batchName(dir)).toBe(name);
});
