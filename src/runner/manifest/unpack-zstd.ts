/** Unpacks zstd block by block, and checks every frame against its checksum. */
import { Decompress } from 'fzstd';
import xxhash from 'xxhash-wasm';

/** Maximum window, as in the zstd program without `--long`. */
const maxWindowBytes = 128n * 1024n * 1024n;

/**
 * Yields the contents of the frames one after another. Only one block at a time is unpacked, so that a
 * decompression bomb fills no memory. Throws `ZstdProblem` if the bytes are damaged or incomplete, or need
 * too much memory.
 */
export async function* unpackZstd(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { create64 } = await xxhash();
  const input = new Input(bytes);
  while ((await input.peek(1)).length > 0) {
    const start = await input.peek(maxHeaderBytes);
    if (isSkippable(start)) {
      if (start.length < 8) throw cut();
      await input.skip(8 + start.readUInt32LE(4));
    } else {
      yield* unpackFrame(input, frameOf(start), create64());
    }
  }
}

function frameOf(start: Buffer): ZstdFrame {
  if (!isFrame(start)) throw new ZstdProblem('is damaged or truncated (invalid frame)');
  const frame = readZstdFrame(start);
  if (frame === undefined) throw new ZstdProblem('is damaged or truncated (invalid frame header)');
  if (frame.hasDictionary) throw new ZstdProblem('needs a dictionary; compress it without one');
  if (frame.windowBytes > maxWindowBytes) {
    const mebibytes = frame.windowBytes / (1024n * 1024n);
    throw new ZstdProblem(
      `needs a window of ${mebibytes} MiB, more than the supported 128; compress it without --long or --ultra`,
    );
  }
  return frame;
}

type Hash = ReturnType<Awaited<ReturnType<typeof xxhash>>['create64']>;

async function* unpackFrame(
  input: Input,
  { headerBytes, hasChecksum }: ZstdFrame,
  hash: Hash,
): AsyncGenerator<Buffer> {
  let unpacked: Buffer[] = [];
  const unpacker = new Decompress((data) => void unpacked.push(Buffer.from(data)));
  const header = Buffer.from(await input.take(headerBytes));
  // Clears the checksum flag, because the checksum is verified here and the unpacker skips it.
  header[4] = (header[4] ?? 0) & ~4;
  push(unpacker, header, false);
  for (let isLast = false; !isLast;) {
    const block = await takeBlock(input);
    isLast = block.isLast;
    push(unpacker, block.bytes, isLast);
    for (const data of unpacked) {
      hash.update(data);
      yield data;
    }
    unpacked = [];
  }
  if (!hasChecksum) return;
  const expected = (await input.take(4)).readUInt32LE(0);
  if (Number(hash.digest() & 0xffff_ffffn) !== expected)
    throw new ZstdProblem('is damaged (checksum mismatch)');
}

async function takeBlock(input: Input): Promise<{ bytes: Buffer; isLast: boolean }> {
  const start = await input.peek(3);
  if (start.length < 3) throw cut();
  const header = start.readUIntLE(0, 3);
  const isRepeatedByte = ((header >> 1) & 3) === 1;
  const size = isRepeatedByte ? 1 : header >> 3;
  return { bytes: await input.take(3 + size), isLast: (header & 1) === 1 };
}

/** Damaged bytes make the unpacker fail in many ways, which all become the same `ZstdProblem`. */
function push(unpacker: Decompress, bytes: Buffer, isLast: boolean): void {
  try {
    unpacker.push(bytes, isLast);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ZstdProblem(`is damaged or truncated (${reason})`);
  }
}

function cut(): ZstdProblem {
  return new ZstdProblem('is damaged or truncated (unexpected end of file)');
}

/** The packed bytes, which can be taken in pieces of any size. */
class Input {
  readonly #source: AsyncIterator<Buffer>;
  #buffered: Buffer = Buffer.alloc(0);

  constructor(bytes: AsyncIterable<Buffer>) {
    this.#source = bytes[Symbol.asyncIterator]();
  }

  /** Returns the next bytes without taking them; fewer only at the end. */
  async peek(count: number): Promise<Buffer> {
    const pieces = [this.#buffered];
    let length = this.#buffered.length;
    while (length < count) {
      const next = await this.#source.next();
      if (next.done === true) break;
      pieces.push(next.value);
      length += next.value.length;
    }
    if (pieces.length > 1) this.#buffered = Buffer.concat(pieces);
    return this.#buffered.subarray(0, count);
  }

  async take(count: number): Promise<Buffer> {
    const bytes = await this.peek(count);
    if (bytes.length < count) throw cut();
    this.#buffered = this.#buffered.subarray(count);
    return bytes;
  }

  async skip(count: number): Promise<void> {
    for (let left = count; left > 0;) {
      const step = Math.min(left, 128 * 1024);
      await this.take(step);
      left -= step;
    }
  }
}

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

export function isFrame(start: Buffer): boolean {
  return start.length >= 4 && start.readUInt32LE(0) === frameMagic;
}

/** True for a frame with other data, whose length is in the next four bytes. */
export function isSkippable(start: Buffer): boolean {
  return start.length >= 4 && start.readUInt32LE(0) >>> 4 === 0x184d2a5;
}

/** Reads a frame's header (RFC 8878, 3.1.1) from `maxHeaderBytes` or all; undefined if invalid or cut. */
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
