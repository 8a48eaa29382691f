/** Log of a worker, and reading its lines: limited in length and rate, so that a noisy worker cannot flood the service. */
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';

const maxLogLineBytes = 4_096;
/** Burst of lines that a traceback or a start may write. In the long run, `maxLinesPerSecond` applies. */
const maxLinesAtOnce = 1_000;
const maxLinesPerSecond = 20;

export class WorkerLog {
  readonly #log: (line: string) => void;
  /** Monotonic clock in ms. */
  readonly #now: () => number;
  #allowance = maxLinesAtOnce;
  #countedAt: number;
  #leftOut = 0;

  constructor(log: (line: string) => void, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
    this.#countedAt = now();
  }

  follow(stream: Readable): void {
    readLines(stream, maxLogLineBytes, ({ bytes, isCut }) => this.writeBytes(bytes, isCut));
  }

  /** Logs text of one or more lines. */
  write(text: string): void {
    for (const line of text.split('\n')) this.writeBytes(Buffer.from(line), false);
  }

  writeBytes(line: Buffer, wasCut: boolean): void {
    const isCut = wasCut || line.length > maxLogLineBytes;
    // With `stream`, the decoder omits a character that the cut has split.
    const decoder = new TextDecoder();
    const text = decoder.decode(line.subarray(0, maxLogLineBytes), { stream: isCut });
    const shown = withoutControls(text);
    if (shown === '') return;
    if (!this.#mayWrite()) {
      this.#leftOut += 1;
      return;
    }
    this.end();
    this.#log(isCut ? `${shown}…` : shown);
  }

  /** Reports lines that were left out and not reported yet. */
  end(): void {
    if (this.#leftOut === 0) return;
    this.#log(`(${this.#leftOut} lines omitted: too many at once)`);
    this.#leftOut = 0;
  }

  #mayWrite(): boolean {
    const now = this.#now();
    const regained = ((now - this.#countedAt) / 1_000) * maxLinesPerSecond;
    this.#allowance = Math.min(maxLinesAtOnce, this.#allowance + regained);
    this.#countedAt = now;
    if (this.#allowance < 1) return false;
    this.#allowance -= 1;
    return true;
  }
}

/** Removes control characters. Of a line that overwrites itself, like a progress bar, only the last text is kept. */
function withoutControls(text: string): string {
  const last = text.trimEnd().split('\r').at(-1) ?? '';
  return stripVTControlCharacters(last)
    .replaceAll(/(?!\t)\p{Cc}/gu, '')
    .trimEnd();
}

export interface Line {
  /** Content of the line, without the line break. */
  bytes: Buffer;
  /** True if the line exceeds the limit. Its rest is dropped. */
  isCut: boolean;
}

/** Handles a line. Reading slows down until the returned promise has settled. The promise must not reject. */
type OnLine = (line: Line) => Promise<void> | void;

/**
 * Calls `onLine` with each line, including a last line without a line break. A line longer than `maxBytes` is cut and
 * passed on immediately, so an endless line never takes more memory than that. A process that writes faster than it is
 * read has to wait, as at any pipe.
 */
export function readLines(input: Readable, maxBytes: number, onLine: OnLine): void {
  const reader = new LineReader(input, maxBytes, onLine);
  input.on('data', (chunk: Buffer) => reader.add(chunk));
  // A broken pipe ends the stream. The end of the process is reported elsewhere.
  input.on('error', () => undefined);
  input.once('end', () => reader.end());
  input.once('close', () => reader.end());
}

const lineFeed = 0x0a;

/** Lines are handled for this long at most, then the event loop is free for as long. */
const turnMs = 5;
/** Maximum number of lines that are being handled at the same time. */
const maxPending = 100;

class LineReader {
  readonly #input: Readable;
  readonly #maxBytes: number;
  readonly #onLine: OnLine;
  readonly #unread: Buffer[] = [];
  readonly #pending: Promise<void>[] = [];
  #isPaused = false;
  #parts: Buffer[] = [];
  #byteCount = 0;
  #isSkipping = false;

  constructor(input: Readable, maxBytes: number, onLine: OnLine) {
    this.#input = input;
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
  }

  add(chunk: Buffer): void {
    this.#unread.push(chunk);
    if (!this.#isPaused) this.#readOn();
  }

  /** Passes on everything that was read, before others learn that the stream has ended. */
  end(): void {
    while (this.#unread.length > 0) this.#readSome();
    if (this.#byteCount > 0) this.#emit(false);
  }

  #readOn(): void {
    const until = performance.now() + turnMs;
    let isOver = false;
    while (this.#unread.length > 0 && !isOver) {
      this.#readSome();
      isOver = this.#pending.length >= maxPending || performance.now() > until;
    }
    if (isOver || this.#pending.length > 0) void this.#pause(isOver ? turnMs : 0);
  }

  async #pause(ms: number): Promise<void> {
    this.#isPaused = true;
    this.#input.pause();
    await Promise.all(this.#pending.splice(0));
    if (ms > 0) await sleep(ms);
    this.#isPaused = false;
    this.#input.resume();
    this.#readOn();
  }

  /** Reads up to the next line break. */
  #readSome(): void {
    const chunk = this.#unread.shift();
    if (chunk === undefined) return;
    const end = chunk.indexOf(lineFeed);
    if (end < 0) return this.#keep(chunk);
    if (end + 1 < chunk.length) this.#unread.unshift(chunk.subarray(end + 1));
    this.#keep(chunk.subarray(0, end));
    if (!this.#isSkipping) this.#emit(false);
    this.#isSkipping = false;
  }

  #keep(part: Buffer): void {
    if (this.#isSkipping || part.length === 0) return;
    const room = this.#maxBytes - this.#byteCount;
    this.#parts.push(part.length > room ? part.subarray(0, room) : part);
    this.#byteCount += Math.min(part.length, room);
    if (part.length <= room) return;
    this.#isSkipping = true;
    this.#emit(true);
  }

  #emit(isCut: boolean): void {
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#byteCount = 0;
    const done = this.#onLine({ bytes, isCut });
    if (done !== undefined) this.#pending.push(done);
  }
}
