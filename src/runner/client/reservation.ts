/** One job's part of the memory that large answers share. Who holds some never waits for more, so that none wait for each other. */
import type { ByteSemaphore } from '../../lib/limits/byte-semaphore.ts';
import type { Hold } from '../pipeline/ports.ts';

/** Answers up to this take no part of it: all of them together are few megabytes. */
export const smallBytes = 64 * 1024;

export class Reservation implements Hold {
  readonly #memory: ByteSemaphore;
  readonly #onWait: (() => void) | undefined;
  #bytes = 0;

  /** Takes nothing yet. `onWait` is called where something has to be waited for. */
  constructor(memory: ByteSemaphore, onWait?: () => void) {
    this.#memory = memory;
    this.#onWait = onWait;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether it holds so many bytes now. */
  tryGrow(bytes: number): boolean {
    const lack = bytes - this.#bytes;
    if (lack > 0 && !this.#memory.tryTake(lack)) return false;
    this.#bytes = Math.max(bytes, this.#bytes);
    return true;
  }

  /** Gives back what it holds and resolves once it holds so many bytes, or `signal` aborts. */
  async retake(bytes: number, signal: AbortSignal): Promise<void> {
    this.release();
    this.#onWait?.();
    if (await this.#memory.take(bytes, signal)) this.#bytes = bytes;
  }

  /** Gives back what is beyond so many bytes. */
  shrink(bytes: number): void {
    if (bytes >= this.#bytes) return;
    this.#memory.giveBack(this.#bytes - bytes);
    this.#bytes = bytes;
  }

  release(): void {
    this.shrink(0);
  }
}
