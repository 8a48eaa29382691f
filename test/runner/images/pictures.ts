/** Makes real pictures for tests, and damages them. */
import { crc32 } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';

/** Returns pixels that do not compress. The same seed gives the same pixels. */
export function noise(width: number, height: number, seed = 1): Sharp {
  const pixels = Buffer.alloc(width * height * 3);
  let state = seed;
  for (let i = 0; i < pixels.length; i += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    pixels[i] = state >>> 24;
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}

export function chunk(type: string, data: Uint8Array = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/** Returns the chunks of a PNG without its signature. */
export function chunksOf(png: Buffer): { type: string; data: Buffer; at: number }[] {
  const chunks = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    chunks.push({
      type: png.toString('latin1', at + 4, at + 8),
      data: png.subarray(at + 8, at + 8 + length),
      at,
    });
    at += 12 + length;
  }
  return chunks;
}

export function pngOf(chunks: { type: string; data: Uint8Array }[]): Buffer {
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([signature, ...chunks.map(({ type, data }) => chunk(type, data))]);
}

/** Returns a copy with one byte changed. */
export function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 0x55;
  return copy;
}
