/** Promise: an input that files are a part of is sent with their texts, shown with their names, and the same wherever they are. */
import { expect, it } from 'vitest';
import {
  fileText,
  fileTextKey,
  filesIn,
  formatBytes,
  looksLikeFileText,
  withFiles,
  withFilesNamed,
  withoutPaths,
} from '../../../src/runner/core/file-text.ts';

const file = { path: 'photos/a.jpg', sha256: 'ab', bytes: 3_000_000 };
const input = {
  prompt: 'a pier',
  photos: [fileText(['data:', file]), null, 7],
  mask: { depth: fileText([{ ...file, path: 'b.png', sha256: 'cd', bytes: 10 }]) },
};

it('is sent with the text of each file in its place', () => {
  expect(withFiles(input, ({ path }) => `(${path})`)).toEqual({
    prompt: 'a pier',
    photos: ['data:(photos/a.jpg)', null, 7],
    mask: { depth: '(b.png)' },
  });
  expect(filesIn(input).map(({ path }) => path)).toEqual(['photos/a.jpg', 'b.png']);
});

it('is shown with the names and lengths of the files', () => {
  expect(withFilesNamed(input)).toEqual({
    prompt: 'a pier',
    photos: ['data:<photos/a.jpg, 4.0 MB as base64>', null, 7],
    mask: { depth: '<b.png, 16 bytes as base64>' },
  });
  expect([999, 1_000, 999_000, 1_000_000].map(formatBytes)).toEqual([
    '999 bytes',
    '1.0 kB',
    '999.0 kB',
    '1.0 MB',
  ]);
});

it('is the same where a file has moved, and another where it was edited', () => {
  const having = (more: object) => withoutPaths({ a: ['x', fileText(['data:', { ...file, ...more }])] });
  expect(having({ path: 'elsewhere.jpg' })).toEqual(having({}));
  expect(having({ sha256: 'ff' })).not.toEqual(having({}));
});

it('takes no value of others for a file, and says which could be', () => {
  const others = [
    { [fileTextKey]: 'a.jpg' },
    { [fileTextKey]: [null] },
    { [fileTextKey]: [{ ...file, path: 1 }] },
    { [fileTextKey]: [{ ...file, sha256: 1 }] },
    { [fileTextKey]: ['x', { ...file, bytes: '1' }] },
  ];
  for (const value of others) {
    expect([filesIn(value), withFiles(value, () => 'text')]).toEqual([[], value]);
    expect(looksLikeFileText({ list: [1, { deep: value }] })).toBe(true);
  }
  expect([input.prompt, { photos: ['a.jpg'], none: null }].map(looksLikeFileText)).toEqual([false, false]);
});
