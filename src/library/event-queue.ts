/** Events on their way to a reader that may be slow, or may never come: it holds nobody up, and no more than so many. */
import type { BatchEvent } from './library.ts';

/** Some ten megabytes. Of more, the older half is dropped. */
const maxEvents = 10_000;

export class EventQueue {
  #events: BatchEvent[] = [];
  #dropped = 0;
  #isEnded = false;
  #wake: () => void = () => undefined;

  push(event: BatchEvent): void {
    if (this.#isEnded) return;
    if (this.#events.length === maxEvents) this.#dropped += this.#events.splice(0, maxEvents / 2).length;
    this.#events.push(event);
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  /** For one reader; when it leaves, nothing more is kept. */
  async *read(): AsyncGenerator<BatchEvent, void, undefined> {
    try {
      for (;;) {
        const event = this.#next();
        if (event !== undefined) yield event;
        else if (this.#isEnded) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.end();
      this.#events = [];
    }
  }

  #next(): BatchEvent | undefined {
    if (this.#dropped === 0) return this.#events.shift();
    const events = this.#dropped;
    this.#dropped = 0;
    return { type: 'events-dropped', events, at: new Date().toISOString() };
  }
}
