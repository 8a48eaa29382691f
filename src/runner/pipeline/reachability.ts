/** Whether the service answers submissions and status requests, and how carefully to send while it does not. */
import {
  heard,
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
  #states: Record<Operation, ReachabilityState> = { submit: heard, status: heard };
  /**
   * Submissions that may be on their way at once: one at first and while contact is lost, twice as many with each answer
   * after that. A service that takes jobs and names none that can be asked for is paid for one.
   */
  #window = 1;
  #nextSubmission = 0;

  constructor(waits: Backoff, elapsed: () => number, random: () => number) {
    this.#waits = waits;
    this.#elapsed = elapsed;
    this.#random = random;
  }

  of(operation: Operation): ReachabilityState {
    return this.#states[operation];
  }

  /** A readable answer came, whatever it says. */
  answered(operation: Operation): void {
    this.#states[operation] = heard;
    if (operation !== 'submit') return;
    this.#window = this.#window > maxWindow ? Infinity : this.#window * 2;
    this.#nextSubmission = 0;
  }

  /** No readable answer came. */
  silent(operation: Operation): void {
    const now = this.#elapsed();
    const state = withSilence(this.#states[operation], now);
    this.#states[operation] = state;
    if (operation !== 'submit' || !isLost(state)) return;
    this.#window = 1;
    this.#nextSubmission = now + backoffMs(silentSinceLost(state), this.#waits, this.#random());
  }

  /** Whether submissions are not answered at the moment. */
  isOutage(): boolean {
    return isLost(this.#states.submit);
  }

  /** Submissions that may be sent now on top of `sending` others; `isProbe` where no other job in flight could show that the service is back. */
  roomFor(sending: number, isProbe: boolean): number {
    const now = this.#elapsed();
    if (this.#nextSubmission > now) return 0;
    if (isBlind(this.#states.status, now)) return isProbe ? 1 : 0;
    return Math.max(0, this.#window - sending);
  }

  /** Ms until submissions may be sent again. */
  pauseMs(): number {
    const now = this.#elapsed();
    const blindMs = isBlind(this.#states.status, now) ? blindPauseMs : 0;
    return Math.max(0, blindMs, this.#nextSubmission - now);
  }
}

/** A window of so many has grown enough: nothing more is learned from holding back. */
const maxWindow = 64;
/** While status requests are not answered, submissions are reconsidered this often. */
const blindPauseMs = 5_000;
