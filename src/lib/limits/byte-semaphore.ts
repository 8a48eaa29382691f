/** Limits the bytes that are in use at the same time, such as long bodies. Requests are served in order of arrival. */

interface Waiting {
  bytes: number;
  enter: () => void;
}

export class ByteSemaphore {
  readonly #limit: number;
  #taken = 0;
  readonly #waiting = new Set<Waiting>();

  /** A request for more than `limit` bytes is admitted alone. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes the bytes if they are available now. Returns false otherwise. */
  tryTake(bytes: number): boolean {
    if (this.#waiting.size > 0 || !this.#fits(bytes)) return false;
    this.#taken += bytes;
    return true;
  }

  /** Resolves to true once the bytes are taken, and to false if `signal` aborts before. */
  async take(bytes: number, signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return false;
    if (this.tryTake(bytes)) return true;
    return new Promise((resolve) => {
      const leave = (): void => {
        this.#waiting.delete(waiting);
        resolve(false);
        this.#admit();
      };
      const enter = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve(true);
      };
      const waiting = { bytes, enter };
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting.add(waiting);
    });
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes;
    this.#admit();
  }

  #fits(bytes: number): boolean {
    return this.#taken === 0 || this.#taken + bytes <= this.#limit;
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.bytes)) return;
      this.#waiting.delete(waiting);
      this.#taken += waiting.bytes;
      waiting.enter();
    }
  }
}
