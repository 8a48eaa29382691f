/** Keeps a long night's log readable: repeated failures are counted, progress comes at growing intervals. */

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

/** A line each ten seconds for the first minute, then one each two minutes: 240 in eight hours. */
export function logPauseMs(sinceStartMs: number): number {
  return sinceStartMs < 60_000 ? 10_000 : 120_000;
}
