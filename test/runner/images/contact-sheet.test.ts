/** A contact sheet: pictures in their places with prompts and ids below, whatever they hold. */
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { contactSheet, promptLines, sheetLabel } from '../../../src/runner/images/contact-sheet.ts';

/** Where the pictures begin. */
const top = 46;

const red = { r: 200, g: 0, b: 0 };

async function square(width: number, height: number): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: red } })
    .webp({ lossless: true })
    .toBuffer();
}

it('has a row for each eight pictures, as high as its highest', async () => {
  const flat = { label: 'flat', prompt: 'hills', thumbnail: await square(320, 160) };
  const upright = { label: 'upright', prompt: '', thumbnail: await square(160, 320) };
  const sheet = await contactSheet('my night/out', [...Array.from({ length: 8 }, () => flat), upright]);
  expect(await sharp(sheet).metadata()).toMatchObject({
    format: 'png',
    width: 1644,
    height: top + 96 + 64 + 192 + 64,
  });
  const at = await pixels(sheet);
  expect(at(12, top)).toEqual([200, 0, 0]);
  expect(at(12 + 7 * 204 + 191, top + 95)).toEqual([200, 0, 0]);
  // The upright one is in the middle of its place.
  expect(at(12, top + 188)).not.toEqual([200, 0, 0]);
  expect(at(12 + 96, top + 96 + 64)).toEqual([200, 0, 0]);
});

it('keeps the place of a picture that is not there, or is none', async () => {
  const good = { label: 'c', prompt: 'a sea', thumbnail: await square(32, 32) };
  const broken = { label: 'b', prompt: '', thumbnail: Buffer.from('no picture') };
  const at = await pixels(
    await contactSheet('out', [{ label: 'a', prompt: '', thumbnail: undefined }, broken, good]),
  );
  expect(at(100, top + 48)).toEqual(at(304, top + 48));
  // As large as it is.
  expect(at(12 + 2 * 204 + 96, top + 80)).toEqual([200, 0, 0]);
  expect(at(12 + 2 * 204 + 60, top + 80)).not.toEqual([200, 0, 0]);
});

it('is drawn whatever titles, prompts and ids hold', async () => {
  const ids = [
    '</text><script>',
    '&amp;',
    '\u0000\u001B[31m\uFFFE\uD800',
    `"'`,
    '',
    '夜'.repeat(500),
    '👩‍🚀'.repeat(90),
  ];
  const cells = ids.map((label) => ({ label, prompt: label, thumbnail: undefined }));
  const sheet = await contactSheet(ids.join(''), cells);
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

it.each([
  ['', []],
  ['a small harbour', ['a small harbour']],
  ['a small harbour with three sailing boats', ['a small harbour with three', 'sailing boats']],
  ['one\ntwo\u202E', ['one two\uFFFD']],
  [
    'a meadow with wild flowers and a windmill on a hill, two horses',
    ['a meadow with wild flowers', 'and a windmill on a hill, t…'],
  ],
  ['x'.repeat(70), ['x'.repeat(28), `${'x'.repeat(27)}…`]],
  ['夜'.repeat(20), ['夜'.repeat(14), '夜'.repeat(6)]],
  ['<b>', ['&#60;b&#62;']],
])('the prompt %j has the lines %j', (prompt, lines) => {
  expect(promptLines(prompt)).toEqual(lines);
});

async function pixels(png: Buffer): Promise<(x: number, y: number) => number[]> {
  const { data, info } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return (x, y) => [...data.subarray((y * info.width + x) * 3, (y * info.width + x) * 3 + 3)];
}
