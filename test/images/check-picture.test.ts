/** What may become a file and what may not: good pictures in every dress, and every class of damage. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { createImageStore } from '../../src/images/image-store.ts';
import { chunk, chunksOf, flipped, noise, pngOf } from './pictures.ts';
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
    ['as a data URI with parameters', (text: string) => `data:image/png;charset=utf-8;base64,${text}`],
    ['in lines of 76 characters', (text: string) => text.replaceAll(/.{76}/g, '$&\r\n')],
    ['with space around it', (text: string) => `  \n${text}\n`],
  ])('is written byte for byte, %s', async (_dress, dress) => {
    const dir = temporaryFolder();
    const checked = await save(createImageStore(dir), dress(png.toString('base64')), 'a.png');
    expect(checked).toMatchObject({ width: 64, height: 48, sha256: sha256Of(png) });
    expect(readFileSync(join(dir, 'a.png')).equals(png)).toBe(true);
    expect(filesIn(dir)).toEqual(['a.png']);
  });

  test('of 8 MB is written byte for byte', async () => {
    const dir = temporaryFolder();
    const large = await noise(1700, 1650).png({ compressionLevel: 0 }).toBuffer();
    expect(large.length).toBeGreaterThan(8_000_000);
    const checked = await save(createImageStore(dir), large.toString('base64'), 'large.png');
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

  test.each(['JPEG', 'WebP', 'lossless WebP'])(
    'becomes a PNG of the same size and pixels from %s',
    async (kind) => {
      const lossless = await noise(64, 48).webp({ lossless: true }).toBuffer();
      const came = { JPEG: jpeg, WebP: webp, 'lossless WebP': lossless }[kind] ?? expect.fail();
      const dir = temporaryFolder();
      const checked = await save(createImageStore(dir), came.toString('base64'), 'a.png');
      const saved = readFileSync(join(dir, 'a.png'));
      expect(saved.subarray(1, 4).toString()).toBe('PNG');
      expect(checked).toMatchObject({ width: 64, height: 48, sha256: sha256Of(saved) });
      expect(await pixelsOf(saved)).toEqual(await pixelsOf(came));
    },
  );

  test('stands upright where a JPEG says so', async () => {
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
  const damaged: [string, () => Buffer | Promise<Buffer>, RegExp][] = [
    ['a PNG cut at a quarter', () => cut(png, 0.25), /cut/],
    ['a PNG cut at half', () => cut(png, 0.5), /cut/],
    ['a PNG cut at three quarters', () => cut(png, 0.75), /cut/],
    ['a PNG cut by one byte', () => png.subarray(0, -1), /cut/],
    ['a PNG without its end', () => png.subarray(0, -12), /cut.*IEND/],
    [
      'a PNG with a flipped byte in its data',
      () => flipped(png, at('IDAT') + 200),
      /checksum of its chunk IDAT/,
    ],
    ['a PNG with a flipped checksum', () => flipped(png, png.length - 1), /checksum of its chunk IEND/],
    ['a PNG with a flipped header', () => flipped(png, 19), /checksum of its chunk IHDR/],
    ['a PNG with garbage behind its end', () => Buffer.concat([png, Buffer.from('garbage!')]), /cut|behind/],
    ['a PNG with a chunk behind its end', () => Buffer.concat([png, chunk('tEXt')]), /behind its end/],
    ['two PNGs in one', () => Buffer.concat([png, png]), /cut|damaged|behind/],
    ['a PNG with a wrong signature', () => flipped(png, 5), /signature/],
    [
      'a PNG whose line ends were converted',
      () => Buffer.from(png.toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
      /signature/,
    ],
    ['a PNG without picture data', () => without('IDAT'), /IDAT/],
    ['a PNG without a header', () => without('IHDR'), /IHDR/],
    ['a PNG with two headers', () => pngOf([...chunksOf(png).slice(0, 1), ...chunksOf(png)]), /two headers/],
    [
      'a PNG with a chunk longer than the file',
      () => withLength(at('IDAT'), 0x7f_ff_ff_ff),
      /longer than the file/,
    ],
    ['a PNG whose data is not compressed', () => replaced('IDAT', Buffer.alloc(500, 7)), /damaged/],
    ['a PNG whose data ends early', () => replaced('IDAT', data('IDAT').subarray(0, 3000)), /damaged/],
    ['a PNG that says it is taller than it is', () => sized(64, 4800), /damaged/],
    ['a PNG that says it is wider than it is', () => sized(6400, 48), /damaged/],
    ['a decompression bomb', () => sized(50_000, 50_000), /50000×50000 pixels, more than the limit/],
    ['a PNG of no pixels', () => sized(0, 48), /damaged/],
    ['a PNG whose data is torn apart', () => torn(), /torn apart/],
    ['a JPEG cut at a quarter', () => cut(jpeg, 0.25), /JPEG data is cut or damaged/],
    ['a JPEG cut at half', () => cut(jpeg, 0.5), /JPEG data is cut or damaged/],
    ['a JPEG cut by one byte', () => jpeg.subarray(0, -1), /JPEG data is cut or damaged/],
    ['a WebP cut at a quarter', () => cut(webp, 0.25), /WebP data is cut or damaged/],
    ['a WebP cut at half', () => cut(webp, 0.5), /WebP data is cut or damaged/],
    ['a WebP cut by one byte', () => webp.subarray(0, -1), /WebP data is cut or damaged/],
    ['an animated WebP', () => animated(), /animation of 2 frames/],
    ['a GIF', () => noise(8, 8).gif().toBuffer(), /a GIF/],
    ['an SVG', () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'), /an SVG/],
    [
      'an HTML page',
      () => Buffer.from('<!DOCTYPE html><html><title>502 Bad Gateway</title>'),
      /HTML page.*502/,
    ],
    [
      'a text',
      () => Buffer.from('CUDA out of memory. Tried to allocate 2.00 GiB'),
      /text \("CUDA out of memory/,
    ],
    ['JSON', () => Buffer.from('{"error": "no such model"}'), /JSON.*no such model/],
    ['zeros', () => Buffer.alloc(5000), /first bytes are 00 00 00/],
    ['one byte', () => Buffer.from([0x89]), /no picture/],
  ];

  test.each(damaged)('%s', async (_what, make, reason) => {
    await expectRefused((await make()).toString('base64'), reason);
  });

  test.each<[string, (good: string) => string, RegExp]>([
    ['nothing', () => '', /empty/],
    ['white space', () => ' \n ', /empty/],
    ['a data URI of nothing', () => 'data:image/png;base64,', /empty/],
    ['a data URI of another type', (good) => `data:text/html;base64,${good}`, /text\/html, not a picture/],
    ['a data URI that is not base64', () => 'data:image/svg+xml,%3Csvg/%3E', /not base64/],
    ['junk among base64', (good) => `${good.slice(0, 400)}!${good.slice(401)}`, /character 401 is "!"/],
    [
      'an accent among base64',
      (good) => `${good.slice(0, 400)}\u0141${good.slice(401)}`,
      /character 401 is "Ł"/,
    ],
    ['the URL-safe - for +', (good) => good.replaceAll('+', '-'), /not base64: character \d+ is "-"/],
    ['the URL-safe _ for /', (good) => good.replaceAll('/', '_'), /not base64: character \d+ is "_"/],
    ['base64 with missing padding', (good) => good.replace(/=+$/, ''), /cut or not base64/],
    [
      'base64 with padding in the middle',
      (good) => `${good.slice(0, 400)}====${good.slice(404)}`,
      /in the middle/,
    ],
    ['base64 cut between two bytes', (good) => good.slice(0, 801), /cut or not base64/],
    [
      'an address as text',
      () => 'https://cdn.example/x.png',
      /an address \("https:\/\/cdn\.example\/x\.png"\)/,
    ],
    ["a file of the worker's", () => 'simulated_uploaded/x.png', /file on the worker.*simulated_uploaded/],
    ['a sentence', () => 'NSFW content was detected, try again', /text.*NSFW/],
    ['a page as text', () => '<html><body>Bad Gateway</body></html>', /HTML page/],
  ])('%s', async (_what, make, reason) => {
    const padded = await paddedPng();
    await expectRefused(make(padded.toString('base64')), reason);
  });

  test('an address, until downloads are configured', async () => {
    const store = createImageStore(temporaryFolder());
    const failure = await store.check({ url: 'https://cdn.example/x.png' });
    expect(failure).toMatchObject({ kind: 'bad-picture', text: expect.stringMatching(/address.*downloads/) });
  });

  test('a JPEG, WebP or PNG with more pixels than allowed', async () => {
    const store = createImageStore(temporaryFolder(), { maxPixels: 64 * 48 - 1 });
    const exact = createImageStore(temporaryFolder(), { maxPixels: 64 * 48 });
    for (const bytes of [png, jpeg, webp]) {
      const base64 = bytes.toString('base64');
      expect(await store.check({ base64 })).toMatchObject({ text: expect.stringContaining('64×48 pixels') });
      expect(await exact.check({ base64 })).toMatchObject({ width: 64 });
    }
  });

  test('any cut of a PNG, and any flipped byte in it', async () => {
    const small = await noise(9, 7).png().toBuffer();
    const passed = [];
    for (let i = 0; i < small.length; i += 1) {
      if ('png' in (await check(small.subarray(0, i)))) passed.push(`cut at ${i}`);
      if ('png' in (await check(flipped(small, i)))) passed.push(`flipped at ${i}`);
    }
    expect(passed).toEqual([]);
  });
});

test('what is said of a bad picture is short and printable, whatever came', async () => {
  for (const bytes of [
    Buffer.alloc(3_000_000, 'spam '),
    Buffer.from('\u001B[31mred\u0007 alert '.repeat(500)),
  ]) {
    const failure = await check(bytes);
    expect('text' in failure && failure.text).toMatch(/^[^\p{C}]{20,300}$/u);
  }
});

async function expectRefused(base64: string, reason: RegExp): Promise<void> {
  const dir = temporaryFolder();
  const result = await save(createImageStore(dir), base64, 'a.png');
  const digest: unknown = expect.stringMatching(/^[0-9a-f]{64}$/);
  expect(result).toEqual({ kind: 'bad-picture', text: expect.stringMatching(reason), digest });
  expect(filesIn(dir)).toEqual([]);
}

function check(bytes: Buffer) {
  return createImageStore('never-written').check({ base64: bytes.toString('base64') });
}

async function pngFrom(bytes: Buffer): Promise<Buffer> {
  const checked = await check(bytes);
  return 'png' in checked ? Buffer.from(checked.png) : expect.fail(checked.text);
}

async function paddedPng(): Promise<Buffer> {
  for (let seed = 1; ; seed += 1) {
    const made = await noise(16, 12, seed).png().toBuffer();
    const text = made.toString('base64');
    if (text.endsWith('=') && text.includes('+') && text.includes('/')) return made;
    if (seed > 50) expect.fail('no picture of a length that needs padding');
  }
}

function cut(bytes: Buffer, share: number): Buffer {
  return bytes.subarray(0, Math.floor(bytes.length * share));
}

function at(type: string): number {
  return chunksOf(png).find((found) => found.type === type)?.at ?? expect.fail();
}

function data(type: string): Buffer {
  return Buffer.concat(chunksOf(png).flatMap((found) => (found.type === type ? [found.data] : [])));
}

function without(type: string): Buffer {
  return pngOf(chunksOf(png).filter((found) => found.type !== type));
}

function replaced(type: string, bytes: Buffer): Buffer {
  return pngOf(chunksOf(png).map((found) => (found.type === type ? { type, data: bytes } : found)));
}

function torn(): Buffer {
  const bytes = data('IDAT');
  const parts = [bytes.subarray(0, 900), bytes.subarray(900)].map((part) => ({ type: 'IDAT', data: part }));
  const [header, , ...rest] = chunksOf(png);
  return pngOf(
    [header, parts[0], { type: 'tEXt', data: Buffer.from('a\0b') }, parts[1], ...rest].filter(
      (x) => x !== undefined,
    ),
  );
}

function withLength(chunkAt: number, length: number): Buffer {
  const copy = Buffer.from(png);
  copy.writeUInt32BE(length, chunkAt);
  return copy;
}

function sized(width: number, height: number): Buffer {
  const header = Buffer.from(data('IHDR'));
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  return replaced('IHDR', header);
}

async function animated(): Promise<Buffer> {
  const frames = [await noise(16, 16, 1).png().toBuffer(), await noise(16, 16, 2).png().toBuffer()];
  return sharp(frames, { join: { animated: true } })
    .webp()
    .toBuffer();
}

function pixelsOf(bytes: Buffer): Promise<Buffer> {
  return sharp(bytes).raw().toBuffer();
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
