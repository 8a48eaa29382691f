/** Promise: plain PNGs are checked without the picture library as strictly as with it. */
import fc from 'fast-check';
import sharp from 'sharp';
import { deflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { checkPng } from '../../../src/runner/images/check-png.ts';
import { inflatePixels } from '../../../src/runner/images/check-picture.ts';
import { runs } from '../../fakes/tier.ts';
import { pngOf } from './pictures.ts';

/** PNGs with correct checksums and random headers and rows, including invalid ones. */
const pngs = fc
  .record({
    width: fc.integer({ min: 1, max: 9 }),
    height: fc.integer({ min: 1, max: 9 }),
    depth: fc.constantFrom(1, 2, 4, 8, 8, 8, 16, 3, 0),
    colour: fc.constantFrom(0, 2, 2, 4, 6, 1, 5),
    compression: fc.constantFrom(0, 0, 0, 0, 1),
    filterMethod: fc.constantFrom(0, 0, 0, 0, 1),
    missingBytes: fc.constantFrom(0, 0, 0, 1, 2, 40),
    // Filter 5 does not exist.
    filters: fc.array(fc.constantFrom(0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5), {
      minLength: 9,
      maxLength: 9,
    }),
    cut: fc.constantFrom(0, 0, 0, 1, 4, 6),
    flip: fc.option(fc.nat({ max: 60 }), { freq: 1 }),
    torn: fc.boolean(),
  })
  .map((facts) => ({ facts, png: made(facts) }));

interface Facts {
  width: number;
  height: number;
  depth: number;
  colour: number;
  compression: number;
  filterMethod: number;
  missingBytes: number;
  filters: number[];
  cut: number;
  flip: number | null;
  torn: boolean;
}

function made(facts: Facts): Buffer {
  const { width, height, depth, colour, compression, filterMethod } = facts;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, colour, compression, filterMethod, 0], 8);
  const samples = { 0: 1, 2: 3, 4: 2, 6: 4 }[colour] ?? 1;
  const rowBytes = 1 + Math.ceil((width * samples * depth) / 8);
  const rows = Buffer.alloc(rowBytes * height, 0x5a);
  for (let row = 0; row < height; row++) rows[row * rowBytes] = facts.filters[row] ?? 0;
  const packed = deflateSync(rows.subarray(0, Math.max(0, rows.length - facts.missingBytes)));
  const data = Buffer.from(packed.subarray(0, packed.length - facts.cut));
  if (facts.flip !== null && facts.flip < data.length) data[facts.flip] = (data[facts.flip] ?? 0) ^ 0x10;
  const half = facts.torn ? data.length >> 1 : data.length;
  return pngOf([
    { type: 'IHDR', data: header },
    { type: 'IDAT', data: data.subarray(0, half) },
    ...(facts.torn ? [{ type: 'IDAT', data: data.subarray(half) }] : []),
    { type: 'IEND', data: Buffer.alloc(0) },
  ]);
}

async function libraryTakes(png: Buffer): Promise<boolean> {
  return sharp(png, { failOn: 'warning', ignoreIcc: true })
    .extractChannel(0)
    .raw()
    .toBuffer()
    .then(
      () => true,
      () => false,
    );
}

it('accepts nothing that the library refuses, and refuses nothing else except data that does not unpack to its end', async () => {
  const numRuns = runs(1_500, { ms: 1 });
  const seen = { whole: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(pngs, async ({ png }) => {
      const checked = checkPng(png);
      if ('problem' in checked) throw new Error(`not a file with honest checksums: ${checked.problem}`);
      const ours = await inflatePixels(checked);
      if (ours === undefined) return;
      const isWhole = Buffer.isBuffer(ours);
      seen[isWhole ? 'whole' : 'refused'] += 1;
      // The library ignores data after the last row, so a rejection for that reason is not compared.
      if (!isWhole && ours.problem.includes('is cut or damaged')) return;
      expect(isWhole).toBe(await libraryTakes(png));
    }),
    { numRuns },
  );
  expect(seen.whole).toBeGreaterThan(numRuns / 75);
  expect(seen.refused).toBeGreaterThan(numRuns / 7.5);
}, 60_000);

/** Returns a PNG that is large enough to be decompressed in several steps. */
function large(filter: number, missing: number, extra: number, cut: number, pieces: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(1500, 0);
  header.writeUInt32BE(700, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.alloc((1 + 1500 * 3) * 700 + extra, 0x04);
  rows[600 * (1 + 1500 * 3)] = filter;
  const data = deflateSync(rows.subarray(0, rows.length - missing), { level: 0 });
  const kept = data.subarray(0, data.length - cut);
  const size = Math.ceil(kept.length / pieces);
  const parts = Array.from({ length: pieces }, (_, i) => kept.subarray(i * size, (i + 1) * size));
  return pngOf([
    { type: 'IHDR', data: header },
    ...parts.map((part) => ({ type: 'IDAT', data: part })),
    { type: 'IEND', data: Buffer.alloc(0) },
  ]);
}

const isDamaged = (problem: RegExp): unknown => ({ problem: expect.stringMatching(problem) as unknown });

const isWhole: unknown = expect.objectContaining({ length: (1 + 1500 * 3) * 700 });

it.each<[string, Buffer, unknown]>([
  ['whole', large(4, 0, 0, 0, 1), isWhole],
  ['whole, in many pieces', large(4, 0, 0, 0, 900), isWhole],
  ['with a filter that is none', large(5, 0, 0, 0, 900), isDamaged(/in row 600 .* no filter 5/)],
  ['too short', large(4, 1, 0, 0, 3), isDamaged(/has 3,150,699 bytes instead of 3,150,700/)],
  ['cut', large(4, 0, 0, 5, 3), isDamaged(/is cut or damaged \(unexpected end of file\)/)],
  ['cut, and with a filter that is none', large(5, 0, 0, 500, 3), isDamaged(/unexpected end of file/)],
  ['too long', large(4, 0, 1, 0, 900), undefined],
])('judges a large PNG that is %s by all of it', async (_, png, expected) => {
  const checked = checkPng(png);
  if ('problem' in checked) throw new Error(checked.problem);
  expect(await inflatePixels(checked)).toEqual(expected);
});
