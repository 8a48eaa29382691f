/** Unpacks large data on another thread, part by part, so that little of it is in memory at a time. */
import { createInflate, type Inflate } from 'node:zlib';
import pLimit from 'p-limit';
import { freeMemory } from './free-memory.ts';

/** Each part is a way to another thread and back, on which the event loop has to have time for it. */
const partBytes = 1024 * 1024;

/** There are no more threads for it than these. */
const limitAtOnce = pLimit(4);

/** Rejects with what is wrong with the data, or as soon as it is more than `mostBytes` (`isTooMuch`). */
export function inflateInParts(
  packed: readonly Buffer[],
  mostBytes: number,
  look: (part: Buffer) => void,
): Promise<void> {
  return limitAtOnce(() => inflateNow(packed, mostBytes, look));
}

export function inOnePiece(parts: readonly Buffer[]): Buffer {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}

export function isTooMuch(error: unknown): boolean {
  return error instanceof TooMuch || (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
}

class TooMuch extends Error {}

function inflateNow(
  packed: readonly Buffer[],
  mostBytes: number,
  look: (part: Buffer) => void,
): Promise<void> {
  const inflate = createInflate({ chunkSize: partBytes });
  const gathered = Buffer.allocUnsafeSlow(partBytes);
  let bytes = 0;
  return new Promise((resolve, reject) => {
    inflate.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > mostBytes) return void inflate.destroy(new TooMuch());
      look(part);
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
