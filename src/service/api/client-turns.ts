/** Keeps the service fast for workers: while they send requests, only a few submissions are accepted at a time. */

/** Submissions accepted at once. Workers wait for those in the same group of writes: 256 take 80 ms. */
const atOnce = 8;

/** Time after the last request of a worker at which the limit ends, because accepting all at once is faster. */
const shareMs = 1_000;

export class ClientTurns {
  #active = 0;
  readonly #waiting: (() => void)[] = [];
  #workerAt = -Infinity;

  noteWorker(): void {
    this.#workerAt = performance.now();
  }

  /** Runs `accept` when it is its turn. Submissions are accepted in order of arrival. */
  async use<T>(accept: () => Promise<T>): Promise<T> {
    if (this.#hasRoom) this.#active += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await accept();
    } finally {
      this.#active -= 1;
      while (this.#waiting.length > 0 && this.#hasRoom) {
        this.#active += 1;
        this.#waiting.shift()?.();
      }
    }
  }

  get #hasRoom(): boolean {
    return this.#active < atOnce || performance.now() - this.#workerAt > shareMs;
  }
}
