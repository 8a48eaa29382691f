/** Decodes the pixel data of plain PNGs without a picture library's start-up, which costs more than small pictures do. */
import { inflateSync, type ZlibOptions, createInflate, type Inflate } from 'node:zlib';
import { MessageChannel } from 'node:worker_threads';
import pLimit from 'p-limit';
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
/** Larger pictures go through the picture library, which holds less of them in memory. */
const maxBytes = 64 * 1024 * 1024;
/** Smaller ones are not worth the way to another thread and back. */
const fewBytes = 256 * 1024;

export type Pixels = 'whole' | 'not-plain' | { problem: string };

/**
 * Whether the data of every row of the picture is there and can be drawn. Unpacking is all that can fail: undoing a
 * row's filter is arithmetic that takes any bytes. `not-plain` says that it takes more to tell (palettes, transparent
 * colours, interlaced or very large pictures).
 */
export async function inflatePixels({ header, pixelData, isPlain }: WholePng): Promise<Pixels> {
  const [depth = 0, colour = 0, compression, filter, interlace] = header.subarray(8);
  const perPixel = samples[colour];
  if (!isPlain || perPixel === undefined || interlace !== 0) return 'not-plain';
  if (compression !== 0 || filter !== 0 || !depths[colour]?.includes(depth))
    return { problem: 'it is damaged: its header (IHDR) is invalid' };
  const width = header.readUInt32BE(0);
  const height = header.readUInt32BE(4);
  const rowBytes = 1 + Math.ceil((width * perPixel * depth) / 8);
  if (width === 0 || height === 0 || rowBytes * height > maxBytes) return 'not-plain';
  return unpackRows(pixelData, { rowBytes, height });
}

interface Rows {
  rowBytes: number;
  height: number;
}

async function unpackRows(packed: Buffer[], rows: Rows): Promise<Pixels> {
  const size = rows.rowBytes * rows.height;
  const seen = { bytes: 0, problem: undefined as string | undefined };
  const checkPart = (part: Buffer): void => {
    seen.problem ??= strangeFilter(part, seen.bytes, rows);
    seen.bytes += part.length;
  };
  try {
    if (size <= fewBytes) checkPart(inflateSync(inOnePiece(packed), oneChunk(size)));
    else await inflateInParts(packed, size, checkPart);
  } catch (error) {
    // Excess data is harmless: the picture library decides.
    if (isTooMuch(error)) return 'not-plain';
    return { problem: `its pixel data is cut or damaged (${(error as Error).message})` };
  }
  if (seen.bytes < size)
    return { problem: `it is damaged: its pixel data has ${seen.bytes} bytes instead of ${size}` };
  return seen.problem === undefined ? 'whole' : { problem: seen.problem };
}

/** Of a part that begins so many bytes behind the first row. */
function strangeFilter(part: Buffer, start: number, { rowBytes }: Rows): string | undefined {
  const first = Math.ceil(start / rowBytes) * rowBytes - start;
  for (let at = first; at < part.length; at += rowBytes) {
    const filter = part[at] ?? 0;
    if (filter > highestFilter) {
      const row = (start + at) / rowBytes;
      return `it is damaged in row ${row} of its pixel data: there is no filter ${filter}`;
    }
  }
  return undefined;
}

/** So that it is one piece of work; nothing beyond the rows is kept. */
function oneChunk(size: number): ZlibOptions {
  return { chunkSize: Math.max(64, size + 1), maxOutputLength: size };
}

/** Each part is a way to another thread and back, on which the event loop has to have time for it. */
const partBytes = 1024 * 1024;

/** There are no more threads for it than these. */
const limitAtOnce = pLimit(4);

/** Rejects with what is wrong with the data, or as soon as it is more than `limitBytes` (`isTooMuch`). */
function inflateInParts(
  packed: readonly Buffer[],
  limitBytes: number,
  checkPart: (part: Buffer) => void,
): Promise<void> {
  return limitAtOnce(() => inflateNow(packed, limitBytes, checkPart));
}

function inOnePiece(parts: readonly Buffer[]): Buffer {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}

function isTooMuch(error: unknown): boolean {
  return error instanceof TooMuch || (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
}

class TooMuch extends Error {}

function inflateNow(
  packed: readonly Buffer[],
  limitBytes: number,
  checkPart: (part: Buffer) => void,
): Promise<void> {
  const inflate = createInflate({ chunkSize: partBytes });
  const gathered = Buffer.allocUnsafeSlow(partBytes);
  let bytes = 0;
  return new Promise((resolve, reject) => {
    inflate.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > limitBytes) return void inflate.destroy(new TooMuch());
      checkPart(part);
      // The next part has memory of its own where this one is full.
      if (part.length === part.buffer.byteLength) freeMemory(part);
    });
    inflate.on('end', resolve);
    inflate.on('error', reject);
    feed(inflate, packed, gathered);
  });
}

/** Encoders cut their data into small pieces, of which many go in at once, through `gathered`. */
function feed(inflate: Inflate, packed: readonly Buffer[], gathered: Buffer): void {
  let length = 0;
  let next = 0;
  for (; next < packed.length && length < gathered.length; next++) {
    const piece = packed[next] ?? Buffer.alloc(0);
    if (length + piece.length > gathered.length) break;
    length += piece.copy(gathered, length);
  }
  const [first] = packed;
  if (first === undefined) return void inflate.end();
  // A piece that is too long for it goes in as it is.
  const input = next === 0 ? first : gathered.subarray(0, length);
  const rest = packed.slice(Math.max(1, next));
  inflate.write(input, (error) => {
    if (!error) feed(inflate, rest, gathered);
  });
}

let detachPort: MessageChannel['port1'] | undefined;

/** It must not be used afterwards. `buffer` is all of its memory, and holds nothing else. */
function freeMemory({ buffer }: Buffer): void {
  if (detachPort === undefined) {
    const { port1, port2 } = new MessageChannel();
    port2.close();
    port1.unref();
    detachPort = port1;
  }
  // What is handed over and never arrives is freed; it could only be an `ArrayBuffer` of our own making.
  detachPort.postMessage(undefined, [buffer as ArrayBuffer]);
}
