/** Promise: the gallery never shows the picture of a changed or removed row as if it belonged to the present list. */
import { expect, it } from 'vitest';
import type { GalleryData, GalleryRow } from '../../../src/runner/core/gallery-data.ts';
import { scenePicture, seedCount, seedWords } from '../../../src/web/gallery/scene-picture.ts';

const one = { file: '../images/s3.png', width: 768, height: 512, bytes: 9 };

it.each<[string, GalleryRow['pictures'], string]>([
  ['saved', [one], ''],
  ['saved', [one, one, one], '+2'],
  ['withdrawn', [one], 'withdrawn'],
  ['withdrawn', [one, one], 'withdrawn +1'],
  ['withdrawn', undefined, ''],
])('a scene that is %s is marked as such on its picture', (state, pictures, badge) => {
  const row: GalleryRow = { id: 's3', state, source: 'scenes.csv:5', ...(pictures && { pictures }) };
  expect(scenePicture(row, 0).badge).toBe(badge);
});

it.each([
  [
    'seeds of a list',
    {
      name: 'seed_number',
      choices: [
        ['1', 8],
        ['2', 8],
        ['10', 1],
      ],
    },
    10,
    'seed 2 · s3',
  ],
  [
    'more seeds than are listed',
    { name: 'seed_number', choices: null, range: { most: 300 } },
    300,
    'seed 2 · s3',
  ],
  ['one seed', { name: 'seed_number', choices: [['1', 8]] }, 1, 's3'],
  ['no seeds', { name: 'style', choices: [['2', 8]] }, 1, 's3'],
])('a picture is called by the number of its seed: %s', (_, column, count, caption) => {
  const data = { columns: [{ name: 'id', choices: null }, column] } as unknown as GalleryData;
  const row: GalleryRow = { id: 's3', state: 'saved', source: 'scenes.csv:5', values: ['s3', 2] };
  expect(seedCount(data)).toBe(count);
  expect(scenePicture(row, 0, { seed: seedWords(row, data) }).caption).toBe(caption);
});

it('a picture is shown by its thumbnail, by that of an earlier version, or else by itself', () => {
  const saved = { id: 's3', state: 'saved', source: 'scenes.csv:5' };
  const sources = (picture: typeof one): string[] =>
    scenePicture({ ...saved, pictures: [picture] }, 0).sources;
  expect(sources(one)).toEqual([one.file]);
  const large = { ...one, thumbnail: 'thumbnails/ab/ab12.jpg' };
  expect(sources(large)).toEqual(['thumbnails/ab/ab12.jpg', 'thumbnails/ab/ab12.webp', one.file]);
});
