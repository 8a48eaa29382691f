/** Joins bytes that arrive in chunks. */

/** Shorter bodies are joined at the end, because an announced body may never be sent. */
const longBytes = 1024 * 1024;

export class JoinedBytes {
  /** Buffer for the whole body. Joining a long body at its end would take twice the memory, and block for long. */
  #whole: Buffer | undefined;
  #chunks: Buffer[] = [];
  byteCount = 0;

  /** `announced`: maximum number of bytes to come; undefined if it is unknown. */
  constructor(announced?: string | number) {
    if (Number(announced) >= longBytes) this.#whole = Buffer.allocUnsafeSlow(Number(announced));
  }

  add(chunk: Buffer): void {
    if (this.#whole === undefined) this.#chunks.push(chunk);
    else chunk.copy(this.#whole, this.byteCount);
    this.byteCount += chunk.length;
  }

  /** Returns all bytes and empties the buffer. */
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
