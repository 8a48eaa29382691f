/** Large buffers that are used again: what is left to the garbage collector stays in memory long after its use. */

/** Sizes differ by this at least, those below the larger step by the smaller one; a buffer is larger by so many at most. */
const stepBytes = 1024 * 1024;
const smallStepBytes = 64 * 1024;
const mostSpareSteps = 2;

export class ReusedBuffers {
  readonly #mostBytes: number;
  #usedBytes = 0;
  /** Latest first. */
  #idle: Buffer[] = [];

  /** Idle ones are kept as long as they and those in use are not more than this. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** At least of this size; holds whatever was in it. */
  take(bytes: number): Buffer {
    const step = bytes < stepBytes ? smallStepBytes : stepBytes;
    const size = Math.ceil(bytes / step) * step;
    const fits = ({ length }: Buffer): boolean => length >= size && length <= size + mostSpareSteps * step;
    const buffer = this.#idle.find(fits) ?? Buffer.allocUnsafeSlow(size);
    this.#idle = this.#idle.filter((other) => other !== buffer);
    this.#usedBytes += buffer.length;
    this.#dropIdle();
    return buffer;
  }

  /** Nobody looks at it any more. */
  giveBack(buffer: Buffer): void {
    this.#idle.unshift(buffer);
    this.forget(buffer);
  }

  /** Somebody may still look at it. */
  forget({ length }: Buffer): void {
    this.#usedBytes -= length;
    this.#dropIdle();
  }

  #dropIdle(): void {
    let bytes = this.#usedBytes;
    this.#idle = this.#idle.filter(({ length }) => (bytes += length) <= this.#mostBytes);
  }
}
