/** Promise: plain PNGs are judged without the picture library as strictly as by it. */
import fc from 'fast-check';
import sharp from 'sharp';
import { deflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { checkPng } from '../../src/images/check-png.ts';
import { inflatePixels } from '../../src/images/inflate-pixels.ts';
import { pngOf } from './pictures.ts';

/** A PNG with honest checksums, of whatever the header and the rows say. */
const pngs = fc
  .record({
    width: fc.integer({ min: 1, max: 9 }),
    height: fc.integer({ min: 1, max: 9 }),
    depth: fc.constantFrom(1, 2, 4, 8, 8, 8, 16, 3, 0),
    colour: fc.constantFrom(0, 2, 2, 4, 6, 1, 5),
    compression: fc.constantFrom(0, 0, 0, 0, 1),
    filterMethod: fc.constantFrom(0, 0, 0, 0, 1),
    missingBytes: fc.constantFrom(0, 0, 0, 1, 2, 40),
    filters: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 9, maxLength: 9 }),
    cut: fc.constantFrom(0, 0, 0, 1, 4, 6),
    flip: fc.option(fc.nat({ max: 60 }), { freq: 3 }),
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

it('takes nothing that the library refuses, and refuses nothing else but what does not unpack to its end', async () => {
  const seen = { whole: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(pngs, async ({ png }) => {
      const checked = checkPng(png);
      if ('problem' in checked) throw new Error(`not a file with honest checksums: ${checked.problem}`);
      const ours = await inflatePixels(checked);
      if (ours === 'not-plain') return;
      seen[ours === 'whole' ? 'whole' : 'refused'] += 1;
      // The library does not look at what comes behind the data that it draws.
      if (ours !== 'whole' && ours.problem.includes('is cut or damaged')) return;
      expect(ours === 'whole').toBe(await libraryTakes(png));
    }),
    { numRuns: 1500 },
  );
  expect(seen.whole).toBeGreaterThan(20);
  expect(seen.refused).toBeGreaterThan(200);
}, 60_000);
