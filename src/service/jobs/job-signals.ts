/** In-process notifications that a job's change is on the disk. */
import { EventEmitter } from 'node:events';

type Happening = `queued ${string}` | `changed ${string}` | `streamed ${string}` | `stopping ${string}`;

export class JobSignals {
  readonly #emitter = new EventEmitter().setMaxListeners(0);
  #isReleased = false;

  /** True if nobody is to wait any more: nothing happens from now on. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** A job may be waiting at the endpoint. */
  queued(endpointId: string): void {
    this.#emit(`queued ${endpointId}`);
  }

  /** A job is in another state. */
  changed(jobId: string): void {
    this.#emit(`changed ${jobId}`);
  }

  streamed(jobId: string): void {
    this.#emit(`streamed ${jobId}`);
  }

  /** A worker runs a job that is no longer wanted. */
  stopping(workerId: string): void {
    this.#emit(`stopping ${workerId}`);
  }

  /** Calls `listener` each time; returns what ends it. */
  on(happening: Happening, listener: () => void): () => void {
    this.#emitter.on(happening, listener);
    return () => this.#emitter.off(happening, listener);
  }

  /** Has all who wait look again, for the last time. */
  release(): void {
    this.#isReleased = true;
    this.all();
  }

  /** Has all who wait look again. */
  all(): void {
    for (const happening of this.#emitter.eventNames()) this.#emitter.emit(happening);
  }

  #emit(happening: Happening): void {
    this.#emitter.emit(happening);
  }
}

export interface Waiting {
  waitMs: number;
  /** Aborts the wait. */
  signal: AbortSignal;
}

/**
 * Asks `check` at once, and again after each of the happenings, until it finds something; undefined where the time is
 * over or nobody waits any more.
 */
export async function untilFound<T>(
  signals: JobSignals,
  happenings: Happening[],
  { waitMs, signal }: Waiting,
  check: () => Promise<T | undefined> | T | undefined,
): Promise<T | undefined> {
  let wake = (): void => undefined;
  let hasNews = false;
  let isOver = false;
  const hearNews = (): void => {
    hasNews = true;
    wake();
  };
  const giveUp = (): void => {
    isOver = true;
    wake();
  };
  const subscriptions = happenings.map((happening) => signals.on(happening, hearNews));
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
