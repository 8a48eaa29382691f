/** Reserves memory for the large answers of one job. A holder never waits for more, so no two wait for each other. */
import type { ByteSemaphore } from '../../lib/limits/byte-semaphore.ts';
import type { Hold } from '../pipeline/ports.ts';

/** Answers up to this size reserve nothing: all of them together take a few megabytes. */
export const smallBytes = 64 * 1024;

export class Reservation implements Hold {
  readonly #memory: ByteSemaphore;
  readonly #onWait: (() => void) | undefined;
  #bytes = 0;

  /** Reserves nothing yet. `onWait` is called if memory has to be waited for. */
  constructor(memory: ByteSemaphore, onWait?: () => void) {
    this.#memory = memory;
    this.#onWait = onWait;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns true if this many bytes are reserved. Never waits. */
  tryGrow(bytes: number): boolean {
    const lack = bytes - this.#bytes;
    if (lack > 0 && !this.#memory.tryTake(lack)) return false;
    this.#bytes = Math.max(bytes, this.#bytes);
    return true;
  }

  /** Releases everything, and resolves once this many bytes are reserved or `signal` aborts. */
  async retake(bytes: number, signal: AbortSignal): Promise<void> {
    this.release();
    this.#onWait?.();
    if (await this.#memory.take(bytes, signal)) this.#bytes = bytes;
  }

  /** Releases everything beyond this many bytes. */
  shrink(bytes: number): void {
    if (bytes >= this.#bytes) return;
    this.#memory.giveBack(this.#bytes - bytes);
    this.#bytes = bytes;
  }

  release(): void {
    this.shrink(0);
  }
}
