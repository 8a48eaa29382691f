/** Sends the requests of one operation in order of arrival, within their rate. `idleReasons` (core/run-stats.ts) lists every reason why a run sends no more. */
import type { Failure } from '../core/failure.ts';
import { isRefusal, TokenBucket, type RequestRate } from '../core/request-rate.ts';
import type { Clock } from './ports.ts';

/** A request that cannot be sent within this time should not be created yet. */
const soonMs = 500;

export class RateLimiter {
  readonly #whole: RequestRate;
  readonly #clock: Clock;
  readonly #maxPauseMs: number;
  readonly #bucket: TokenBucket;
  #atOnce: number;
  #sending = 0;
  /** Functions that send or drop each waiting request, with the signal that drops it. */
  readonly #queue = new Map<(isSent: boolean) => void, AbortSignal>();
  readonly #heeded = new WeakSet<AbortSignal>();
  /** Aborts the wait for the next token. */
  #alarm: AbortController | undefined;

  /** `maxPauseMs` is the longest pause for a Retry-After. */
  constructor(rate: RequestRate, clock: Clock, maxPauseMs = Infinity) {
    this.#whole = rate;
    this.#clock = clock;
    this.#maxPauseMs = maxPauseMs;
    this.#bucket = new TokenBucket(rate, clock.elapsed());
    this.#atOnce = rate.atOnce;
  }

  /** True while a Retry-After keeps all requests waiting. */
  get isPaused(): boolean {
    return this.#bucket.isPaused(this.#clock.elapsed());
  }

  /** Sends the request when its turn comes. Resolves to undefined if `signal` aborts before. */
  async pass<Reply extends { kind: string; failure?: Failure }>(
    signal: AbortSignal,
    request: () => Promise<Reply>,
  ): Promise<Reply | undefined> {
    if (signal.aborted) return undefined;
    const isSent = (this.#queue.size === 0 && this.#take()) || (await this.#turn(signal));
    if (!isSent) return undefined;
    try {
      const reply = await request();
      this.#learn(reply.failure);
      return reply;
    } finally {
      this.#sending -= 1;
      this.#admit();
    }
  }

  /** Shares the rate among this number of programs, including this one. */
  shareAmong(programs: number): void {
    const { atOnce, perTenSeconds } = this.#whole;
    this.#atOnce = Math.max(1, Math.floor(atOnce / programs));
    this.#bucket.change({ atOnce, perTenSeconds: perTenSeconds / programs }, this.#clock.elapsed());
    this.#admit();
  }

  /** Ends a pause, because the service may accept a request again. */
  resume(): void {
    if (!this.isPaused) return;
    this.#bucket.resume();
    this.#admit();
  }

  /** Returns how many more requests could be sent soon, in addition to those that wait. */
  allowedRequests(): number {
    const soon = this.#bucket.tokensWithin(soonMs, this.#clock.elapsed());
    const waiting = this.#queue.size;
    return Math.max(0, Math.min(soon, this.#atOnce - this.#sending) - waiting, waiting === 0 ? 1 : 0);
  }

  #learn(failure: Failure | undefined): void {
    if (failure === undefined) this.#bucket.resume();
    else if (isRefusal(failure))
      this.#bucket.pause(this.#clock.elapsed() + Math.min(this.#maxPauseMs, failure.retryAfterMs ?? 0));
  }

  #turn(signal: AbortSignal): Promise<boolean> {
    this.#dropWhenAborted(signal);
    return new Promise((resolve) => {
      this.#queue.set(resolve, signal);
      if (this.#alarm === undefined) this.#setAlarm();
    });
  }

  /** Drops all waiting requests with one listener, because adding many listeners to a signal is slow. */
  #dropWhenAborted(signal: AbortSignal): void {
    if (this.#heeded.has(signal)) return;
    this.#heeded.add(signal);
    const drop = (): void => {
      for (const [send, its] of this.#queue) if (its === signal && this.#queue.delete(send)) send(false);
      if (this.#queue.size === 0) this.#dropAlarm();
    };
    signal.addEventListener('abort', drop, { once: true });
  }

  #take(): boolean {
    if (this.#sending >= this.#atOnce || !this.#bucket.take(this.#clock.elapsed())) return false;
    this.#sending += 1;
    return true;
  }

  #admit(): void {
    this.#dropAlarm();
    for (const send of this.#queue.keys()) {
      if (!this.#take()) return this.#setAlarm();
      this.#queue.delete(send);
      send(true);
    }
  }

  #dropAlarm(): void {
    // With a given reason, the abort does not create an error with a stack trace.
    this.#alarm?.abort('dropped');
    this.#alarm = undefined;
  }

  #setAlarm(): void {
    // The next answer admits the next request.
    if (this.#sending >= this.#atOnce) return;
    const { signal } = (this.#alarm = new AbortController());
    const waitMs = this.#bucket.waitMs(this.#clock.elapsed());
    void this.#clock.sleep(waitMs, signal).then(() => signal.aborted || this.#admit());
  }
}
