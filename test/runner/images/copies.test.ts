/**
 * Promise: copies in other formats and sizes are made of every picture, and a failed copy does not affect the
 * picture.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import type { Picture } from '../../../src/runner/core/picture.ts';
import type { RecordedPicture } from '../../../src/runner/core/scene-record.ts';
import { folderPlace } from '../../../src/runner/images/folder-place.ts';
import { createImageStore } from '../../../src/runner/images/image-store.ts';
import { makeMissingCopies } from '../../../src/runner/images/missing-files.ts';
import { copyMaker } from '../../../src/runner/images/sidecars.ts';
import { noise } from './pictures.ts';
import { filesIn, save, temporaryFolder } from './store.ts';

const copies = [
  { format: 'webp', quality: 80 },
  { format: 'jpeg', quality: 80, size: 64 },
  { format: 'avif', quality: 50, size: 32 },
] as const;
const lacking: string[] = [];
const makers = copies.map((copy) => copyMaker(copy, (ending, why) => lacking.push(`${ending} ${why}`)));
const never = new AbortController().signal;

it.each([
  ['plain', () => noise(100, 60).png()],
  ['16 bit', () => noise(100, 60).toColourspace('rgb16').png()],
  ['palette', () => noise(100, 60).png({ palette: true })],
  ['grey with alpha', () => noise(100, 60).toColourspace('b-w').ensureAlpha(0.5).png()],
  ['JPEG of inks', () => noise(100, 60).toColourspace('cmyk').jpeg()],
])('copies of a picture that is %s', async (_, make) => {
  const dir = temporaryFolder();
  const store = createImageStore(folderPlace(dir), { beside: makers });
  await save(store, (await make().toBuffer()).toString('base64'), 'x/a.png');
  expect(filesIn(dir)).toEqual(['x/a-32.avif', 'x/a-64.jpg', 'x/a.png', 'x/a.webp']);
  const at = (name: string) => sharp(join(dir, 'x', name)).metadata();
  expect(await at('a.webp')).toMatchObject({ format: 'webp', width: 100, height: 60 });
  expect(await at('a-64.jpg')).toMatchObject({ format: 'jpeg', width: 64, height: 38, space: 'srgb' });
  expect(await at('a-32.avif')).toMatchObject({ format: 'heif', width: 32, height: 19 });
});

it('copies are enlarged on request, and never without it', async () => {
  const dir = temporaryFolder();
  const beside = [
    copyMaker({ format: 'jpeg', quality: 80, size: 250, enlarge: true }, () => expect.fail()),
    copyMaker({ format: 'webp', quality: 80, size: 250 }, () => expect.fail()),
  ];
  const picture = await noise(100, 60).png().toBuffer();
  await save(createImageStore(folderPlace(dir), { beside }), picture.toString('base64'), 'a.png');
  const at = (name: string) => sharp(join(dir, name)).metadata();
  expect(await at('a-250.jpg')).toMatchObject({ width: 250, height: 150 });
  expect(await at('a-250.webp')).toMatchObject({ width: 100, height: 60 });
});

it('a JPEG copy of a transparent picture shows paper', async () => {
  const dir = temporaryFolder();
  const clear = sharp({ create: { width: 90, height: 60, channels: 4, background: '#00000000' } });
  await save(
    createImageStore(folderPlace(dir), { beside: makers }),
    (await clear.png().toBuffer()).toString('base64'),
    'a.png',
  );
  const { channels } = await sharp(join(dir, 'a-64.jpg')).stats();
  expect(channels.map(({ min }) => min)).toEqual([255, 255, 255]);
});

it('copies that a format cannot hold are reported, and the picture is saved', async () => {
  const dir = temporaryFolder();
  lacking.length = 0;
  const long = await noise(17_000, 2).png().toBuffer();
  await save(createImageStore(folderPlace(dir), { beside: makers }), long.toString('base64'), 'a.png');
  expect(filesIn(dir)).toEqual(['a-32.avif', 'a-64.jpg', 'a.png']);
  expect(lacking).toEqual([expect.stringMatching(/^\.webp .*too large/)]);
});

describe('makeMissingCopies', () => {
  it('makes missing copies of pictures that are unchanged since they were saved', async () => {
    const dir = temporaryFolder();
    const store = createImageStore(folderPlace(dir), { beside: makers });
    const pictures: RecordedPicture[] = [];
    for (const file of ['a.png', 'b.png', 'c.png', 'd.png']) {
      const png = await noise(100, 60, pictures.length + 1)
        .png()
        .toBuffer();
      const { width, height, sha256 } = (await save(store, png.toString('base64'), file)) as Picture;
      const facts = { width, height, sha256, bytes: png.length, moveTo: null };
      pictures.push({
        attempt: 1,
        number: 1,
        label: null,
        sceneId: file,
        sceneState: 'saved',
        file,
        ...facts,
      });
    }
    const before = readFileSync(join(dir, 'a.webp'));
    for (const name of ['a-64.jpg', 'b.webp', 'b-64.jpg', 'c.webp', 'd.webp']) rmSync(join(dir, name));
    writeFileSync(join(dir, 'c.png'), await noise(100, 60, 99).png().toBuffer());
    const moving = pictures.map((each) => (each.file === 'd.png' ? { ...each, moveTo: 'e.png' } : each));
    const sum = await makeMissingCopies(
      folderPlace(dir),
      { makers, isPicture: async () => false },
      moving,
      never,
      () => undefined,
    );
    expect(sum).toEqual({ made: 2, lacking: 1 });
    for (const name of ['a-64.jpg', 'b.webp', 'b-64.jpg'])
      expect(existsSync(join(dir, name)), name).toBe(true);
    for (const name of ['c.webp', 'd.webp']) expect(existsSync(join(dir, name)), name).toBe(false);
    expect(readFileSync(join(dir, 'a.webp')).equals(before)).toBe(true);
  });
});
