/** Stops a run that would go on paying for nothing: attempts keep failing, or the service does not answer. */
import type { Failure } from '../core/failure.ts';
import { haltReason, noAttempts, unreachableReason, type HaltRules, type Tally } from '../core/halting.ts';
import type { Clock } from './ports.ts';
import type { Operation, Reachability } from './reachability.ts';
import type { Stop } from './stop.ts';

export class HaltMonitor {
  readonly #rules: HaltRules;
  readonly #stop: Stop;
  readonly #reachability: Reachability;
  readonly #clock: Clock;
  readonly #abandoned: AbortSignal;
  #tally: Tally = noAttempts;

  constructor(
    rules: HaltRules,
    stop: Stop,
    reachability: Reachability,
    clock: Clock,
    abandoned: AbortSignal,
  ) {
    this.#rules = rules;
    this.#stop = stop;
    this.#reachability = reachability;
    this.#clock = clock;
    this.#abandoned = abandoned;
  }

  countSaved(): void {
    this.#tally = { ...this.#tally, saved: this.#tally.saved + 1, inARow: 0 };
  }

  countFailed(failure: Failure): void {
    const { saved, failed, inARow } = this.#tally;
    this.#tally = { saved, failed: failed + 1, inARow: inARow + 1, last: failure };
    const reason = haltReason(this.#tally, this.#rules);
    if (reason !== undefined) this.#stop.halt(reason);
  }

  /** A request was not answered. Without status requests nothing can be collected, so that the run leaves. */
  countSilence(operation: Operation, words: string): void {
    if (this.#abandoned.aborted) return;
    this.#reachability.silent(operation);
    const now = this.#clock.elapsed();
    const state = this.#reachability.of(operation);
    const reason = unreachableReason(operation, state, now, this.#rules, words);
    if (reason !== undefined) this.#stop.halt(reason, operation === 'submit' ? 'drain' : 'leave');
  }
}
