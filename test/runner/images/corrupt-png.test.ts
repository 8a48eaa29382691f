/** Promise: a damaged PNG never gets a final name. Each class of damage has a test. */
import { beforeAll, describe, expect, test } from 'vitest';
import { memoryPlace } from '../../fakes/memory-place.ts';
import { createImageStore } from '../../../src/runner/images/image-store.ts';
import {
  dataOf,
  parted,
  placeOf,
  withBefore,
  withData,
  withHeader,
  withInstead,
  without,
  withRows,
} from './damage.ts';
import { chunk, chunksOf, flipped, noise, pngOf } from './pictures.ts';
import { expectNoFile } from './store.ts';

let png: Buffer;
let interlaced: Buffer;
let deep: Buffer;
let palette: Buffer;

beforeAll(async () => {
  png = await noise(64, 48).png().toBuffer();
  interlaced = await noise(64, 48).png({ progressive: true }).toBuffer();
  deep = await noise(64, 48).toColourspace('rgb16').png().toBuffer();
  palette = await noise(64, 48).png({ palette: true }).toBuffer();
});

type Case = [what: string, make: () => Buffer, reason: RegExp];

const cuts: Case[] = [
  ...[0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99].map((share): Case => [
    `cut at ${share * 100} %`,
    () => png.subarray(0, png.length * share),
    /cut/,
  ]),
  ['cut by one byte', () => png.subarray(0, -1), /cut/],
  ['cut behind its signature', () => png.subarray(0, 8), /cut/],
  ['cut between two chunks', () => png.subarray(0, placeOf(png, 'IDAT')), /cut/],
  ['without its end', () => png.subarray(0, -12), /cut.*IEND/],
  [
    'whose end mark is not empty',
    () => withInstead(png, 'IEND', { type: 'IEND', data: Buffer.of(1) }),
    /IEND/,
  ],
  ['with a chunk longer than the file', () => withLength(placeOf(png, 'IDAT'), 0x7f_ff_ff_ff), /longer/],
];

const bytes: Case[] = [
  [
    'with a flipped byte in its data',
    () => flipped(png, placeOf(png, 'IDAT') + 200),
    /checksum of its chunk IDAT/,
  ],
  ['with a flipped checksum', () => flipped(png, png.length - 1), /checksum of its chunk IEND/],
  ['with a flipped header', () => flipped(png, 19), /checksum of its chunk IHDR/],
  ['with zeros in the middle', () => Buffer.from(png).fill(0, 2000, 4000), /checksum|no chunk begins/],
  ['whose second half is zeros', () => Buffer.from(png).fill(0, png.length >> 1), /checksum|no chunk begins/],
  ['with a wrong signature', () => flipped(png, 5), /signature/],
  ['whose line ends were converted', () => asText(png, (text) => text.replaceAll('\r\n', '\n')), /signature/],
  ['whose high bits were cleared', () => png.map((byte) => byte & 0x7f) as Buffer, /not a picture/],
  ['that was read as UTF-8', () => Buffer.from(png.toString('utf8')), /not a picture/],
  ['that was written as UTF-8', () => Buffer.from(png.toString('latin1'), 'utf8'), /not a picture/],
  ['behind a byte order mark', () => Buffer.concat([Buffer.from('\uFEFF'), png]), /not a picture/],
  ['with garbage behind its end', () => Buffer.concat([png, Buffer.from('garbage!')]), /cut|behind/],
  ['with a chunk behind its end', () => Buffer.concat([png, chunk('tEXt')]), /follows its end/],
  ['with two ends', () => Buffer.concat([png, chunk('IEND')]), /follows its end/],
  ['that is two PNGs in one', () => Buffer.concat([png, png]), /cut|damaged|behind/],
];

const structure: Case[] = [
  ['without a header', () => without(png, 'IHDR'), /IHDR/],
  ['with two headers', () => pngOf([...chunksOf(png).slice(0, 1), ...chunksOf(png)]), /two headers/],
  [
    'with a header that is too short',
    () => withInstead(png, 'IHDR', { type: 'IHDR', data: Buffer.alloc(12) }),
    /wrong length/,
  ],
  [
    'with something before its header',
    () => withBefore(png, 'IHDR', { type: 'CgBI', data: Buffer.alloc(4) }),
    /begin with its header/,
  ],
  ['without picture data', () => without(png, 'IDAT'), /IDAT/],
  ['with empty picture data', () => withData(png, Buffer.alloc(0)), /damaged/],
  ['whose data is torn apart', () => torn(), /torn apart/],
  [
    'whose data is in the wrong order',
    () => withData(png, ...parted(dataOf(png, 'IDAT'), 3).toReversed()),
    /damaged/,
  ],
  [
    'whose data lacks a part',
    () => withData(png, ...parted(dataOf(png, 'IDAT'), 3).toSpliced(1, 1)),
    /damaged/,
  ],
  [
    'whose data comes twice',
    () => withData(png, ...parted(dataOf(png, 'IDAT'), 2).flatMap((part) => [part, part])),
    /damaged/,
  ],
  [
    'with an unknown chunk that no decoder may pass over',
    () => withBefore(png, 'IDAT', { type: 'ABCD', data: Buffer.alloc(4) }),
    /damaged/,
  ],
  ['that lacks the palette it speaks of', () => without(palette, 'PLTE'), /damaged/],
  [
    'with its palette behind the data',
    () =>
      pngOf([
        ...chunksOf(without(palette, 'PLTE')).slice(0, -1),
        { type: 'PLTE', data: dataOf(palette, 'PLTE') },
        { type: 'IEND', data: Buffer.alloc(0) },
      ]),
    /damaged/,
  ],
  [
    'with a palette cut within a colour',
    () => withInstead(palette, 'PLTE', { type: 'PLTE', data: dataOf(palette, 'PLTE').subarray(0, 31) }),
    /damaged/,
  ],
];

const pixels: Case[] = [
  ['whose data is not compressed', () => withData(png, Buffer.alloc(500, 7)), /damaged/],
  ['whose data ends early', () => withData(png, dataOf(png, 'IDAT').subarray(0, 3000)), /damaged/],
  ['whose data lacks its checksum', () => withData(png, dataOf(png, 'IDAT').subarray(0, -4)), /damaged/],
  [
    'whose data has a wrong checksum of its own',
    () => withData(png, flipped(dataOf(png, 'IDAT'), dataOf(png, 'IDAT').length - 1)),
    /damaged/,
  ],
  ['that lacks its last row', () => withRows(png, (rows) => rows.subarray(0, -193)), /damaged/],
  ['that lacks its last byte', () => withRows(png, (rows) => rows.subarray(0, -1)), /damaged/],
  ['with a row of an unknown filter', () => withRows(png, (rows) => flipped(rows, 193 * 20)), /damaged/],
  [
    'interlaced that ends early',
    () => withRows(interlaced, (rows) => rows.subarray(0, rows.length / 2)),
    /damaged/,
  ],
  [
    'interlaced that lacks its last byte',
    () => withRows(interlaced, (rows) => rows.subarray(0, -1)),
    /damaged/,
  ],
  [
    'interlaced whose data ends early',
    () => withData(interlaced, dataOf(interlaced, 'IDAT').subarray(0, 3000)),
    /damaged/,
  ],
  ['interlaced that says it is not', () => withHeader(interlaced, (header) => (header[12] = 0)), /damaged/],
  ['that says it is interlaced', () => withHeader(png, (header) => (header[12] = 1)), /damaged/],
  [
    'of 16 bits that ends early',
    () => withRows(deep, (rows) => rows.subarray(0, rows.length / 2)),
    /damaged/,
  ],
  ['of 16 bits that says 8', () => withHeader(deep, (header) => (header[8] = 8)), /damaged/],
  ['that says it has 16 bits', () => withHeader(png, (header) => (header[8] = 16)), /damaged/],
  ['of a depth that is none', () => withHeader(png, (header) => (header[8] = 3)), /damaged/],
  ['of a kind of colour that is none', () => withHeader(png, (header) => (header[9] = 5)), /damaged/],
  ['that says it is grey', () => withHeader(png, (header) => (header[9] = 0)), /damaged/],
  ['that says it has transparency', () => withHeader(png, (header) => (header[9] = 6)), /damaged/],
  ['of an unknown compression', () => withHeader(png, (header) => (header[10] = 1)), /damaged/],
  ['that says it is taller than it is', () => sized(64, 4800), /damaged/],
  ['that says it is taller by one row', () => sized(64, 49), /damaged/],
  ['that says it is wider than it is', () => sized(6400, 48), /damaged/],
  ['that says it is narrower than it is', () => sized(32, 48), /damaged/],
  ['of no pixels', () => sized(0, 48), /damaged/],
];

describe('no file comes of a PNG', () => {
  test.each([...cuts, ...bytes, ...structure, ...pixels])('%s', async (_what, make, reason) => {
    await expectNoFile(make().toString('base64'), reason);
  });

  test.each([50_000, 0xff_ff_ff_ff])(
    'that is said to be %d pixels wide and high, and no second job is paid for',
    async (side) => {
      const reason = /pixels, more than the limit .*: raise `limits.pixels`/;
      await expectNoFile(sized(side, side).toString('base64'), reason, 'too-many-pixels');
    },
  );

  test.each(['IHDR', 'gAMA', 'PLTE', 'tRNS', 'tEXt', 'IDAT', 'tIME', 'IEND'])(
    'with a wrong checksum of its chunk %s',
    async (type) => {
      const rich = withEveryChunk();
      expect(await check(rich)).toHaveProperty('content');
      const end = placeOf(rich, type) + 12 + rich.readUInt32BE(placeOf(rich, type));
      const reason = new RegExp(`checksum of its chunk ${type} at byte`);
      await expectNoFile(flipped(rich, end - 1).toString('base64'), reason);
    },
  );

  test.each(['plain', 'interlaced', '16 bit', 'palette', 'grey'])(
    'that is %s, cut anywhere or with any byte flipped',
    async (kind) => {
      const image = noise(9, 7);
      const made = {
        plain: image.png(),
        interlaced: image.png({ progressive: true }),
        '16 bit': image.toColourspace('rgb16').png(),
        palette: image.png({ palette: true }),
        grey: image.toColourspace('b-w').png(),
      }[kind];
      const small = (await made?.toBuffer()) ?? expect.fail();
      const passed = [];
      for (let i = 0; i < small.length; i += 1) {
        if ('content' in (await check(small.subarray(0, i)))) passed.push(`cut at ${i}`);
        if ('content' in (await check(flipped(small, i)))) passed.push(`flipped at ${i}`);
      }
      expect(passed).toEqual([]);
    },
  );
});

function check(candidate: Buffer) {
  return createImageStore(memoryPlace()).check({ base64: candidate.toString('base64') });
}

function asText(candidate: Buffer, change: (text: string) => string): Buffer {
  return Buffer.from(change(candidate.toString('latin1')), 'latin1');
}

function sized(width: number, height: number): Buffer {
  return withHeader(png, (header) => {
    header.writeUInt32BE(width, 0);
    header.writeUInt32BE(height, 4);
  });
}

function withLength(chunkAt: number, length: number): Buffer {
  const copy = Buffer.from(png);
  copy.writeUInt32BE(length, chunkAt);
  return copy;
}

function torn(): Buffer {
  const [one, other] = parted(dataOf(png, 'IDAT'), 2).map((data) => ({ type: 'IDAT', data }));
  const text = { type: 'tEXt', data: Buffer.from('a\0b') };
  return withInstead(png, 'IDAT', one ?? expect.fail(), text, other ?? expect.fail());
}

function withEveryChunk(): Buffer {
  const early = [
    { type: 'tEXt', data: Buffer.from('Software\0night') },
    { type: 'tRNS', data: Buffer.from([0, 128]) },
  ];
  const gamma = { type: 'gAMA', data: Buffer.from([0, 0, 0xb1, 0x8f]) };
  const time = { type: 'tIME', data: Buffer.from([0x07, 0xea, 1, 1, 0, 0, 0]) };
  const bare = without(palette, 'tRNS');
  return withBefore(withBefore(withBefore(bare, 'PLTE', gamma), 'IDAT', ...early), 'IEND', time);
}
