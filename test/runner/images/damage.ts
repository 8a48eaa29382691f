/** A PNG taken apart and put together again with one thing wrong, its checksums right. */
import { deflateSync, inflateSync } from 'node:zlib';
import { expect } from 'vitest';
import { chunk, chunksOf, pngOf } from './pictures.ts';

interface Chunk {
  type: string;
  data: Uint8Array;
}

/** Where the first chunk of a type begins. */
export function placeOf(png: Buffer, type: string): number {
  return chunksOf(png).find((found) => found.type === type)?.at ?? expect.fail(`no ${type}`);
}

/** The data of all chunks of a type, one behind the other. */
export function dataOf(png: Buffer, type: string): Buffer {
  return Buffer.concat(chunksOf(png).flatMap((found) => (found.type === type ? [found.data] : [])));
}

export function without(png: Buffer, type: string): Buffer {
  return pngOf(chunksOf(png).filter((found) => found.type !== type));
}

/** With these chunks in place of all of a type. */
export function withInstead(png: Buffer, type: string, ...instead: Chunk[]): Buffer {
  const chunks: Chunk[] = chunksOf(png);
  const at = chunks.findIndex((found) => found.type === type);
  const others = (list: Chunk[]): Chunk[] => list.filter((found) => found.type !== type);
  return pngOf([...others(chunks.slice(0, at)), ...instead, ...others(chunks.slice(at))]);
}

/** With these chunks before the first of a type. */
export function withBefore(png: Buffer, type: string, ...more: Chunk[]): Buffer {
  const at = placeOf(png, type);
  return Buffer.concat([
    png.subarray(0, at),
    ...more.map(({ type: name, data }) => chunk(name, data)),
    png.subarray(at),
  ]);
}

/** With another header: width and height are its bytes 0 to 7, then depth, colour, compression, filter, interlace. */
export function withHeader(png: Buffer, change: (header: Buffer) => void): Buffer {
  const data = Buffer.from(dataOf(png, 'IHDR'));
  change(data);
  return withInstead(png, 'IHDR', { type: 'IHDR', data });
}

export function withData(png: Buffer, ...parts: Uint8Array[]): Buffer {
  return withInstead(png, 'IDAT', ...parts.map((data) => ({ type: 'IDAT', data })));
}

/** With other rows: each is a byte that names its filter, then its pixels. */
export function withRows(png: Buffer, change: (rows: Buffer) => Uint8Array): Buffer {
  return withData(png, deflateSync(change(inflateSync(dataOf(png, 'IDAT')))));
}

/** Bytes in equal parts. */
export function parted(bytes: Buffer, count: number): Buffer[] {
  const size = Math.ceil(bytes.length / count);
  return Array.from({ length: count }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}
