/** Limits repeated lines of a log: a token bucket for failures, and growing intervals for progress. */

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

  /** Returns the number of lines suppressed since the last call. */
  takeHeldBack(): number {
    const count = this.#heldBack;
    this.#heldBack = 0;
    return count;
  }
}

/** Interval of progress lines: 10 s in the first minute, then 2 min, which makes 240 lines in eight hours. */
export function logPauseMs(sinceStartMs: number): number {
  return sinceStartMs < 60_000 ? 10_000 : 120_000;
}
