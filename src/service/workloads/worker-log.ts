/** Log of a worker. Limits the length of lines and their rate, so that a noisy worker cannot flood the service. */
import type { Readable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { readLines } from './read-lines.ts';

export const maxLogLineBytes = 4_096;
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

  /** Logs the lines of `stream`. */
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
