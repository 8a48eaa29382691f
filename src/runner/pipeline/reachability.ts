/** Tracks whether the service answers, and limits submissions while it does not. */
import {
  noSilence,
  isBlind,
  isLost,
  silentSinceLost,
  withSilence,
  type ReachabilityState,
} from '../core/halting.ts';
import { backoffMs, type Backoff } from '../core/backoff.ts';

export type Operation = 'submit' | 'status';

export class Reachability {
  readonly #elapsed: () => number;
  readonly #random: () => number;
  readonly #waits: Backoff;
  #states: Record<Operation, ReachabilityState> = { submit: noSilence, status: noSilence };
  /**
   * Maximum number of concurrent submissions. It is 1 at first and while contact is lost, and doubles with
   * each later answer. Thus a service whose jobs cannot be polled is paid for only one job.
   */
  #window = 1;
  #nextSubmission = 0;

  constructor(waits: Backoff, elapsed: () => number, random: () => number) {
    this.#waits = waits;
    this.#elapsed = elapsed;
    this.#random = random;
  }

  stateOf(operation: Operation): ReachabilityState {
    return this.#states[operation];
  }

  /** Records a readable answer, whatever it says. */
  answered(operation: Operation): void {
    this.#states[operation] = noSilence;
    if (operation !== 'submit') return;
    this.#window = this.#window > maxWindow ? Infinity : this.#window * 2;
    this.#nextSubmission = 0;
  }

  /** Records that no readable answer came. */
  silent(operation: Operation): void {
    const now = this.#elapsed();
    const state = withSilence(this.#states[operation], now);
    this.#states[operation] = state;
    if (operation !== 'submit' || !isLost(state)) return;
    this.#window = 1;
    this.#nextSubmission = now + backoffMs(silentSinceLost(state), this.#waits, this.#random());
  }

  /** True if submissions are currently not answered. */
  isOutage(): boolean {
    return isLost(this.#states.submit);
  }

  /**
   * Returns how many submissions may be sent on top of `sending`. `isProbe`: no other job in flight could
   * show that the service is back.
   */
  allowedSubmissions(sending: number, isProbe: boolean): number {
    const now = this.#elapsed();
    if (this.#nextSubmission > now) return 0;
    if (isBlind(this.#states.status, now)) return isProbe ? 1 : 0;
    return Math.max(0, this.#window - sending);
  }

  /** Returns the time in ms until submissions may be sent again. */
  pauseMs(): number {
    const now = this.#elapsed();
    const blindMs = isBlind(this.#states.status, now) ? blindPauseMs : 0;
    return Math.max(0, blindMs, this.#nextSubmission - now);
  }
}

/** Window size beyond which submissions are no longer limited. */
const maxWindow = 64;
/** Interval at which submissions are reconsidered while status requests are not answered. */
const blindPauseMs = 5_000;
