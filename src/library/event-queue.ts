/** A queue of events for a reader that may be slow or absent. It never blocks the run, and its length is limited. */
import type { BatchEvent } from './library.ts';

/** About 10 MB. If the queue is full, the older half is dropped. */
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

  /** Yields events to a single reader. When the reader leaves, the queue is emptied and closed. */
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
