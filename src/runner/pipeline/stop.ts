/** A request to end the run early, and how far it goes. */
import { setMaxListeners } from 'node:events';
import type { Ending } from '../core/ending.ts';

/**
 * - `drain`: submit nothing more, collect what is in flight
 * - `leave`: submit nothing more and ask for nothing more; jobs in flight stay in the checkpoint for the next run
 */
export type StopMode = 'drain' | 'leave';

/** Shared by everything in a run; the strongest request wins, the first among equals. */
export class Stop {
  readonly #draining = new AbortController();
  readonly #leaving = new AbortController();
  #ending: Ending | undefined;
  #listener: ((ending: Ending) => void) | undefined;

  constructor() {
    // Every job in flight listens.
    setMaxListeners(0, this.#draining.signal, this.#leaving.signal);
  }

  request(mode: StopMode, ending: Ending): void {
    const controller = mode === 'leave' ? this.#leaving : this.#draining;
    if (this.#leaving.signal.aborted || controller.signal.aborted) return;
    this.#ending = ending;
    this.#listener?.(ending);
    controller.abort();
    this.#draining.abort();
  }

  /** Whoever shows the run hears of each request, and of the one that came before. */
  onEnding(listener: (ending: Ending) => void): void {
    this.#listener = listener;
    if (this.#ending !== undefined) listener(this.#ending);
  }

  get ending(): Ending | undefined {
    return this.#ending;
  }

  /** Aborts with either mode. */
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }
}
