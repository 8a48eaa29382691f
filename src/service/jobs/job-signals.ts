/** Notifications within this process that a change of a job is on disk. */
import { EventEmitter } from 'node:events';

type JobEvent = `queued ${string}` | `changed ${string}` | `streamed ${string}` | `stopping ${string}`;

export class JobSignals {
  readonly #emitter = new EventEmitter().setMaxListeners(0);
  #isReleased = false;

  /** True once no request may wait any longer. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Signals that a job may be waiting at the endpoint. */
  queued(endpointId: string): void {
    this.#emit(`queued ${endpointId}`);
  }

  changed(jobId: string): void {
    this.#emit(`changed ${jobId}`);
  }

  streamed(jobId: string): void {
    this.#emit(`streamed ${jobId}`);
  }

  /** Signals that a worker runs a job that is no longer wanted. */
  stopping(workerId: string): void {
    this.#emit(`stopping ${workerId}`);
  }

  /** Calls `listener` for each signal. Returns a function that unsubscribes it. */
  on(event: JobEvent, listener: () => void): () => void {
    this.#emitter.on(event, listener);
    return () => this.#emitter.off(event, listener);
  }

  /** Wakes all waiting requests for the last time. */
  release(): void {
    this.#isReleased = true;
    this.all();
  }

  /** Wakes all waiting requests. */
  all(): void {
    for (const event of this.#emitter.eventNames()) this.#emitter.emit(event);
  }

  #emit(event: JobEvent): void {
    this.#emitter.emit(event);
  }
}

export interface Waiting {
  waitMs: number;
  signal: AbortSignal;
}

/** Calls `check` now and after each signal until it returns a value; undefined after the time or an abort. */
export async function waitUntilFound<T>(
  signals: JobSignals,
  events: JobEvent[],
  { waitMs, signal }: Waiting,
  check: () => Promise<T | undefined> | T | undefined,
): Promise<T | undefined> {
  let wake = (): void => undefined;
  let hasNews = false;
  let isOver = false;
  const noteEvent = (): void => {
    hasNews = true;
    wake();
  };
  const giveUp = (): void => {
    isOver = true;
    wake();
  };
  const subscriptions = events.map((event) => signals.on(event, noteEvent));
  const timer = setTimeout(giveUp, waitMs).unref();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    while (!signal.aborted) {
      hasNews = false;
      const found = await check();
      if (found !== undefined) return found;
      if (isOver || signals.isReleased) return undefined;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (hasNews || isOver) resolve();
      });
    }
    return undefined;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
    for (const unsubscribe of subscriptions) unsubscribe();
  }
}
