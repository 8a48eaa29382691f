/** Counts the bench service's requests by second, and decides which of them exceed its limit. */
import type { Bearable } from './load.ts';

export interface Second {
  served: number;
  /** Number of requests that were answered with 429. */
  tooMuch: number;
}

const secondMs = 1_000;

export class Traffic {
  readonly seconds: Second[] = [];
  readonly #bears: Bearable['requests'];
  #firstAt: number | undefined;
  #room: number;
  #roomAt = 0;

  constructor(bears: Bearable['requests']) {
    this.#bears = bears;
    this.#room = bears?.burst ?? Infinity;
  }

  /** Returns true if the limit allows another request, and counts it. */
  takesOne(): boolean {
    if (this.#bears === undefined) return true;
    const { perSecond, burst } = this.#bears;
    const now = performance.now();
    this.#room = Math.min(burst, this.#room + ((now - this.#roomAt) * perSecond) / secondMs);
    this.#roomAt = now;
    if (this.#room < 1) return false;
    this.#room -= 1;
    return true;
  }

  count(kind: keyof Second): void {
    const now = performance.now();
    this.#firstAt ??= now;
    const index = Math.floor((now - this.#firstAt) / secondMs);
    while (this.seconds.length <= index) this.seconds.push({ served: 0, tooMuch: 0 });
    const second = this.seconds[index];
    if (second !== undefined) second[kind] += 1;
  }
}
