/** Deletes from the disk what has been kept long enough. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JobBook } from './job-book.ts';

export class Sweeper {
  readonly #book: JobBook;
  readonly #onTrouble: (text: string) => void;
  readonly #timer: NodeJS.Timeout;
  #isSweeping = false;
  #isStopped = false;

  /** Sweeps now and then, soon enough for the retention; status asks the clock itself and does not wait for it. */
  constructor(book: JobBook, retentionMs: number, onTrouble: (text: string) => void) {
    this.#book = book;
    this.#onTrouble = onTrouble;
    const everyMs = Math.min(30_000, Math.max(1_000, retentionMs / 10));
    this.#timer = setInterval(() => void this.#sweep(), everyMs).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  async #sweep(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    try {
      let deleted = 0;
      for (let some = 1; some > 0 && !this.#isStopped; await nextTurn()) {
        some = this.#book.deleteSomeExpired();
        deleted += some;
      }
      if (deleted > 0 && !this.#isStopped) this.#book.scrub();
    } catch (error) {
      this.#onTrouble(`cannot delete results whose time is over: ${String(error)}`);
    } finally {
      this.#isSweeping = false;
    }
  }
}
