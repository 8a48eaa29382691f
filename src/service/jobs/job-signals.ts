/** Tells who waits for it, within this process, that something about a job is on the disk. */
import { EventEmitter } from 'node:events';

type Happening = `queued ${string}` | `moved ${string}` | `streamed ${string}` | `stopping ${string}`;

export class JobSignals {
  readonly #emitter = new EventEmitter().setMaxListeners(0);

  /** A job may be waiting at the endpoint. */
  queued(endpointId: string): void {
    this.#say(`queued ${endpointId}`);
  }

  /** A job is in another state. */
  moved(jobId: string): void {
    this.#say(`moved ${jobId}`);
  }

  streamed(jobId: string): void {
    this.#say(`streamed ${jobId}`);
  }

  /** A worker is at what nobody wants any more. */
  stopping(workerId: string): void {
    this.#say(`stopping ${workerId}`);
  }

  /** Calls `hear` each time; returns what ends it. */
  on(happening: Happening, hear: () => void): () => void {
    this.#emitter.on(happening, hear);
    return () => this.#emitter.off(happening, hear);
  }

  #say(happening: Happening): void {
    this.#emitter.emit(happening);
  }
}

export interface Waiting {
  waitMs: number;
  /** Aborts where nobody waits any more. */
  signal: AbortSignal;
}

/**
 * Asks `look` at once, and again after each of the happenings, until it finds something; undefined where the time is
 * over or nobody waits any more.
 */
export async function untilFound<T>(
  signals: JobSignals,
  happenings: Happening[],
  { waitMs, signal }: Waiting,
  look: () => Promise<T | undefined> | T | undefined,
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
  const leaving = happenings.map((happening) => signals.on(happening, hearNews));
  const timer = setTimeout(giveUp, waitMs).unref();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    while (!signal.aborted) {
      hasNews = false;
      const found = await look();
      if (found !== undefined) return found;
      if (isOver) return undefined;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (hasNews || isOver) resolve();
      });
    }
    return undefined;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
    for (const leave of leaving) leave();
  }
}
