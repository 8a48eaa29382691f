/** Takes a PNG apart and rebuilds it with one error and valid checksums. */
import { deflateSync, inflateSync } from 'node:zlib';
import { expect } from 'vitest';
import { chunk, chunksOf, pngOf } from './pictures.ts';

interface Chunk {
  type: string;
  data: Uint8Array;
}

/** Returns the offset of the first chunk of a type. */
export function placeOf(png: Buffer, type: string): number {
  return chunksOf(png).find((found) => found.type === type)?.at ?? expect.fail(`no ${type}`);
}

/** Returns the data of all chunks of a type, concatenated. */
export function dataOf(png: Buffer, type: string): Buffer {
  return Buffer.concat(chunksOf(png).flatMap((found) => (found.type === type ? [found.data] : [])));
}

export function without(png: Buffer, type: string): Buffer {
  return pngOf(chunksOf(png).filter((found) => found.type !== type));
}

/** Replaces all chunks of a type with these. */
export function withInstead(png: Buffer, type: string, ...instead: Chunk[]): Buffer {
  const chunks: Chunk[] = chunksOf(png);
  const at = chunks.findIndex((found) => found.type === type);
  const others = (list: Chunk[]): Chunk[] => list.filter((found) => found.type !== type);
  return pngOf([...others(chunks.slice(0, at)), ...instead, ...others(chunks.slice(at))]);
}

/** Inserts these chunks before the first one of a type. */
export function withBefore(png: Buffer, type: string, ...more: Chunk[]): Buffer {
  const at = placeOf(png, type);
  return Buffer.concat([
    png.subarray(0, at),
    ...more.map(({ type: name, data }) => chunk(name, data)),
    png.subarray(at),
  ]);
}

/**
 * Changes the header. Width and height are its bytes 0 to 7, followed by depth, colour type, compression,
 * filter and interlace.
 */
export function withHeader(png: Buffer, change: (header: Buffer) => void): Buffer {
  const data = Buffer.from(dataOf(png, 'IHDR'));
  change(data);
  return withInstead(png, 'IHDR', { type: 'IHDR', data });
}

export function withData(png: Buffer, ...parts: Uint8Array[]): Buffer {
  return withInstead(png, 'IDAT', ...parts.map((data) => ({ type: 'IDAT', data })));
}

/** Changes the rows. Each row is a byte that names its filter, followed by its pixels. */
export function withRows(png: Buffer, change: (rows: Buffer) => Uint8Array): Buffer {
  return withData(png, deflateSync(change(inflateSync(dataOf(png, 'IDAT')))));
}

/** Splits bytes into `count` parts of equal length. */
export function parted(bytes: Buffer, count: number): Buffer[] {
  const size = Math.ceil(bytes.length / count);
  return Array.from({ length: count }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}
