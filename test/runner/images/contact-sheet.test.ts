/** A contact sheet: pictures in their places with ids below, whatever the ids hold. */
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { contactSheet } from '../../../src/runner/images/contact-sheet.ts';
import { sheetLabel } from '../../../src/runner/images/contact-sheet.ts';

const red = { r: 200, g: 0, b: 0 };

async function square(width: number, height: number): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: red } })
    .webp({ lossless: true })
    .toBuffer();
}

it('has a row for each eight pictures, as high as its highest', async () => {
  const flat = { label: 'flat', thumbnail: await square(320, 160) };
  const upright = { label: 'upright', thumbnail: await square(160, 320) };
  const sheet = await contactSheet([...Array.from({ length: 8 }, () => flat), upright]);
  expect(await sharp(sheet).metadata()).toMatchObject({
    format: 'png',
    width: 1644,
    height: 12 + 96 + 34 + 192 + 34,
  });
  const at = await pixels(sheet);
  expect(at(12, 12)).toEqual([200, 0, 0]);
  expect(at(12 + 7 * 204 + 191, 12 + 95)).toEqual([200, 0, 0]);
  // The upright one is in the middle of its place.
  expect(at(12, 200)).not.toEqual([200, 0, 0]);
  expect(at(12 + 96, 142)).toEqual([200, 0, 0]);
});

it('keeps the place of a picture that is not there, or is none', async () => {
  const good = { label: 'c', thumbnail: await square(32, 32) };
  const broken = { label: 'b', thumbnail: Buffer.from('no picture') };
  const at = await pixels(await contactSheet([{ label: 'a', thumbnail: undefined }, broken, good]));
  expect(at(100, 60)).toEqual(at(304, 60));
  // As large as it is.
  expect(at(12 + 2 * 204 + 96, 12 + 80)).toEqual([200, 0, 0]);
  expect(at(12 + 2 * 204 + 60, 12 + 80)).not.toEqual([200, 0, 0]);
});

it('is drawn whatever ids hold', async () => {
  const ids = [
    '</text><script>',
    '&amp;',
    '\u0000\u001B[31m\uFFFE\uD800',
    `"'`,
    '',
    '夜'.repeat(500),
    '👩‍🚀'.repeat(90),
  ];
  const sheet = await contactSheet(ids.map((label) => ({ label, thumbnail: undefined })));
  expect(await sharp(sheet).metadata()).toMatchObject({ width: 1644 });
});

describe('sheetLabel', () => {
  it.each([
    ['harbour-2', 'harbour-2'],
    ['<b>&"', '&#60;b&#62;&#38;&#34;'],
    ['a\u001B[2J\u202Eb', 'a\uFFFD[2J\uFFFDb'],
    ['harbour-steps-30-sampler-euler-seed-12', 'harbour-steps…euler-seed-12'],
    ['夜の港の灯台と雪の山々と深い森', '夜の港の灯台…山々と深い森'],
    ['x'.repeat(28), 'x'.repeat(28)],
    [`${'a'.repeat(5000)}end`, `${'a'.repeat(13)}…${'a'.repeat(10)}end`],
  ])('%j', (id, expected) => {
    expect(sheetLabel(id)).toBe(expected);
  });
});

async function pixels(png: Buffer): Promise<(x: number, y: number) => number[]> {
  const { data, info } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return (x, y) => [...data.subarray((y * info.width + x) * 3, (y * info.width + x) * 3 + 3)];
}
