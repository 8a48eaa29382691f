/** Time that passes only when nothing else is left to do: a night in milliseconds, the same each time. */
import type { Clock } from '../../src/pipeline/ports.ts';

interface Sleeper {
  at: number;
  wake: () => void;
}

export class VirtualClock implements Clock {
  #elapsed = 0;
  readonly #start: number;
  #sleepers: Sleeper[] = [];

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
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper: Sleeper = { at: this.#elapsed + Math.max(0, ms), wake };
      this.#sleepers.push(sleeper);
      signal.addEventListener('abort', wake);
    });
  }

  /** How many sleep. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  /** Lets the earliest sleeper wake; false where nobody sleeps. */
  advance(): boolean {
    const next = this.#sleepers.toSorted((a, b) => a.at - b.at)[0];
    if (next === undefined) return false;
    this.#elapsed = Math.max(this.#elapsed, next.at);
    next.wake();
    return true;
  }
}
