/**
 * Promise: an input with files is sent with their contents, shown with their names, and stays the same if the
 * files move.
 */
import { expect, it } from 'vitest';
import {
  fileText,
  filesIn,
  formatBytes,
  reservedKeyIn,
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

it('an input with files is sent with the text of each file in its place', () => {
  expect(withFiles(input, ({ path }) => `(${path})`)).toEqual({
    prompt: 'a pier',
    photos: ['data:(photos/a.jpg)', null, 7],
    mask: { depth: '(b.png)' },
  });
  expect(filesIn(input).map(({ path }) => path)).toEqual(['photos/a.jpg', 'b.png']);
});

it('an input with files is shown with the names and lengths of the files', () => {
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

it('an input with files is the same if a file has moved, and another if it was edited', () => {
  const having = (more: object) => withoutPaths({ a: ['x', fileText(['data:', { ...file, ...more }])] });
  expect(having({ path: 'elsewhere.jpg' })).toEqual(having({}));
  expect(having({ sha256: 'ff' })).not.toEqual(having({}));
});

it('distinguishes uploaded files from files that are sent within the input', () => {
  const both = { ...input, image: fileText([file], 'upload') };
  expect(filesIn(both, 'upload')).toEqual([file]);
  expect(filesIn(both, 'file_base64')).toEqual(filesIn(input));
  expect(filesIn(both)).toHaveLength(3);
  expect(withFiles(both, () => 'x')).toMatchObject({
    mask: { depth: 'x' },
    image: fileText([file], 'upload'),
  });
  expect(withFiles(both, () => 'x', 'upload')).toEqual({ ...input, image: 'x' });
  expect(withFilesNamed(both)).toMatchObject({ image: '<photos/a.jpg, 3.0 MB>' });
  expect(withoutPaths(both)).toMatchObject({ image: { $upload: [{ ...file, path: '' }] } });
});

it('takes no value of other kinds for a file, and says which could be one', () => {
  const others = [
    { $file_base64: 'a.jpg' },
    { $file_base64: [null] },
    { $file_base64: [{ ...file, path: 1 }] },
    { $file_base64: [{ ...file, sha256: 1 }] },
    { $file_base64: ['x', { ...file, bytes: '1' }] },
    { $file_base64: [file], more: 1 },
  ];
  for (const value of others) {
    expect([filesIn(value), withFiles(value, () => 'text')]).toEqual([[], value]);
    expect(reservedKeyIn({ list: [1, { deep: value }] }, false)).toBe('$file_base64');
  }
  expect(reservedKeyIn({ a: { $upload: 1 } }, true)).toBe('$upload');
  const free = [input.prompt, { photos: ['a.jpg'], none: null }];
  expect(free.map((value) => reservedKeyIn(value, true))).toEqual([undefined, undefined]);
});
