/** Checks a PNG: its chunks, because decoders ignore a missing end and wrong checksums, and whether it is blank. */
import { crc32 } from 'node:zlib';
import type { Unusable } from './decoding.ts';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Length, type and checksum around a chunk's data. */
const frameBytes = 12;

/** Maximum size of a packed colour profile. A larger one may unpack to a thousand times its size. */
const fewProfileBytes = 16_000;

/** Offset of the end of the header (IHDR), which is always the first chunk. */
export const headerEnd = 33;

export interface WholePng {
  /** Pixels, as the file declares them. */
  width: number;
  height: number;
  /** File without the chunks that do not affect its pixels. The whole PNG if none of these chunks is compressed. */
  bare: Buffer;
  /** Size of the PNG in bytes, without the fill behind its end. */
  bytes: number;
  /** Chunk of the colour profile (iCCP). Undefined if it is missing, or too large to unpack safely. */
  profile: Buffer | undefined;
  /** Data of the header chunk (IHDR). `pixelData` is the data of the IDAT chunks, still compressed. */
  header: Buffer;
  pixelData: Buffer[];
  /** True if no other chunk affects how the pixels are decoded, such as a palette. */
  isPlain: boolean;
}

export function isPng(bytes: Buffer): boolean {
  return bytes.subarray(0, signature.length).equals(signature);
}

/** Returns the size of the file without line ends, spaces and NULs at its end. Some workers and stores add these. */
export function bytesWithoutFill(file: Buffer): number {
  let end = file.length;
  while (end > 0 && fill.includes(file[end - 1] ?? 1)) end -= 1;
  return end;
}

const fill = Buffer.from('\0 \r\n');
/** Checksum of the chunk (IEND) that ends every PNG. */
const endChecksum = Buffer.from('ae426082', 'hex');

/** Returns the parts of a sound PNG, or what is wrong with the file. */
export function checkPng(file: Buffer): WholePng | Unusable {
  const bytes = bytesWithoutFill(file);
  const png = file.subarray(0, bytes).subarray(-endChecksum.length).equals(endChecksum)
    ? file.subarray(0, bytes)
    : file;
  if (!isPng(png)) return { problem: 'its PNG signature is damaged' };
  const types: string[] = [];
  const needed: Uint8Array[] = [signature];
  const pixelData: Buffer[] = [];
  let profile: Buffer | undefined;
  for (let at = signature.length; at < png.length;) {
    const chunk = readChunk(png, at);
    if ('problem' in chunk) return chunk;
    const problem = misplaced(chunk, types);
    if (problem !== undefined) return { problem };
    // Decoders read only the first frame, so damage in the other frames would stay undetected.
    if (chunk.type === 'acTL') return animation;
    types.push(chunk.type);
    const end = at + frameBytes + chunk.data.length;
    if (isNeeded(chunk.type)) needed.push(png.subarray(at, end));
    if (chunk.type === 'IDAT') pixelData.push(chunk.data);
    if (chunk.type === 'iCCP' && chunk.data.length <= fewProfileBytes) profile = png.subarray(at, end);
    at = end;
  }
  if (types.at(-1) !== 'IEND') return { problem: 'it is cut: the end mark (IEND) is missing' };
  if (!types.includes('IDAT')) return { problem: 'it holds no picture data (IDAT)' };
  // The header is the first chunk, so its offset is fixed.
  const header = png.subarray(16, 29);
  const size = { width: header.readUInt32BE(0), height: header.readUInt32BE(4) };
  const isPlain = types.every((type) => plainTypes.has(type) || !isNeeded(type));
  return {
    ...size,
    bytes: png.length,
    header,
    pixelData,
    profile,
    isPlain,
    bare: types.some(isCompressed) ? Buffer.concat(needed) : png,
  };
}

const animation: Unusable = {
  problem: 'it is an animation (APNG): let the worker send its frames as pictures',
  isUnsupported: true,
};

const plainTypes: ReadonlySet<string> = new Set(['IHDR', 'IDAT', 'IEND']);

/** True for chunks that no decoder may ignore (their types begin with a capital letter), and for transparency. */
function isNeeded(type: string): boolean {
  return /^[A-Z]/.test(type) || type === 'tRNS';
}

/** True for texts and profiles that decoders always unpack, to up to a thousand times their size. */
function isCompressed(type: string): boolean {
  return type === 'zTXt' || type === 'iTXt' || type === 'iCCP';
}

interface Chunk {
  type: string;
  data: Buffer;
}

function readChunk(png: Buffer, at: number): Chunk | { problem: string } {
  const left = png.length - at;
  const length = left < frameBytes ? 0 : png.readUInt32BE(at);
  if (left < frameBytes || length > left - frameBytes)
    return { problem: `it is cut: a chunk at byte ${at} is longer than the file` };
  const type = png.toString('latin1', at + 4, at + 8);
  if (!/^[A-Za-z]{4}$/.test(type)) return { problem: `it is damaged: no chunk begins at byte ${at}` };
  const end = at + 8 + length;
  if (crc32(png.subarray(at + 4, end)) !== png.readUInt32BE(end))
    return { problem: `it is damaged: the checksum of its chunk ${type} at byte ${at} is wrong` };
  return { type, data: png.subarray(at + 8, end) };
}

function misplaced({ type, data }: Chunk, before: readonly string[]): string | undefined {
  const last = before.at(-1);
  if ((last === undefined) !== (type === 'IHDR')) {
    return last === undefined ? 'it does not begin with its header (IHDR)' : 'it has two headers (IHDR)';
  }
  if (last === 'IEND') return 'something follows its end (IEND)';
  if (type === 'IHDR' && data.length !== 13) return 'its header (IHDR) has a wrong length';
  if (type === 'IEND' && data.length !== 0) return 'its end mark (IEND) is not empty';
  if (type === 'IDAT' && last !== 'IDAT' && before.includes('IDAT')) return 'its picture data is torn apart';
  return undefined;
}

/** Returns why a picture counts as blank, or undefined. `pixels` has 8 bits per channel, with alpha last. */
export function blankness(pixels: Uint8Array, channels: number): string | undefined {
  const isWithAlpha = channels % 2 === 0;
  if (isWithAlpha && isWithin(pixels, channels - 1, channels, 0)) return 'it is fully transparent';
  for (let channel = 0; channel < channels; channel += 1) {
    if (!isEven(pixels, channel, channels)) return undefined;
  }
  return `it has only one colour (${colourOf(pixels, channels)})`;
}

/**
 * Maximum difference of values in a channel that count as one colour. Lossless formats and JPEG keep one colour
 * exactly. Lossy WebP spreads greys by up to 4 of 255 at quality 50 and above, and any colour by up to 7 at quality 80
 * and above. The eye sees one colour.
 */
const tolerance = 8;

/** True if all values of a channel are nearly equal. Stops at the first that differs, which usually comes early. */
function isEven(pixels: Uint8Array, channel: number, channels: number): boolean {
  let least = 255;
  let most = 0;
  for (let at = channel; at < pixels.length; at += channels) {
    const value = pixels[at] ?? 0;
    if (value < least) least = value;
    if (value > most) most = value;
    if (most - least > tolerance) return false;
  }
  return true;
}

function isWithin(pixels: Uint8Array, channel: number, channels: number, least: number): boolean {
  for (let at = channel; at < pixels.length; at += channels) {
    if ((pixels[at] ?? 0) > least + tolerance) return false;
  }
  return true;
}

function colourOf(pixels: Uint8Array, channels: number): string {
  const [first = 0, second = 0, third = 0] = pixels;
  const rgb = channels < 3 ? [first, first, first] : [first, second, third];
  return `#${rgb.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}
