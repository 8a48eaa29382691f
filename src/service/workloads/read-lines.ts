/** Lines out of what a process writes, bounded however long they are, and read no faster than the service has time for. */
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Line {
  /** Without the line break. */
  bytes: Buffer;
  /** It is longer than the limit; the rest is dropped. */
  isCut: boolean;
}

/** Where it is a promise, what the line asks for is not done before; little is read until then. It never rejects. */
type OnLine = (line: Line) => Promise<void> | void;

/**
 * Tells of each line, and of what stands behind the last line break once the stream is over. A line beyond `maxBytes`
 * is told as soon as it is that long, so that one without end takes no more memory than that. A process that writes
 * faster than it is read waits, as it does at any pipe.
 */
export function readLines(input: Readable, maxBytes: number, onLine: OnLine): void {
  const reader = new LineReader(input, maxBytes, onLine);
  input.on('data', (chunk: Buffer) => reader.add(chunk));
  // A broken pipe ends what there is to read; that its process has gone is told elsewhere.
  input.on('error', () => undefined);
  input.once('end', () => reader.end());
  input.once('close', () => reader.end());
}

const lineFeed = 0x0a;

/** So long at once, and others have their turn for as long. */
const turnMs = 5;
/** Lines whose doing is waited for together. */
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

  /** Whoever hears that the stream is over is to have heard all of it. */
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

  /** Up to the next line break. */
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
