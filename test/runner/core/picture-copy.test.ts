/** Copies of a picture get unambiguous names, and names that collide with a copy are rejected. */
import { expect, it } from 'vitest';
import { copyEnding } from '../../../src/runner/core/picture.ts';
import { clashingNames } from '../../../src/runner/pipeline/picture-names.ts';

it.each([
  [{ format: 'webp' } as const, '.webp'],
  [{ format: 'jpeg', size: 512 } as const, '-512.jpg'],
  [{ format: 'avif', size: 64 } as const, '-64.avif'],
])('the copy %j ends in %s', (copy, ending) => {
  expect(copyEnding(copy)).toBe(ending);
});

it.each([
  ['a.png', ['.webp', '-512.jpg'], []],
  ['a.png', ['-256.webp', '-1256.webp'], []],
  ['a.png', ['.webp', '-512.webp'], ['a-512.png']],
  ['x/a-512.png', ['.webp', '-512.webp'], ['x/a-512-512.png', 'x/a.png']],
  ['a-64.png', ['.jpg', '-64.jpg', '-512.jpg'], ['a-64-64.png', 'a.png', 'a-64-512.png']],
])('%s with %j clashes with %j', (file, endings, expected) => {
  expect(clashingNames(file, endings)).toEqual(expected);
});
