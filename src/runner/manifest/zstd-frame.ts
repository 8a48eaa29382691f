/** What the header of a zstd frame says (RFC 8878, 3.1.1). */

const frameMagic = 0xfd2fb528;

/** What is wrong, in words that follow "is a zstd file that". */
export class ZstdProblem extends Error {}

export interface ZstdFrame {
  /** Of the whole header, with the magic number. */
  headerBytes: number;
  /** What unpacking it keeps in memory. */
  windowBytes: bigint;
  hasDictionary: boolean;
  /** Whether four bytes of XXH64 of what was packed follow the last block. */
  hasChecksum: boolean;
}

/** The longest header, with the magic number. */
export const maxHeaderBytes = 18;

/** By the first four bytes. */
export function isZstd(start: Buffer): boolean {
  return isFrame(start) || isSkippable(start);
}

export function isFrame(start: Buffer): boolean {
  return start.length >= 4 && start.readUInt32LE(0) === frameMagic;
}

/** A frame of something else, which says in the next four bytes how long it is. */
export function isSkippable(start: Buffer): boolean {
  return start.length >= 4 && start.readUInt32LE(0) >>> 4 === 0x184d2a5;
}

/** `start` holds at least `maxHeaderBytes` of the frame, or all that there are. Undefined for reserved bits and a cut header. */
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
