/** Chunks of a PNG that is whole: walking them, and putting some in (PNG specification, 5). */
import { crc32 } from 'node:zlib';
import { headerEnd } from './check-png.ts';

export interface PngChunk {
  type: string;
  data: Buffer;
}

/** In the order of the file, as far as it can be read; the data of a last one that is cut is left out. */
export function* chunksOf(png: Buffer): Generator<PngChunk> {
  for (let at = 8; at + 12 <= png.length;) {
    const length = png.readUInt32BE(at);
    const data = png.subarray(at + 8, at + 8 + length);
    if (data.length === length) yield { type: png.toString('latin1', at + 4, at + 8), data };
    at += 12 + length;
  }
}

/** Behind its header, before the pixels; all else stays as it is, bit by bit. */
export function withChunks(png: Buffer, chunks: PngChunk[]): Buffer {
  if (chunks.length === 0) return png;
  return Buffer.concat([png.subarray(0, headerEnd), ...chunks.map(framed), png.subarray(headerEnd)]);
}

function framed({ type, data }: PngChunk): Buffer {
  const chunk = Buffer.alloc(data.length + 12);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(type, 4, 'latin1');
  data.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, data.length + 8)), data.length + 8);
  return chunk;
}
