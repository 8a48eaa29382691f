/** Promise: the pictures in a folder are distinguished from their copies by name alone. */
import { expect, it } from 'vitest';
import { formatOfFile, withFormat } from '../../../src/runner/core/picture.ts';
import { picturesAmong } from '../../../src/runner/images/image-store.ts';

it.each<[string, string[], string[], boolean, string[]]>([
  ['has no copies', ['a.png', 'b.jpg'], [], true, ['a.png', 'b.jpg']],
  [
    'has copies of other formats',
    ['a.png', 'a.webp', 'b.webp', 'b.jpg'],
    ['.webp'],
    true,
    ['a.png', 'b.jpg'],
  ],
  ['has smaller copies', ['a-512.jpg', 'a.png', 'b-512.jpg'], ['-512.jpg'], true, ['a.png', 'b-512.jpg']],
  ['has a second file of the same name', ['a.avif', 'a.jpg', 'a.png'], [], true, ['a.png']],
  ['has two that are no PNG', ['a.avif', 'a.jpg'], [], true, ['a.avif']],
  ['has copies of earlier runs beside originals', ['a.png', 'a-640.webp'], [], true, ['a.png', 'a-640.webp']],
  ['keeps no originals', ['a.webp', 'b.png', 'b-64.webp', 'c-64.webp'], ['.webp'], false, ['b.png']],
  ['kept no originals, and smaller copies', ['a.jpg', 'a-640.webp'], ['.webp'], false, ['a.jpg']],
])('the format of a picture that %s', (_, files, copyEndings, isOriginalKept, pictures) => {
  expect(picturesAmong(files, copyEndings, isOriginalKept)).toEqual(pictures);
});

it('a picture has the extension of its format', () => {
  expect(withFormat('a/b.png', 'JPEG')).toBe('a/b.jpg');
  expect(formatOfFile('a/b.avif')).toBe('AVIF');
  expect(formatOfFile('a/b.json')).toBeUndefined();
});
