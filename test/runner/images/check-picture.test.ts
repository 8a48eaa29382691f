/**
 * Promise: pictures of every supported format are saved if they are valid and within the limits, and all
 * others are rejected.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { folderPlace } from '../../../src/runner/images/folder-place.ts';
import { memoryPlace } from '../../fakes/memory-place.ts';
import { createImageStore } from '../../../src/runner/images/image-store.ts';
import { chunksOf, noise, pngOf } from './pictures.ts';
import { filesIn, save, temporaryFolder } from './store.ts';

let png: Buffer;
let jpeg: Buffer;
let webp: Buffer;

beforeAll(async () => {
  png = await noise(64, 48).png().toBuffer();
  jpeg = await noise(64, 48).jpeg().toBuffer();
  webp = await noise(64, 48).webp().toBuffer();
});

describe('a good picture', () => {
  test.each([
    ['bare', (text: string) => text],
    ['as a data URI', (text: string) => `data:image/png;base64,${text}`],
    ['as a data URI of another type', (text: string) => `data:application/octet-stream;base64,${text}`],
    ['as a data URI with parameters', (text: string) => `data:image/png;charset=utf-8;base64,${text}`],
    ['in lines of 76 characters', (text: string) => text.replaceAll(/.{76}/g, '$&\r\n')],
    ['with space around it', (text: string) => `  \n${text}\n`],
  ])('is written byte for byte, %s', async (_dress, dress) => {
    const dir = temporaryFolder();
    const checked = await save(createImageStore(folderPlace(dir)), dress(png.toString('base64')), 'a.png');
    expect(checked).toMatchObject({ width: 64, height: 48, sha256: sha256Of(png) });
    expect(readFileSync(join(dir, 'a.png')).equals(png)).toBe(true);
    expect(filesIn(dir)).toEqual(['a.png']);
  });

  test('of 8 MB is written byte for byte', async () => {
    const dir = temporaryFolder();
    const large = await noise(1700, 1650).png({ compressionLevel: 0 }).toBuffer();
    expect(large.length).toBeGreaterThan(8_000_000);
    const checked = await save(createImageStore(folderPlace(dir)), large.toString('base64'), 'large.png');
    expect(checked).toMatchObject({ width: 1700, height: 1650 });
    expect(readFileSync(join(dir, 'large.png')).equals(large)).toBe(true);
  });

  test.each(['palette', 'grey', '16 bit', 'interlaced', 'with alpha'])(
    'may be a PNG that is %s',
    async (kind) => {
      const image = noise(40, 30);
      const made = {
        palette: image.png({ palette: true }),
        grey: image.greyscale().png(),
        '16 bit': image.toColourspace('rgb16').png(),
        interlaced: image.png({ progressive: true }),
        'with alpha': image.ensureAlpha(0.5).png(),
      }[kind];
      const bytes = (await made?.toBuffer()) ?? Buffer.alloc(0);
      expect(await check(bytes)).toMatchObject({ width: 40, height: 30, sha256: sha256Of(bytes) });
    },
  );

  test('keeps the texts that a PNG carries along', async () => {
    const [header, ...rest] = chunksOf(png);
    const text = { type: 'iTXt', data: Buffer.from('prompt\0\0\0\0\0a lighthouse') };
    const carrying = pngOf([header ?? expect.fail(), text, ...rest]);
    expect(await check(carrying)).toMatchObject({ sha256: sha256Of(carrying) });
  });

  test('may contain texts that would decompress to more than the memory, because they are not decompressed', async () => {
    const packed = deflateSync(Buffer.alloc(40_000_000, 'a'));
    const heads = { zTXt: 'a\0\0', iTXt: 'a\0\u0001\0\0\0' };
    const [header, ...rest] = chunksOf(png);
    for (const [type, head] of Object.entries(heads)) {
      const text = { type, data: Buffer.concat([Buffer.from(head, 'latin1'), packed]) };
      const texts = Array.from({ length: 25 }, () => text);
      const carrying = pngOf([header ?? expect.fail(), ...texts, ...rest]);
      const before = process.resourceUsage().maxRSS;
      expect(await check(carrying)).toMatchObject({ sha256: sha256Of(carrying) });
      expect(process.resourceUsage().maxRSS - before, 'kB').toBeLessThan(100_000);
    }
  });

  test.each(['JPEG', 'WebP', 'lossless WebP'])(
    'becomes a PNG of the same size and pixels from %s',
    async (kind) => {
      const lossless = await noise(64, 48).webp({ lossless: true }).toBuffer();
      const came = { JPEG: jpeg, WebP: webp, 'lossless WebP': lossless }[kind] ?? expect.fail();
      const dir = temporaryFolder();
      const checked = await save(createImageStore(folderPlace(dir)), came.toString('base64'), 'a.png');
      const saved = readFileSync(join(dir, 'a.png'));
      expect(saved.subarray(1, 4).toString()).toBe('PNG');
      expect(checked).toMatchObject({ width: 64, height: 48, sha256: sha256Of(saved) });
      expect(await pixelsOf(saved)).toEqual(await pixelsOf(came));
    },
  );

  test('stands upright if a JPEG says so', async () => {
    const lying = await noise(64, 48).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    expect(await check(lying)).toMatchObject({ width: 48, height: 64 });
  });

  test('keeps its colour profile, and becomes RGB from CMYK', async () => {
    const wide = await noise(64, 48).withIccProfile('p3').jpeg().toBuffer();
    const inks = await noise(64, 48).toColourspace('cmyk').withIccProfile('cmyk').jpeg().toBuffer();
    const kept = await sharp(await pngFrom(wide)).metadata();
    expect(kept.icc?.equals((await sharp(wide).metadata()).icc ?? Buffer.alloc(0))).toBe(true);
    expect(await sharp(await pngFrom(inks)).metadata()).toMatchObject({
      space: 'srgb',
      channels: 3,
      hasProfile: false,
    });
  });
});

describe('no file comes of', () => {
  test('an address, until downloads are configured', async () => {
    const store = createImageStore(folderPlace(temporaryFolder()));
    for (const bytes of [Buffer.from('<html>sign in</html>'), png.subarray(0, -20), Buffer.alloc(0)]) {
      expect(await store.check({ bytes })).toMatchObject({ kind: 'bad-picture' });
    }
  });

  test('a JPEG, WebP or PNG with more pixels than allowed', async () => {
    const store = createImageStore(folderPlace(temporaryFolder()), { pixels: 64 * 48 - 1 });
    const exact = createImageStore(folderPlace(temporaryFolder()), { pixels: 64 * 48 });
    const padded = Buffer.concat([jpeg, Buffer.alloc(16)]);
    for (const bytes of [png, jpeg, padded, webp]) {
      const base64 = bytes.toString('base64');
      expect(await store.check({ base64 })).toMatchObject({
        kind: 'too-many-pixels',
        text: expect.stringContaining('64×48 pixels'),
      });
      expect(await exact.check({ base64 })).toMatchObject({ width: 64 });
    }
  });
});

test('the error about a bad picture is short and printable, whatever its content', async () => {
  for (const bytes of [
    Buffer.alloc(3_000_000, 'spam '),
    Buffer.from('\u001B[31mred\u0007 alert '.repeat(500)),
  ]) {
    const failure = await check(bytes);
    expect('text' in failure && failure.text).toMatch(/^[^\p{C}]{20,300}$/u);
  }
});

function check(bytes: Buffer) {
  return createImageStore(memoryPlace()).check({ base64: bytes.toString('base64') });
}

async function pngFrom(bytes: Buffer): Promise<Buffer> {
  const checked = await check(bytes);
  return 'content' in checked ? Buffer.from(checked.content) : expect.fail(checked.text);
}

function pixelsOf(bytes: Buffer): Promise<Buffer> {
  return sharp(bytes).raw().toBuffer();
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
