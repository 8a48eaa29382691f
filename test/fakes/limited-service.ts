/** Services in virtual time that answer 429, each for another reason that real services have. */

/** Returns true if a request that arrives at `now` (ms) exceeds the limit. Otherwise counts the request. */
export type Limit = (now: number) => boolean;

/** Allows `perSecond` requests a second, and `burst` at once. */
export function tokenBucket(perSecond: number, burst: number): Limit {
  let tokens = burst;
  let at = 0;
  return (now) => {
    tokens = Math.min(burst, tokens + ((now - at) * perSecond) / 1000);
    at = now;
    if (tokens < 1 - 1e-9) return true;
    tokens -= 1;
    return false;
  };
}

/** Allows `most` requests in each window of `windowMs`. A window begins when the last one ends. */
export function fixedWindow(most: number, windowMs: number): Limit {
  let window = 0;
  let taken = 0;
  return (now) => {
    if (Math.floor(now / windowMs) !== window) taken = 0;
    window = Math.floor(now / windowMs);
    if (taken >= most) return true;
    taken += 1;
    return false;
  };
}

/** Allows `most` requests within any `windowMs`. */
export function slidingWindow(most: number, windowMs: number): Limit {
  const taken: number[] = [];
  return (now) => {
    while ((taken[0] ?? now) <= now - windowMs) taken.shift();
    if (taken.length >= most) return true;
    taken.push(now);
    return false;
  };
}

/** Workers whose number changes, with a queue of `perWorker` jobs for each. Further jobs are refused. */
export class Workers {
  readonly #count: (now: number) => number;
  readonly #perWorker: number;
  readonly #executionMs: () => number;
  /** Running jobs, ascending by end. */
  readonly #running: { endsAt: number; done: (at: number) => void }[] = [];
  readonly #queued: ((at: number) => void)[] = [];
  /** Executions that have begun. */
  readonly executions: { from: number; to: number }[] = [];

  constructor(count: (now: number) => number, perWorker: number, executionMs: () => number) {
    this.#count = count;
    this.#perWorker = perWorker;
    this.#executionMs = executionMs;
  }

  /** Returns true if the job is accepted, and false if the queue is full. `done` is called when the job ends. */
  take(now: number, done: (endsAt: number) => void): boolean {
    this.passTo(now);
    const most = this.#count(now) * this.#perWorker;
    const isFree = this.#running.length < this.#count(now);
    if (!isFree && this.#queued.length >= most) return false;
    this.#queued.push(done);
    this.passTo(now);
    return true;
  }

  /** Returns the share of time between `from` and `to` in which `workers` workers were busy. */
  shareOfBest(workers: number, from: number, to: number): number {
    const worked = this.executions.map((it) => Math.min(it.to, to) - Math.max(it.from, from));
    return worked.filter((ms) => ms > 0).reduce((sum, ms) => sum + ms, 0) / (workers * (to - from));
  }

  /** Simulates everything until `now`. A removed worker finishes its job. */
  passTo(now: number): void {
    for (;;) {
      const first = this.#running[0];
      if (first === undefined || first.endsAt > now) break;
      this.#running.shift();
      this.#start(first.endsAt);
    }
    this.#start(now);
  }

  #start(at: number): void {
    while (this.#running.length < this.#count(at)) {
      const done = this.#queued.shift();
      if (done === undefined) return;
      const executionMs = this.#executionMs();
      this.executions.push({ from: at, to: at + executionMs });
      this.#running.push({ endsAt: at + executionMs, done });
      this.#running.sort((a, b) => a.endsAt - b.endsAt);
      done(at + executionMs);
    }
  }
}

/** Returns a generator of numbers in [0, 1). The same seed gives the same sequence. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
