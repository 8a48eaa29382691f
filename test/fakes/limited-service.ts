/** Services in virtual time that answer 429 for all the reasons that services have. */

/** Whether a request that arrives at `now` (ms) is one too many; where it is not, it counts. */
export type Limit = (now: number) => boolean;

/** So many a second, and up to `burst` at once. */
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

/** So many in each stretch of `windowMs`, one beginning when the other ends. */
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

/** So many in any stretch of `windowMs`. */
export function slidingWindow(most: number, windowMs: number): Limit {
  const taken: number[] = [];
  return (now) => {
    while ((taken[0] ?? now) <= now - windowMs) taken.shift();
    if (taken.length >= most) return true;
    taken.push(now);
    return false;
  };
}

/** Workers whose number changes, with a queue of `perWorker` jobs for each; more are refused. */
export class Workers {
  readonly #count: (now: number) => number;
  readonly #perWorker: number;
  readonly #executionMs: () => number;
  /** When the jobs of those that run end, ascending. */
  readonly #running: { endsAt: number; done: (at: number) => void }[] = [];
  readonly #queued: ((at: number) => void)[] = [];
  /** The executions that have begun. */
  readonly executions: { from: number; to: number }[] = [];

  constructor(count: (now: number) => number, perWorker: number, executionMs: () => number) {
    this.#count = count;
    this.#perWorker = perWorker;
    this.#executionMs = executionMs;
  }

  /** Takes a job, or undefined where the queue is full; `done` is told when it ends. */
  take(now: number, done: (endsAt: number) => void): boolean {
    this.passTo(now);
    const most = this.#count(now) * this.#perWorker;
    const isFree = this.#running.length < this.#count(now);
    if (!isFree && this.#queued.length >= most) return false;
    this.#queued.push(done);
    this.passTo(now);
    return true;
  }

  /** Of what `workers` could work from `from` to `to`, the share that was done. */
  shareOfBest(workers: number, from: number, to: number): number {
    const worked = this.executions.map((it) => Math.min(it.to, to) - Math.max(it.from, from));
    return worked.filter((ms) => ms > 0).reduce((sum, ms) => sum + ms, 0) / (workers * (to - from));
  }

  /** Lets everything happen until `now`; a worker that goes finishes its job. */
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

/** 0 ≤ random < 1, the same sequence for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
