/** Unpacks the pixel data of plain PNGs: at half the cost of decoding them, and of a small one at a twentieth. */
import { inflate, inflateSync } from 'node:zlib';
import { promisify } from 'node:util';
import type { WholePng } from './check-png.ts';

/** Samples a pixel by colour type: grey, RGB, grey with alpha, RGB with alpha. */
const samples: Readonly<Record<number, number>> = { 0: 1, 2: 3, 4: 2, 6: 4 };
/** Bits a sample that each of them may have (PNG specification, 11.2.1). */
const depths: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  4: [8, 16],
  6: [8, 16],
};
/** None, Sub, Up, Average, Paeth: the filter that begins each row. */
const highestFilter = 4;
/** Larger pictures go through the picture library, which holds a few rows of them in memory at a time. */
const maxBytes = 8 * 1024 * 1024;
/** Smaller ones are not worth the way to another thread and back. */
const fewBytes = 256 * 1024;

const inflateElsewhere = promisify(inflate);

/**
 * Every row of the picture, a filter and its samples, or why some are missing or cannot be drawn. Unpacking is all that
 * can fail: undoing a row's filter is arithmetic that takes any bytes. Undefined where it takes more to tell (palettes,
 * transparent colours, interlaced or large pictures).
 */
export async function inflatePixels({
  header,
  pixelData,
  isPlain,
}: WholePng): Promise<Buffer | { problem: string } | undefined> {
  const [depth = 0, colour = 0, compression, filter, interlace] = header.subarray(8);
  const perPixel = samples[colour];
  if (!isPlain || perPixel === undefined || interlace !== 0) return undefined;
  if (compression !== 0 || filter !== 0 || !depths[colour]?.includes(depth))
    return { problem: 'it is damaged: its header (IHDR) is invalid' };
  const width = header.readUInt32BE(0);
  const height = header.readUInt32BE(4);
  const rowBytes = 1 + Math.ceil((width * perPixel * depth) / 8);
  const size = rowBytes * height;
  if (width === 0 || height === 0 || size > maxBytes) return undefined;
  try {
    // In one piece of work; nothing beyond the rows is kept.
    const options = { chunkSize: Math.max(64, size + 1), maxOutputLength: size };
    const packed = Buffer.concat(pixelData);
    const rows = size <= fewBytes ? inflateSync(packed, options) : await inflateElsewhere(packed, options);
    const problem = problemIn(rows, rowBytes, height);
    return problem === undefined ? rows : { problem };
  } catch (error) {
    // Excess data is harmless: the picture library decides.
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined;
    return { problem: `its pixel data is cut or damaged (${(error as Error).message})` };
  }
}

/**
 * Whether it costs next to nothing: it is then worth it also where all pixels are decoded, since decoders do not look at
 * what comes behind the last row.
 */
export function isUnpackedSoon({ header, width, height }: WholePng): boolean {
  const [depth = 0, colour = 0] = header.subarray(8);
  return (width * height * (samples[colour] ?? 1) * depth) / 8 <= fewBytes;
}

function problemIn(rows: Buffer, rowBytes: number, height: number): string | undefined {
  const size = rowBytes * height;
  if (rows.length < size)
    return `it is damaged: its pixel data has ${rows.length.toLocaleString('en')} bytes instead of ${size.toLocaleString('en')}`;
  for (let row = 0; row < height; row += 1) {
    const filter = rows[row * rowBytes] ?? 0;
    if (filter > highestFilter)
      return `it is damaged in row ${row} of its pixel data: there is no filter ${filter}`;
  }
  return undefined;
}
