/** Bytes of a file or buffer that are read piece by piece, because a clip may be too large for memory. */
import type { FileHandle } from 'node:fs/promises';

export interface ByteSource {
  /** Size in bytes. */
  length: number;
  /** Returns the bytes from `at`. There are fewer than `length` if the source ends before. */
  read(at: number, length: number): Promise<Buffer>;
}

export function sourceOfBytes(bytes: Buffer): ByteSource {
  return { length: bytes.length, read: async (at, length) => bytes.subarray(at, at + length) };
}

/** Returns the bytes of an open file. The caller closes it. */
export function sourceOfFile(file: FileHandle, length: number): ByteSource {
  return {
    length,
    read: async (at, wanted) => {
      const buffer = Buffer.alloc(Math.max(0, Math.min(wanted, length - at)));
      let done = 0;
      while (done < buffer.length) {
        const { bytesRead } = await file.read(buffer, done, buffer.length - done, at + done);
        if (bytesRead === 0) break;
        done += bytesRead;
      }
      return buffer.subarray(0, done);
    },
  };
}

/** Problem of a clip. Its message is in words such as "it is cut: …". */
export class ClipProblem extends Error {}

/**
 * Maximum number of parts (boxes, elements, pages or frames) of a clip, so that the check of any file ends soon. Large
 * files may have more: one for each 256 bytes.
 */
const maxParts = 500_000;

/** Bytes that are read at once. A page of Ogg, which has at most 65,307 bytes, must fit. */
const pieceBytes = 131_072;

/** NUL, space and line ends: bytes that may be around a clip. */
export const fillBytes = Buffer.from('\0 \r\n');
/** Maximum number of bytes that may follow the end of a clip, if they are line ends, spaces and NULs. */
const maxFillBytes = 65_536;

/** Reads a source forward, with one piece of it in memory. */
export class ClipReader {
  readonly length: number;
  readonly #source: ByteSource;
  #piece: Buffer = Buffer.alloc(0);
  #start = 0;
  #parts = 0;

  constructor(source: ByteSource) {
    this.#source = source;
    this.length = source.length;
  }

  /** Returns at most 128 KiB. Throws `ClipProblem` if the file ends before. */
  async bytes(at: number, length: number): Promise<Buffer> {
    const from = at - this.#start;
    if (from >= 0 && from + length <= this.#piece.length) return this.#piece.subarray(from, from + length);
    if (at + length > this.length) throw new ClipProblem('it is cut: its end is missing');
    this.#piece = await this.#source.read(at, Math.min(pieceBytes, this.length - at));
    this.#start = at;
    if (this.#piece.length < length) throw new ClipProblem('it is cut: its end cannot be read');
    return this.#piece.subarray(0, length);
  }

  /** Returns the bytes from `at` to the end of a piece that is in memory: at least one. */
  async piece(at: number): Promise<Buffer> {
    await this.bytes(at, 1);
    return this.#piece.subarray(at - this.#start);
  }

  /** Returns another reader of the same source, for a second place that is read at the same time. */
  beside(): ClipReader {
    return new ClipReader(this.#source);
  }

  /** Counts a part of the clip. Throws `ClipProblem` if there are too many. */
  countPart(): void {
    this.#parts += 1;
    if (this.#parts > maxParts + this.length / 256)
      throw new ClipProblem('it has so many parts for its size that it cannot be checked');
  }

  /** True if only line ends, spaces and NULs are between `at` and the end. Some workers add these. */
  async isFill(at: number, end = this.length): Promise<boolean> {
    if (end - at > maxFillBytes) return false;
    const rest = await this.bytes(at, end - at);
    return rest.every((byte) => fillBytes.includes(byte));
  }
}
