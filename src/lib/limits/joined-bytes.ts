/** Joins bytes that come in chunks. */

/** What is shorter is joined at the end: whoever announces a body need not send it. */
const longBytes = 1024 * 1024;

export class JoinedBytes {
  /** Joining a long body at its end would take twice its memory, and long at once. */
  #whole: Buffer | undefined;
  #chunks: Buffer[] = [];
  byteCount = 0;

  /** `announced`: how many bytes come at most; undefined if that is not known. */
  constructor(announced?: string | number) {
    if (Number(announced) >= longBytes) this.#whole = Buffer.allocUnsafeSlow(Number(announced));
  }

  add(chunk: Buffer): void {
    if (this.#whole === undefined) this.#chunks.push(chunk);
    else chunk.copy(this.#whole, this.byteCount);
    this.byteCount += chunk.length;
  }

  /** All that was added, once. */
  take(): Buffer {
    const whole = this.#whole?.subarray(0, this.byteCount) ?? Buffer.concat(this.#chunks, this.byteCount);
    this.clear();
    return whole;
  }

  clear(): void {
    this.#whole = undefined;
    this.#chunks = [];
  }
}
