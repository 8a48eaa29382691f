/**
 * Promise: every saved picture has a thumbnail if configured, and thumbnails never change whether a picture
 * passes.
 */
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { describe, expect, it } from 'vitest';
import { type Picture, thumbnailOf } from '../../../src/runner/core/picture.ts';
import type { RecordedPicture } from '../../../src/runner/core/scene-record.ts';
import { folderPlace } from '../../../src/runner/images/folder-place.ts';
import { memoryPlace } from '../../fakes/memory-place.ts';
import { createImageStore } from '../../../src/runner/images/image-store.ts';
import { makeMissingThumbnails, type ThumbnailSource } from '../../../src/runner/images/missing-files.ts';
import { runs } from '../../fakes/tier.ts';
import { dataOf, withData, withRows } from './damage.ts';
import { flipped, noise } from './pictures.ts';
import { filesIn, save, temporaryFolder } from './store.ts';

const never = new AbortController().signal;

describe('a saved picture', () => {
  it.each([
    ['PNG', () => noise(640, 400).png().toBuffer(), [320, 200]],
    ['interlaced PNG', () => noise(400, 640).png({ progressive: true }).toBuffer(), [200, 320]],
    ['PNG of 16 bits', () => noise(640, 400).toColourspace('rgb16').png().toBuffer(), [320, 200]],
    ['PNG with a palette', () => noise(640, 400).png({ palette: true, effort: 1 }).toBuffer(), [320, 200]],
    ['grey PNG', () => noise(640, 400).toColourspace('b-w').png().toBuffer(), [320, 200]],
    [
      'grey PNG with alpha',
      () => noise(640, 400).toColourspace('b-w').ensureAlpha(0.5).png().toBuffer(),
      [320, 200],
    ],
    ['JPEG of inks', () => noise(640, 400).toColourspace('cmyk').jpeg().toBuffer(), [320, 200]],
    [
      'JPEG on its side',
      () => noise(640, 400).withMetadata({ orientation: 6 }).jpeg().toBuffer(),
      [200, 320],
    ],
    ['WebP', () => noise(640, 400).webp().toBuffer(), [320, 200]],
    ['PNG of 8 MB', () => noise(1700, 1700).png().toBuffer(), [320, 320]],
    ['very long PNG', () => noise(6400, 2).png().toBuffer(), [320, 1]],
    ['heavy PNG within the size', () => noise(200, 160).png().toBuffer(), [200, 160]],
  ])('has a JPEG for the gallery: %s', async (_, make, [width, height]) => {
    const { store, thumbnail } = folder();
    const checked = await save(store, (await make()).toString('base64'), 'a.png');
    const jpeg = readFileSync(thumbnail(checked));
    expect(await sharp(jpeg).metadata()).toMatchObject({ format: 'jpeg', width, height, space: 'srgb' });
    expect(jpeg.length).toBeLessThan(60_000);
    expect(statSync(thumbnail(checked)).mode & 0o777).toBe(0o600);
  });

  it('has a thumbnail also if blank pictures are refused', async () => {
    for (const make of [noise(640, 400).png(), noise(640, 400).jpeg()]) {
      const { store, thumbnail } = folder({ blank: true });
      const checked = await save(store, (await make.toBuffer()).toString('base64'), 'a.png');
      expect(await sharp(thumbnail(checked)).metadata()).toMatchObject({ width: 320, height: 200 });
    }
  });

  it('has no thumbnail if it is small itself or thumbnails are disabled', async () => {
    const { store, report } = folder();
    await save(store, (await noise(90, 90).png().toBuffer()).toString('base64'), 'a.png');
    expect(existsSync(report)).toBe(false);
    const without = createImageStore(folderPlace(temporaryFolder()));
    const checked = await without.check({ bytes: await noise(640, 400).png().toBuffer() });
    expect(Object.keys(checked)).not.toContain('thumbnail');
  });

  it('has a thumbnail in the colours of its profile', async () => {
    const red = sharp({ create: { width: 640, height: 400, channels: 3, background: '#e00000' } });
    const wide = await red.withIccProfile('p3').png().toBuffer();
    const { store, thumbnail } = folder();
    const [r = 0, g = 0, b = 0] = await sharp(thumbnail(await save(store, wide.toString('base64'), 'a.png')))
      .removeAlpha()
      .raw()
      .toBuffer();
    expect(Math.abs(r - 0xe0) + g + b).toBeLessThan(12);
  });

  it('has a thumbnail on white if it is transparent', async () => {
    const background = { r: 0, g: 0, b: 0, alpha: 0 };
    const clear = sharp({ create: { width: 640, height: 400, channels: 4, background } });
    const { store, thumbnail } = folder();
    const png = await clear.png().toBuffer();
    const jpeg = sharp(thumbnail(await save(store, png.toString('base64'), 'a.png')));
    expect((await jpeg.raw().toBuffer()).every((value) => value === 255)).toBe(true);
  });

  it('is saved all the same if the disk does not take the thumbnail', async () => {
    const { store, report, dir } = folder();
    writeFileSync(report, 'in the way');
    await save(store, (await noise(640, 400).png().toBuffer()).toString('base64'), 'a.png');
    expect(filesIn(dir)).toEqual(['images/a.png', 'report']);
  });
});

describe.each([
  ['small', 330, 9, runs(60, { ms: 10 })],
  ['large', 640, 450, runs(12, { ms: 70 })],
])('a damaged picture, %s, is judged as without thumbnails', (_, width, height, flips) => {
  it.each(['plain', 'interlaced', '16 bit', 'palette', 'grey', 'grey with alpha'])('%s', async (kind) => {
    // Each test makes its own picture, because sharp keeps options that were set earlier.
    const image = (): Sharp => noise(width, height);
    const made = {
      plain: image().png(),
      interlaced: image().png({ progressive: true }),
      '16 bit': image().toColourspace('rgb16').png(),
      palette: image().png({ palette: true, effort: 1 }),
      grey: image().toColourspace('b-w').png(),
      'grey with alpha': image().toColourspace('b-w').ensureAlpha(0.5).png(),
    }[kind];
    const png = (await made?.toBuffer()) ?? expect.fail();
    const data = dataOf(png, 'IDAT');
    const damaged = [
      ...Array.from({ length: flips }, (__, i) =>
        withData(png, flipped(data, Math.floor((data.length * i) / flips))),
      ),
      withData(png, flipped(data, data.length - 1)),
      withData(png, data.subarray(0, -4)),
      withData(png, data.subarray(0, data.length / 2)),
      withRows(png, (rows) => rows.subarray(0, -1)),
    ];
    const plain = createImageStore(memoryPlace());
    const wanting = createImageStore(memoryPlace(), { reportDir: 'never-written' });
    for (const bytes of damaged) {
      const judged = { ...(await wanting.check({ bytes })), thumbnail: undefined };
      expect(judged).toEqual(await plain.check({ bytes }));
    }
  });
});

describe('makeMissingThumbnails', () => {
  it('makes missing and empty thumbnails, and leaves the others alone', async () => {
    const { store, dir, thumbnail } = folder();
    const pictures = await savedPictures(store, 4);
    const [gone = '', empty = '', ...kept] = pictures.map(({ checked }) => thumbnail(checked));
    rmSync(gone);
    writeFileSync(empty, '');
    for (const path of kept) writeFileSync(path, 'as it is');
    const told: number[] = [];
    const sum = await makeMissingThumbnails(
      source(dir),
      join(dir, 'report'),
      records(pictures),
      never,
      (made) => told.push(made),
    );
    expect(sum).toEqual({ made: 2, lacking: 0 });
    expect(told).toEqual([1, 2]);
    for (const path of [gone, empty]) expect(await sharp(path).metadata()).toMatchObject({ format: 'jpeg' });
    for (const path of kept) expect(readFileSync(path, 'utf8')).toBe('as it is');
  });

  it('keeps the WebPs of earlier versions', async () => {
    const { store, dir, thumbnail } = folder();
    const pictures = await savedPictures(store, 1);
    const [path = ''] = pictures.map(({ checked }) => thumbnail(checked));
    renameSync(path, path.replace('.jpg', '.webp'));
    const sum = await makeMissingThumbnails(
      source(dir),
      join(dir, 'report'),
      records(pictures),
      never,
      () => undefined,
    );
    expect(sum).toEqual({ made: 0, lacking: 0 });
  });

  it('counts pictures that are missing, or not those that were saved', async () => {
    const { store, dir, report } = folder();
    const pictures = await savedPictures(store, 3);
    rmSync(report, { recursive: true });
    rmSync(join(dir, 'images/0.png'));
    writeFileSync(join(dir, 'images/1.png'), await noise(400, 10, 99).png().toBuffer());
    const sum = await makeMissingThumbnails(
      source(dir),
      join(dir, 'report'),
      records(pictures),
      never,
      () => undefined,
    );
    expect(sum).toEqual({ made: 1, lacking: 2 });
  });

  it('finds a picture under the name that it was about to get', async () => {
    const { store, dir, report } = folder();
    const pictures = await savedPictures(store, 1);
    rmSync(report, { recursive: true });
    writeFileSync(join(dir, 'images/old.png'), 'of another scene by now');
    const moving = records(pictures).map((picture) => ({ ...picture, file: 'old.png', moveTo: '0.png' }));
    expect(
      await makeMissingThumbnails(source(dir), join(dir, 'report'), moving, never, () => undefined),
    ).toEqual({
      made: 1,
      lacking: 0,
    });
  });

  it('ends when aborted', async () => {
    const { store, dir, report } = folder();
    const pictures = await savedPictures(store, 3);
    rmSync(report, { recursive: true });
    const stop = new AbortController();
    const making = makeMissingThumbnails(
      source(dir),
      join(dir, 'report'),
      records(pictures),
      stop.signal,
      () => stop.abort('stopped'),
    );
    await expect(making).rejects.toBe('stopped');
  });
});

function folder(options: { blank?: boolean } = {}) {
  const dir = temporaryFolder();
  const report = join(dir, 'report');
  return {
    dir,
    report,
    store: createImageStore(folderPlace(join(dir, 'images')), { ...options, reportDir: report }),
    thumbnail: (checked: object): string => {
      const picture = checked as Picture;
      return join(report, thumbnailOf({ ...picture, bytes: picture.content.length }) ?? expect.fail());
    },
  };
}

function source(dir: string): ThumbnailSource {
  return { images: folderPlace(join(dir, 'images')), reportCopy: undefined };
}

interface Saved {
  checked: Picture;
  file: string;
}

async function savedPictures(store: ReturnType<typeof createImageStore>, count: number): Promise<Saved[]> {
  const saved: Saved[] = [];
  for (let i = 0; i < count; i += 1) {
    const png = await noise(400, 10, i + 1)
      .png()
      .toBuffer();
    const checked = await save(store, png.toString('base64'), `${i}.png`);
    saved.push({ checked: checked as Picture, file: `${i}.png` });
  }
  return saved;
}

function records(pictures: Saved[]): RecordedPicture[] {
  return pictures.map(({ checked: { content, width, height, sha256 }, file }, i) => ({
    attempt: i,
    number: 1,
    label: null,
    sceneId: file,
    sceneState: 'saved',
    file,
    moveTo: null,
    width,
    height,
    bytes: content.length,
    sha256,
  }));
}
