/** Reads the header of a zstd frame (RFC 8878, 3.1.1). */

const frameMagic = 0xfd2fb528;

/** The message follows "is a zstd file that". */
export class ZstdProblem extends Error {}

export interface ZstdFrame {
  /** Bytes of the whole header, including the magic number. */
  headerBytes: number;
  /** Bytes of memory that are needed to unpack the frame. */
  windowBytes: bigint;
  hasDictionary: boolean;
  /** True if four bytes of the content's XXH64 follow the last block. */
  hasChecksum: boolean;
}

/** Bytes of the longest header, including the magic number. */
export const maxHeaderBytes = 18;

export function isZstd(start: Buffer): boolean {
  return isFrame(start) || isSkippable(start);
}

export function isFrame(start: Buffer): boolean {
  return start.length >= 4 && start.readUInt32LE(0) === frameMagic;
}

/** True for a frame with other data, whose length is in the next four bytes. */
export function isSkippable(start: Buffer): boolean {
  return start.length >= 4 && start.readUInt32LE(0) >>> 4 === 0x184d2a5;
}

/**
 * Reads a header. `start`: at least `maxHeaderBytes` of the frame, or all. Undefined if reserved bits are set
 * or the header is cut off.
 */
export function readZstdFrame(start: Buffer): ZstdFrame | undefined {
  const descriptor = start[4];
  if (descriptor === undefined || (descriptor & 8) !== 0) return undefined;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const windowAt = 5;
  const dictionaryAt = windowAt + (isSingleSegment ? 0 : 1);
  const sizeAt = dictionaryAt + ([0, 1, 2, 4][descriptor & 3] ?? 0);
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const headerBytes = sizeAt + sizeBytes;
  if (start.length < headerBytes) return undefined;
  return {
    headerBytes,
    windowBytes: isSingleSegment ? contentSize(start, sizeAt, sizeBytes) : windowSize(start[windowAt] ?? 0),
    hasDictionary: start.subarray(dictionaryAt, sizeAt).some((byte) => byte !== 0),
    hasChecksum: (descriptor & 4) !== 0,
  };
}

function windowSize(descriptor: number): bigint {
  const base = 1n << BigInt(10 + (descriptor >> 3));
  return base + (base / 8n) * BigInt(descriptor & 7);
}

function contentSize(start: Buffer, at: number, bytes: number): bigint {
  const size = start.subarray(at, at + bytes).reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n);
  return bytes === 2 ? size + 256n : size;
}
