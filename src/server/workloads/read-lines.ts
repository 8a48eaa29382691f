/** Lines out of what a process writes, bounded however long they are. */
import type { Readable } from 'node:stream';

export interface Line {
  /** Without the line break. */
  bytes: Buffer;
  /** It goes on beyond the bound; nothing more of it follows. */
  isCut: boolean;
}

/**
 * Tells of each line, and of what stands behind the last line break once the stream is over. A line beyond `maxBytes`
 * is told as soon as it is that long, so that one without end takes no more memory than that.
 */
export function readLines(input: Readable, maxBytes: number, onLine: (line: Line) => void): void {
  const reader = new LineReader(maxBytes, onLine);
  input.on('data', (chunk: Buffer) => reader.read(chunk));
  // A broken pipe ends what there is to read; that its process has gone is told elsewhere.
  input.on('error', () => undefined);
  input.once('end', () => reader.end());
  input.once('close', () => reader.end());
}

const lineFeed = 0x0a;

class LineReader {
  readonly #maxBytes: number;
  readonly #onLine: (line: Line) => void;
  #parts: Buffer[] = [];
  #byteCount = 0;
  #isSkipping = false;

  constructor(maxBytes: number, onLine: (line: Line) => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
  }

  read(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      this.#keep(chunk.subarray(start, end));
      if (!this.#isSkipping) this.#tell(false);
      this.#isSkipping = false;
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  end(): void {
    if (this.#byteCount > 0) this.#tell(false);
  }

  #keep(part: Buffer): void {
    if (this.#isSkipping || part.length === 0) return;
    const room = this.#maxBytes - this.#byteCount;
    this.#parts.push(part.length > room ? part.subarray(0, room) : part);
    this.#byteCount += Math.min(part.length, room);
    if (part.length <= room) return;
    this.#isSkipping = true;
    this.#tell(true);
  }

  #tell(isCut: boolean): void {
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#byteCount = 0;
    this.#onLine({ bytes, isCut });
  }
}
