/** The share of workers: while they ask for jobs and bring results, submissions are accepted a few at a time. */

/** Workers wait for the submissions that are in the same group of writes: 256 take 80 ms. */
const atOnce = 8;

/** So long after the last request of a worker all are accepted at once again, which is faster. */
const shareMs = 1_000;

export class ClientTurns {
  #active = 0;
  readonly #waiting: (() => void)[] = [];
  #workerAt = -Infinity;

  noteWorker(): void {
    this.#workerAt = performance.now();
  }

  /** Accepts a submission when it is its turn, in the order in which they came. */
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
