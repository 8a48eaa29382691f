/** Stops a run that would pay for nothing, after repeated failures or refusals, and while the service is unreachable. */
import type { Attempt } from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import {
  haltReason,
  type HaltRules,
  isBlind,
  isLost,
  noAttempts,
  noSilence,
  type ReachabilityState,
  silentSinceLost,
  type Tally,
  unreachableReason,
  withSilence,
} from '../core/halting.ts';
import { type Backoff, backoffMs } from '../core/retry-policy.ts';
import type { Checkpoint, Clock } from './ports.ts';
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

  /** Counts an unanswered request. Without status requests nothing can be collected, so the run leaves. */
  countSilence(operation: Operation, words: string): void {
    if (this.#abandoned.aborted) return;
    this.#reachability.silent(operation);
    const now = this.#clock.elapsed();
    const state = this.#reachability.stateOf(operation);
    const reason = unreachableReason(operation, state, now, this.#rules, words);
    if (reason !== undefined) this.#stop.halt(reason, operation === 'submit' ? 'drain' : 'leave');
  }
}

/** Number of different refused scenes that are no coincidence. */
const enoughRefused = 5;

/** Detects refusals before any submission was accepted: the input is then wrong for all scenes, not for one. */
export class FirstRefusals {
  readonly #checkpoint: Pick<Checkpoint, 'hasAccepted'>;
  readonly #stop: Stop;
  readonly #scenes = new Set<string>();
  /** Undefined until it is read. */
  #hasAccepted: boolean | undefined;

  constructor(checkpoint: Pick<Checkpoint, 'hasAccepted'>, stop: Stop) {
    this.#checkpoint = checkpoint;
    this.#stop = stop;
  }

  /** True if scenes wait because of such a refusal. */
  get hasAny(): boolean {
    return this.#scenes.size > 0;
  }

  countAccepted(): void {
    this.#hasAccepted = true;
    this.#scenes.clear();
  }

  /** True if the scene waits because the refusal may be for all. A second one of a scene is its own. */
  async isForAll({ sceneId }: Attempt, { text }: Failure): Promise<boolean> {
    this.#hasAccepted ??= await this.#checkpoint.hasAccepted();
    if (this.#hasAccepted || this.#scenes.has(sceneId)) return false;
    this.#scenes.add(sceneId);
    if (this.#scenes.size === enoughRefused)
      this.#stop.halt(
        `the service has refused the first ${enoughRefused} scenes and accepted none, so \`input\` may be wrong for all of them; the latest: ${text}`,
      );
    return true;
  }
}

type Operation = 'submit' | 'status';

/** Tracks whether the service answers, and limits submissions while it does not. */
export class Reachability {
  readonly #elapsed: () => number;
  readonly #random: () => number;
  readonly #waits: Backoff;
  #states: Record<Operation, ReachabilityState> = { submit: noSilence, status: noSilence };
  /**
   * Maximum number of concurrent submissions. It is 1 until the first is accepted and while contact is lost,
   * and doubles with each later answer. Thus a service whose jobs cannot be polled is paid for only one job.
   */
  #window = 1;
  /** Undefined until the service has answered a submission. */
  #hasAccepted: boolean | undefined;
  #nextSubmission = 0;

  constructor(waits: Backoff, elapsed: () => number, random: () => number) {
    this.#waits = waits;
    this.#elapsed = elapsed;
    this.#random = random;
  }

  stateOf(operation: Operation): ReachabilityState {
    return this.#states[operation];
  }

  /** Records a readable answer, whatever it says. `isAccepted`: it accepts a submission. */
  answered(operation: Operation, isAccepted = false): void {
    this.#states[operation] = noSilence;
    if (operation !== 'submit') return;
    this.#hasAccepted = isAccepted || this.#hasAccepted === true;
    if (this.#hasAccepted) this.#window = this.#window > maxWindow ? Infinity : this.#window * 2;
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

  /** True if the service answers and has not yet accepted any submission. */
  get isRefusing(): boolean {
    return this.#hasAccepted === false && this.#states.submit === noSilence;
  }

  /**
   * Returns how many submissions may be sent on top of `sending`. `isProbe`: no other job could show that
   * the service is back.
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
