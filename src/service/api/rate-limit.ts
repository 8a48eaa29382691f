/** Token-bucket rate limit with one bucket for each caller. */

export interface Rate {
  requests: number;
  withinMs: number;
}

interface Bucket {
  left: number;
  filledAt: number;
}

export class RateLimit {
  readonly #rate: Rate;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Counts one request and returns 0, or returns the ms to wait if the limit is reached. `nowMs` is monotonic. */
  take(who: string, nowMs: number, { requests, withinMs } = this.#rate): number {
    const bucket = this.#buckets.get(who) ?? { left: requests, filledAt: nowMs };
    bucket.left = Math.min(requests, bucket.left + ((nowMs - bucket.filledAt) * requests) / withinMs);
    bucket.filledAt = nowMs;
    this.#buckets.set(who, bucket);
    if (bucket.left < 1) return Math.ceil(((1 - bucket.left) * withinMs) / requests);
    bucket.left -= 1;
    return 0;
  }
}
