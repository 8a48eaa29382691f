/** Promise: a damaged JPEG, WebP, AVIF or base64 text never gets a final name. Each class of damage has a test. */
import { clipFormats, isSound } from '../../../src/runner/core/clip.ts';
import { clip } from '../../fakes/clips.ts';
import { gzipSync } from 'node:zlib';
import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { memoryPlace } from '../../fakes/memory-place.ts';
import { createImageStore } from '../../../src/runner/images/image-store.ts';
import { sampled } from '../../fakes/tier.ts';
import { withBefore } from './damage.ts';
import { flipped, noise } from './pictures.ts';
import { expectNoFile } from './store.ts';
import { exr } from './whole-files.ts';

let png: Buffer;
let jpeg: Buffer;
let progressive: Buffer;
let webp: Buffer;
let lossless: Buffer;
let avif: Buffer;

beforeAll(async () => {
  png = await paddedPng();
  jpeg = await noise(64, 48).jpeg().toBuffer();
  progressive = await noise(64, 48).jpeg({ progressive: true }).toBuffer();
  webp = await noise(64, 48).webp().toBuffer();
  lossless = await noise(64, 48).webp({ lossless: true }).toBuffer();
  avif = await noise(64, 48).avif().toBuffer();
});

const jpegDamage = /JPEG data is cut or damaged/;
const webpDamage = /WebP data is cut or damaged/;
const avifDamage = /AVIF data is cut or damaged/;

describe.each([false, true])('no file comes of (kept as it comes: %s)', (isOriginalKept) => {
  test.each<[string, () => Buffer | Promise<Buffer>, RegExp]>([
    ['a JPEG cut at a quarter', () => jpeg.subarray(0, jpeg.length / 4), jpegDamage],
    ['a JPEG cut at half', () => jpeg.subarray(0, jpeg.length / 2), jpegDamage],
    ['a JPEG cut by one byte', () => jpeg.subarray(0, -1), jpegDamage],
    ['a JPEG without its end', () => jpeg.subarray(0, -2), jpegDamage],
    ['a JPEG of which only the first bytes are left', () => jpeg.subarray(0, 3), jpegDamage],
    ['a JPEG cut and closed again', () => closed(jpeg.subarray(0, jpeg.length / 2)), jpegDamage],
    ['a progressive JPEG cut in its last pass', () => progressive.subarray(0, -200), jpegDamage],
    ['a progressive JPEG cut and closed again', () => closed(progressive.subarray(0, -300)), jpegDamage],
    ['a JPEG without its tables', () => withoutTables(jpeg), jpegDamage],
    ['a JPEG that says it is taller than it is', () => sized(jpeg, 64, 480), jpegDamage],
    ['a WebP cut at a quarter', () => webp.subarray(0, webp.length / 4), webpDamage],
    ['a WebP cut at half', () => webp.subarray(0, webp.length / 2), webpDamage],
    ['a WebP cut by one byte', () => webp.subarray(0, -1), webpDamage],
    ['a lossless WebP cut at half', () => lossless.subarray(0, lossless.length / 2), webpDamage],
    ['a WebP that says it is longer than it is', () => withLength(webp, webp.length + 1000), webpDamage],
    ['a WebP that says it is shorter than it is', () => withLength(webp, 100), webpDamage],
    ['a WebP with a damaged frame', () => flipped(webp, 23), webpDamage],
    ['a lossless WebP with a damaged header', () => flipped(lossless, 20), webpDamage],
    ['an AVIF cut at half', () => avif.subarray(0, avif.length / 2), avifDamage],
    ['an AVIF cut by one byte', () => avif.subarray(0, -1), avifDamage],
    ['an AVIF of which only the first bytes are left', () => avif.subarray(0, 40), avifDamage],
    ['an animated WebP that is cut', async () => (await animated()).subarray(0, -20), /cut/],
    ['a JPEG of too many pixels that is cut', () => sized(jpeg, 65_000, 65_000).subarray(0, -40), /is cut/],
  ])('%s', async (_what, make, reason) => {
    await expectNoFile((await make()).toString('base64'), reason, 'bad-picture', { isOriginalKept });
  });

  test.each(['jpeg', 'webp', 'avif'] as const)('a %s, cut anywhere', async (format) => {
    const small = await noise(9, 7)[format]().toBuffer();
    const passed = [];
    const ends = Array.from(small, (_, index) => index);
    for (const end of sampled(ends, { ms: 1 })) {
      const base64 = small.subarray(0, end).toString('base64');
      if ('content' in (await createImageStore(memoryPlace(), { isOriginalKept }).check({ base64 })))
        passed.push(end);
    }
    expect(passed).toEqual([]);
  });
});

describe('no file comes of, and no second job is paid for', () => {
  test.each<[string, () => Buffer | Promise<Buffer>, RegExp]>([
    ['a BMP', () => bmp(), /a BMP, and only PNG, JPEG, WebP and AVIF can be saved: let the worker send/],
    ['a TIFF', () => noise(8, 8).tiff().toBuffer(), /a TIFF, .* let the worker send/],
    ['an animated AVIF', () => Buffer.from('\0\0\0\u0018ftypavis'), /an animated AVIF/],
    ['a HEIF', () => Buffer.from('\0\0\0\u0018ftypheic'), /a HEIF/],
    ['an OpenEXR file', () => exr(), /an OpenEXR file/],
    ['a PDF', () => Buffer.from('%PDF-1.7\n'), /a PDF/],
    ['a ZIP archive', () => Buffer.from('PK\u0003\u0004 and so on'), /a ZIP/],
    ['an SVG', () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'), /an SVG/],
    [
      'an SVG with words before',
      () => Buffer.from('\uFEFF<?xml version="1.0"?>\n<!-- a > b -->\n<svg/>'),
      /an SVG/,
    ],
    ['a Photoshop file', () => Buffer.from('8BPS\0\u0001'), /a Photoshop file/],
    ['an icon', () => Buffer.from('\0\0\u0001\0\u0001\0'), /an icon/],
    ['a Netpbm picture', () => Buffer.from('P6\n8 8\n255\n'), /a Netpbm picture/],
    ['a gzipped PNG', () => gzipSync(png), /gzipped/],
    ['an animated WebP', () => animated(), /animation of 2 frames: let the worker/],
    ['an animated PNG', () => animatedPng(), /animation \(APNG\): let the worker/],
    [
      'a JPEG of too many pixels',
      () => sized(jpeg, 65_000, 65_000),
      /65000×65000 .*: raise `limits\.pixels`/,
    ],
  ])('%s', async (what, make, reason) => {
    await expectNoFile(
      (await make()).toString('base64'),
      reason,
      what.includes('too many pixels') ? 'too-many-pixels' : 'output-unsupported',
    );
  });
});

test.each(clipFormats)(
  'a clip of the format %s waits for output.media, and is paid for once',
  async (format) => {
    const media = isSound(format) ? 'audio' : 'video';
    const advice = new RegExp(`it is a clip \\(${format}\\); set .output\\.media: ${media}. to save it`);
    await expectNoFile(clip(format).toString('base64'), advice, 'picture-not-found');
  },
);

test.each([
  '<svg width="8"/>',
  'data:image/svg+xml,%3Csvg/%3E',
  'data:image/svg+xml;base64,PHN2ZyB3aWR0aD0iOCIvPg==',
])('nor is a second job paid for the text of an SVG: %s', async (text) => {
  await expectNoFile(text, /an SVG, and only PNG/, 'output-unsupported');
});

describe('no file comes of bytes that are', () => {
  test.each<[string, () => Buffer | Promise<Buffer>, RegExp]>([
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
    ['JSON around a picture', () => Buffer.from(JSON.stringify([{ image: png.toString('base64') }])), /JSON/],
    ['base64 once more', () => Buffer.from(png.toString('base64')), /text/],
    ['hexadecimal', () => Buffer.from(png.toString('hex')), /text/],
    ['zeros', () => Buffer.alloc(5000), /first bytes are 00 00 00/],
    ['one byte', () => Buffer.from([0x89]), /not a picture/],
    ['noise', async () => noise(20, 20).raw().toBuffer(), /not a picture/],
  ])('%s', async (_what, make, reason) => {
    await expectNoFile((await make()).toString('base64'), reason);
  });
});

describe('no file comes of a text that is', () => {
  test.each<[string, (good: string) => string, RegExp]>([
    ['nothing', () => '', /empty/],
    ['white space', () => ' \n ', /empty/],
    ['a data URI of nothing', () => 'data:image/png;base64,', /empty/],
    ['a data URI of a page', () => 'data:text/html;base64,PGh0bWw+PGJvZHk+', /an HTML page/],
    ['a data URI that is not base64', () => 'data:image/png,%89PNG', /not base64/],
    [
      'a data URI in a data URI',
      (good) => `data:image/png;base64,data:image/png;base64,${good}`,
      /not base64/,
    ],
    ['base64 with junk in it', (good) => `${good.slice(0, 400)}!${good.slice(401)}`, /character 401 is "!"/],
    ['base64 with an accent in it', (good) => `${good.slice(0, 400)}\u0141${good.slice(401)}`, /401 is "Ł"/],
    ['base64 with the URL-safe - for +', (good) => good.replaceAll('+', '-'), /character \d+ is "-"/],
    ['base64 with the URL-safe _ for /', (good) => good.replaceAll('/', '_'), /character \d+ is "_"/],
    [
      'base64 with padding in the middle',
      (good) => `${good.slice(0, 400)}====${good.slice(404)}`,
      /in the middle/,
    ],
    ['base64 with too much padding', (good) => `${good}====`, /cut or not base64|middle/],
    ['base64 cut between two bytes', (good) => good.slice(0, 801), /cut or not base64/],
    ['base64 cut at four characters', (good) => good.slice(0, 800), /cut/],
    ['two base64 texts in one', (good) => `${good}${good}`, /in the middle/],
    ['base64 with line breaks spelled out', (good) => good.replaceAll(/.{76}/g, '$&\\n'), /is "\\\\"/],
    ['base64 as Python shows it', (good) => `b'${good}'`, /character 2 is "'"/],
    ['base64 escaped for an address', (good) => encodeURIComponent(good), /is "%"/],
    ['an address', () => 'https://cdn.example/x.png', /an address \("https:\/\/cdn\.example\/x\.png"\)/],
    ["a file of the worker's", () => 'simulated_uploaded/x.png', /file on the worker.*simulated_uploaded/],
    ['a sentence', () => 'NSFW content was detected, try again', /text.*NSFW/],
    ['a page', () => '<html><body>Bad Gateway</body></html>', /HTML page/],
    ['JSON', () => '{"error": "no such model"}', /JSON/],
    ['a word', () => 'null', /not a picture/],
  ])('%s', async (_what, make, reason) => {
    await expectNoFile(make(png.toString('base64')), reason);
  });
});

/** Returns a PNG whose base64 text contains `+`, `/` and padding. */
async function paddedPng(): Promise<Buffer> {
  for (let seed = 1; ; seed += 1) {
    const made = await noise(16, 12, seed).png().toBuffer();
    const text = made.toString('base64');
    if (text.endsWith('=') && text.includes('+') && text.includes('/')) return made;
    if (seed > 50) expect.fail('no picture of a length that needs padding');
  }
}

function closed(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.from([0xff, 0xd9])]);
}

function withoutTables(bytes: Buffer): Buffer {
  const at = bytes.indexOf(Buffer.from([0xff, 0xdb]));
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 2 + bytes.readUInt16BE(at + 2))]);
}

function sized(bytes: Buffer, width: number, height: number): Buffer {
  const copy = Buffer.from(bytes);
  const at = copy.indexOf(Buffer.from([0xff, 0xc0]));
  copy.writeUInt16BE(height, at + 5);
  copy.writeUInt16BE(width, at + 7);
  return copy;
}

function withLength(bytes: Buffer, length: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt32LE(length, 4);
  return copy;
}

/** Returns a BMP header, followed by bytes in place of pixels. */
function bmp(): Buffer {
  return Buffer.concat([Buffer.from('BM'), Buffer.alloc(4, 9), Buffer.alloc(60)]);
}

function animatedPng(): Buffer {
  return withBefore(png, 'IDAT', { type: 'acTL', data: Buffer.alloc(8, '\0\0\0\u0002') });
}

async function animated(): Promise<Buffer> {
  const frames = [await noise(16, 16, 1).png().toBuffer(), await noise(16, 16, 2).png().toBuffer()];
  return sharp(frames, { join: { animated: true } })
    .webp()
    .toBuffer();
}
