/** Thumbnails have names that depend on the content, and words that a picture does not show are displayed. */
import { describe, expect, it } from 'vitest';
import { lostWords, thumbnailOf } from '../../../src/runner/core/picture.ts';

const sha256 = `ab${'0123456789'.repeat(7)}`.slice(0, 64);
const name = `thumbnails/ab/${sha256.slice(0, 32)}.jpg`;

describe('thumbnailOf', () => {
  it.each([
    [321, 1, 100, name],
    [1, 321, 100, name],
    [320, 320, 32_001, name],
    [320, 320, 32_000, undefined],
    [16, 16, 70, undefined],
    [4096, 4096, 8_000_000, name],
  ])('of %i×%i pixels in %i bytes', (width, height, bytes, expected) => {
    expect(thumbnailOf({ width, height, bytes, sha256 })).toBe(expected);
  });

  it('does not depend on the name of the picture', () => {
    const picture = { width: 512, height: 512, bytes: 300_000, sha256 };
    expect(thumbnailOf({ ...picture, file: 'b/c.png' })).toBe(thumbnailOf(picture));
  });
});

it.each([
  [undefined, ''],
  [{ rest: { nsfw: 0 } }, ''],
  [{ labelled_words: ['gull', 'pier'] }, 'Drawn as labelled boxes: gull, pier.'],
  [{ ignored_words: ['gull'], notes: ['It is cut.'] }, 'Left out: gull. It is cut.'],
])('the words that %j does not show are displayed: %s', (output, told) => {
  expect(lostWords(output)).toBe(told);
});
