/** Promise: a picture whose row has changed or gone is not taken for one of the list. */
import { expect, it } from 'vitest';
import type { GalleryRow } from '../../../src/runner/core/gallery-data.ts';
import { scenePicture } from '../../../src/web/gallery/scene-picture.ts';

const one = { file: '../images/s3.png', width: 768, height: 512, bytes: 9 };

it.each<[string, GalleryRow['pictures'], string]>([
  ['saved', [one], ''],
  ['saved', [one, one, one], '+2'],
  ['withdrawn', [one], 'withdrawn'],
  ['withdrawn', [one, one], 'withdrawn +1'],
  ['withdrawn', undefined, ''],
])('a scene that is %s is told as such on its picture', (state, pictures, badge) => {
  const row: GalleryRow = { id: 's3', state, source: 'scenes.csv:5', ...(pictures && { pictures }) };
  expect(scenePicture(row, 0).badge).toBe(badge);
});

it('is shown by its thumbnail, by that of an earlier version, or else by itself', () => {
  const saved = { id: 's3', state: 'saved', source: 'scenes.csv:5' };
  const sources = (picture: typeof one): string[] =>
    scenePicture({ ...saved, pictures: [picture] }, 0).sources;
  expect(sources(one)).toEqual([one.file]);
  const large = { ...one, thumbnail: 'thumbnails/ab/ab12.jpg' };
  expect(sources(large)).toEqual(['thumbnails/ab/ab12.jpg', 'thumbnails/ab/ab12.webp', one.file]);
});
