/** Time that passes only when nothing else is left to do: a night in milliseconds, the same each time. */
import type { Clock } from '../../src/runner/pipeline/ports.ts';

interface Sleeper {
  at: number;
  wake: () => void;
}

export class VirtualClock implements Clock {
  #elapsed = 0;
  readonly #start: number;
  /** Sleepers, ordered so that the last one wakes first. */
  readonly #sleepers: Sleeper[] = [];

  constructor(start: number) {
    this.#start = start;
  }

  now(): number {
    return this.#start + this.#elapsed;
  }

  elapsed(): number {
    return this.#elapsed;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const wake = (): void => {
        this.#sleepers.splice(this.#sleepers.indexOf(sleeper, this.#placeOf(sleeper.at)), 1);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper: Sleeper = { at: this.#elapsed + Math.max(0, ms), wake };
      this.#sleepers.splice(this.#placeOf(sleeper.at), 0, sleeper);
      signal.addEventListener('abort', wake);
    });
  }

  /**
   * Returns the index for a new sleeper. Sleepers that wake at the same instant wake in the order in which they came.
   */
  #placeOf(at: number): number {
    let low = 0;
    let high = this.#sleepers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#sleepers[middle]?.at ?? -Infinity) > at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Number of sleepers. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  /** Wakes the earliest sleepers, all of one instant together. Returns false if there are none. */
  advance(): boolean {
    const next = this.#sleepers.at(-1);
    if (next === undefined) return false;
    this.#elapsed = Math.max(this.#elapsed, next.at);
    while ((this.#sleepers.at(-1)?.at ?? Infinity) <= this.#elapsed) this.#sleepers.at(-1)?.wake();
    return true;
  }
}
