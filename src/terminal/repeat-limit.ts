/** Keeps a bad night's log readable: the first troubles are shown, then a few a minute, the rest are counted. */

const capacity = 40;
const perMinute = 2;

export class RepeatLimit {
  readonly #elapsed: () => number;
  #left = capacity;
  #filledAt: number;
  #heldBack = 0;

  /** `elapsed`: monotonic ms. */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
    this.#filledAt = elapsed();
  }

  mayShow(): boolean {
    const now = this.#elapsed();
    this.#left = Math.min(capacity, this.#left + ((now - this.#filledAt) / 60_000) * perMinute);
    this.#filledAt = now;
    if (this.#left < 1) {
      this.#heldBack += 1;
      return false;
    }
    this.#left -= 1;
    return true;
  }

  /** How many were not shown since the last call. */
  takeHeldBack(): number {
    const count = this.#heldBack;
    this.#heldBack = 0;
    return count;
  }
}
