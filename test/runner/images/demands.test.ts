/**
 * Promise: blank or too small pictures fail if `check` requests it, and repeated identical content is
 * recognized.
 */
import { createHash } from 'node:crypto';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import type { Picture } from '../../../src/runner/core/picture.ts';
import type { Failure } from '../../../src/runner/core/failure.ts';
import { folderPlace } from '../../../src/runner/images/folder-place.ts';
import { memoryPlace } from '../../fakes/memory-place.ts';
import { createImageStore, type ImageStoreOptions } from '../../../src/runner/images/image-store.ts';
import { dataOf, withBefore } from './damage.ts';
import { noise } from './pictures.ts';
import { filesIn, save, temporaryFolder } from './store.ts';

const blankRefused = { blank: true };

describe('check.blank refuses', () => {
  test.each<[string, () => Promise<Buffer>, string]>([
    ['a black PNG', () => plain('#000').png().toBuffer(), '#000000'],
    ['a white PNG', () => plain('#fff').png().toBuffer(), '#ffffff'],
    ['a PNG of one vivid colour', () => plain('#c81e64').png().toBuffer(), '#c81e64'],
    ['a PNG with a palette', () => plain('#123456').png({ palette: true }).toBuffer(), '#123456'],
    ['a grey PNG', () => plain('#777').toColourspace('b-w').png().toBuffer(), '#777777'],
    ['an interlaced PNG', () => plain('#777').png({ progressive: true }).toBuffer(), '#777777'],
    ['a PNG of 16 bits', () => plain('#777').toColourspace('rgb16').png().toBuffer(), '#777777'],
    ['a half transparent PNG', () => plain('#c81e64').ensureAlpha(0.5).png().toBuffer(), '#c81e64'],
    ['a PNG of a single pixel', () => noise(1, 1).png().toBuffer(), '#'],
    ['a JPEG of low quality', () => plain('#c81e64').jpeg({ quality: 20 }).toBuffer(), '#c'],
    ['a WebP', () => plain('#1f2a10').webp({ quality: 80 }).toBuffer(), '#'],
    [
      'a PNG made of a JPEG',
      async () =>
        sharp(await plain('#c81e64').jpeg().toBuffer())
          .png()
          .toBuffer(),
      '#c',
    ],
  ])('%s', async (_what, make, colour) => {
    const bytes = await make();
    await expectRefused(bytes, blankRefused, 'blank-picture', `only one colour (${colour}`);
    expect(await check(bytes)).toHaveProperty('content');
  });

  test.each(['png', 'webp'] as const)('a %s that is transparent, whatever its colours', async (format) => {
    const bytes = await invisible()[format]({ lossless: true }).toBuffer();
    await expectRefused(bytes, blankRefused, 'blank-picture', 'fully transparent');
  });

  test('a PNG whose palette is transparent, also if it carries a text', async () => {
    const palette = await noise(64, 48).png({ palette: true }).toBuffer();
    const clear = { type: 'tRNS', data: Buffer.alloc(dataOf(palette, 'PLTE').length / 3) };
    const text = { type: 'iTXt', data: Buffer.from('prompt\0\0\0\0\0a lighthouse') };
    for (const more of [[clear], [clear, text]]) {
      const bytes = withBefore(palette, 'IDAT', ...more);
      await expectRefused(bytes, blankRefused, 'blank-picture', 'fully transparent');
    }
  });

  test('a lossy WebP of any grey, and of any colour from quality 80 on', async () => {
    for (let level = 0; level < 256; level += 15) {
      const grey = plain({ r: level, g: level, b: level }).webp({ quality: 50 });
      const vivid = plain({ r: level, g: 255 - level, b: (level * 7) % 256 }).webp({ quality: 80 });
      for (const image of [grey, vivid])
        expect(await check(await image.toBuffer(), blankRefused)).toMatchObject({ kind: 'blank-picture' });
    }
  });
});

describe('check.blank takes', () => {
  test.each<[string, () => Promise<Buffer>]>([
    ['a picture of something', () => noise(64, 48).png().toBuffer()],
    [
      'one bright pixel, the last, in a black sky',
      () =>
        withStar(64 * 48 - 1)
          .png()
          .toBuffer(),
    ],
    ['one bright pixel in blue alone', () => withStar(100, 2).png().toBuffer()],
    ['one bright pixel at 16 bits', () => withStar(100).toColourspace('rgb16').png().toBuffer()],
    [
      'one pixel to be seen, the last, in a transparent picture',
      () =>
        invisible(64 * 48 - 1)
          .png()
          .toBuffer(),
    ],
    ['a shape cut out of black', () => shapeInBlack().png().toBuffer()],
    ['a JPEG', () => noise(64, 48).jpeg().toBuffer()],
    ['a WebP', () => noise(64, 48).webp().toBuffer()],
    ['a transparent WebP', () => noise(64, 48).ensureAlpha(0.5).webp().toBuffer()],
    ['a grey JPEG', () => noise(64, 48).toColourspace('b-w').jpeg().toBuffer()],
    ['a JPEG with a profile', () => noise(64, 48).withIccProfile('p3').jpeg().toBuffer()],
    ['a JPEG in inks', () => noise(64, 48).toColourspace('cmyk').withIccProfile('cmyk').jpeg().toBuffer()],
    ['a JPEG on its side', () => noise(64, 48).withMetadata({ orientation: 6 }).jpeg().toBuffer()],
  ])('%s, and saves the same as without', async (_what, make) => {
    const bytes = await make();
    const [with_, without] = [pngOf(await check(bytes, blankRefused)), pngOf(await check(bytes))];
    expect(await shown(with_)).toEqual(await shown(without));
  });
});

describe('check.minSide', () => {
  test.each(['png', 'jpeg', 'webp'] as const)('refuses a %s whose shorter side is below', async (format) => {
    for (const [width, height] of [
      [100, 47],
      [47, 100],
      [47, 47],
    ] as const) {
      const bytes = await noise(width, height)[format]().toBuffer();
      await expectRefused(bytes, { minSide: 48 }, 'picture-too-small', `${width}×${height} pixels`);
      expect(await check(bytes, { minSide: 47 })).toMatchObject({ width, height });
    }
  });

  test('says of a small picture that is damaged that it is damaged', async () => {
    const bytes = await noise(20, 20).png().toBuffer();
    const failure = await check(bytes.subarray(0, -20), { minSide: 48 });
    expect(failure).toMatchObject({ kind: 'bad-picture' });
  });
});

describe('the digest of a picture that does not pass', () => {
  test('is that of its bytes, however their base64 was dressed', async () => {
    const cut = (await noise(20, 20).png().toBuffer()).subarray(0, -20);
    const base64 = cut.toString('base64');
    for (const text of [base64, `data:image/png;base64,${base64}`, base64.replaceAll(/.{60}/g, '$&\n')])
      expect(await checkText(text)).toMatchObject({ kind: 'bad-picture', digest: sha256Of(cut) });
  });

  test('is that of the text if there are no bytes', async () => {
    for (const text of ['out of memory!', 'AAAA=', ''])
      expect(await checkText(text)).toMatchObject({ kind: 'bad-picture', digest: sha256Of(text) });
  });
});

async function expectRefused(
  bytes: Buffer,
  options: ImageStoreOptions,
  kind: Failure['kind'],
  text: string,
): Promise<void> {
  const dir = temporaryFolder();
  const result = await save(createImageStore(folderPlace(dir), options), bytes.toString('base64'), 'a.png');
  expect(result).toEqual({ kind, text: expect.stringContaining(text), digest: sha256Of(bytes) });
  expect(filesIn(dir)).toEqual([]);
}

function check(bytes: Buffer, options?: ImageStoreOptions): Promise<Picture | Failure> {
  return checkText(bytes.toString('base64'), options);
}

function checkText(base64: string, options?: ImageStoreOptions): Promise<Picture | Failure> {
  return createImageStore(memoryPlace(), options).check({ base64 });
}

function pngOf(checked: Picture | Failure): Buffer {
  return 'content' in checked ? Buffer.from(checked.content) : expect.fail(checked.text);
}

/** Returns pixels, profile and size as a viewer sees them. */
async function shown(png: Buffer): Promise<unknown> {
  const { icc, width, height, channels } = await sharp(png).metadata();
  return { icc, width, height, channels, pixels: await sharp(png).raw().toBuffer() };
}

function plain(background: string | { r: number; g: number; b: number }) {
  return sharp({ create: { width: 64, height: 48, channels: 3, background } });
}

/** Returns a transparent picture with many colours. Only the pixel `seen`, if given, is opaque. */
function invisible(seen?: number) {
  const pixels = Buffer.from(Array.from({ length: 64 * 48 * 4 }, (_, at) => (at % 4 === 3 ? 0 : at % 251)));
  if (seen !== undefined) pixels[seen * 4 + 3] = 255;
  return sharp(pixels, { raw: { width: 64, height: 48, channels: 4 } });
}

function shapeInBlack() {
  const pixels = Buffer.alloc(64 * 48 * 4);
  for (let pixel = 99; pixel < 64 * 48; pixel += 1) pixels[pixel * 4 + 3] = 255;
  return sharp(pixels, { raw: { width: 64, height: 48, channels: 4 } });
}

function withStar(pixel: number, channel = 0) {
  const pixels = Buffer.alloc(64 * 48 * 3);
  pixels[pixel * 3 + channel] = 200;
  return sharp(pixels, { raw: { width: 64, height: 48, channels: 3 } });
}

function sha256Of(came: Buffer | string): string {
  return createHash('sha256').update(came).digest('hex');
}
