/** Splits bytes into numbered lines of at most `maxRowBytes` each, and finds lines that are not valid text. */
import { isUtf8 } from 'node:buffer';
import { notUtf8 } from './encodings.ts';
import { maxRowBytes } from './manifest.ts';

/** Consecutive lines. */
export interface LineBlock {
  /** The number of the first line, 1-based. */
  first: number;
  /**
   * Lines without the line feed. A carriage return before it stays, because within quotation marks it belongs
   * to the value.
   */
  lines: string[];
  /** Problems by line number. The text of such a line is what could be read of it. */
  problems: ReadonlyMap<number, string>;
}

const lineFeed = 10;
const tooLong = 'is longer than 1 MiB';

/** `endInReturns`: lines end with a carriage return alone. Otherwise one within a line is text. */
export async function* splitLines(
  bytes: AsyncIterable<Buffer>,
  endInReturns: boolean,
): AsyncGenerator<LineBlock> {
  const started = new StartedLine();
  let first = 1;
  for await (const chunk of endInReturns ? withLineFeeds(bytes) : bytes) {
    const end = chunk.lastIndexOf(lineFeed);
    if (end !== -1) {
      const block = readBlock(first, started.finish(chunk.subarray(0, end)));
      first += block.lines.length;
      yield block;
    }
    started.add(chunk.subarray(end + 1));
  }
  if (started.bytes > 0) yield readBlock(first, started.finish(Buffer.alloc(0)));
}

export function isBlank(line: string): boolean {
  return line.trim() === '';
}

/** Returns the line without the carriage return that `\r\n` leaves at its end. */
export function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

/** A line that has begun in earlier chunks and not ended. Of a line that is too long, nothing is kept. */
class StartedLine {
  bytes = 0;
  #pieces: Buffer[] = [];

  add(piece: Buffer): void {
    this.bytes += piece.length;
    if (this.bytes <= maxRowBytes) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  /** Returns whole lines and resets: the begun line with its continuation in `rest`, then the other lines in `rest`. */
  finish(rest: Buffer): { bytes: Buffer; isFirstCut: boolean } {
    const isFirstCut = this.bytes > maxRowBytes;
    const firstBreak = rest.indexOf(lineFeed);
    const kept = isFirstCut ? rest.subarray(firstBreak === -1 ? rest.length : firstBreak) : rest;
    const bytes = this.#pieces.length === 0 ? kept : Buffer.concat([...this.#pieces, kept]);
    this.bytes = 0;
    this.#pieces = [];
    return { bytes, isFirstCut };
  }
}

function readBlock(first: number, { bytes, isFirstCut }: { bytes: Buffer; isFirstCut: boolean }): LineBlock {
  const problems = new Map<number, string>();
  if (isFirstCut) problems.set(first, tooLong);
  // Checking the whole block is many times faster than checking each line, and almost always enough.
  if (bytes.length <= maxRowBytes && isUtf8(bytes) && !bytes.includes(0)) {
    return { first, lines: bytes.toString().split('\n'), problems };
  }
  const lines: string[] = [];
  for (let start = 0; start <= bytes.length;) {
    const found = bytes.indexOf(lineFeed, start);
    const end = found === -1 ? bytes.length : found;
    const line = bytes.subarray(start, end);
    const problem = problemOf(line);
    if (problem !== undefined) problems.set(first + lines.length, problem);
    lines.push(problem === tooLong ? '' : line.toString());
    start = end + 1;
  }
  return { first, lines, problems };
}

function problemOf(line: Buffer): string | undefined {
  if (line.length > maxRowBytes) return tooLong;
  if (!isUtf8(line)) return notUtf8(line);
  return line.includes(0) ? 'contains a NUL character' : undefined;
}

/** Replaces carriage returns that end lines. Before a line feed, within quotation marks, one is part of the value. */
async function* withLineFeeds(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held = '';
  for await (const chunk of bytes) {
    const text = held + chunk.toString('latin1');
    held = text.endsWith('\r') ? '\r' : '';
    yield Buffer.from(text.slice(0, text.length - held.length).replaceAll(/\r(?!\n)/g, '\n'), 'latin1');
  }
  if (held !== '') yield Buffer.from('\n');
}
