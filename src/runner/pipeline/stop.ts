/** A request to end the run early, in one of two modes. */
import { setMaxListeners } from 'node:events';
import type { Ending, EndingKind } from '../core/ending.ts';
import { failureRules, FatalFailure, type Failure, type FailureKind } from '../core/failure.ts';

/**
 * - `drain`: submit nothing more, and collect the jobs in flight
 * - `leave`: send no more requests; jobs in flight stay in the checkpoint for the next run
 */
export type StopMode = 'drain' | 'leave';

/** Failures after which the service still reports on jobs in flight. */
const collecting = new Set<FailureKind>(['workflow-refused']);

/** Shared by all parts of a run. A `leave` request replaces a `drain` request; otherwise the first request wins. */
export class Stop {
  readonly #draining = new AbortController();
  readonly #leaving = new AbortController();
  #ending: Ending | undefined;
  #bug: unknown;
  #listener: ((ending: Ending) => void) | undefined;

  readonly #asFailure: (thrown: unknown) => unknown;

  /** `asFailure` converts expected errors that were not thrown as `FatalFailure`, such as those of a failing disk. */
  constructor(asFailure: (thrown: unknown) => unknown = (thrown) => thrown) {
    this.#asFailure = asFailure;
    // Every job in flight listens.
    setMaxListeners(0, this.#draining.signal, this.#leaving.signal);
  }

  request(mode: StopMode, ending: Ending): void {
    const controller = mode === 'leave' ? this.#leaving : this.#draining;
    if (this.#leaving.signal.aborted || controller.signal.aborted) return;
    this.#ending = ending;
    this.#listener?.(ending);
    controller.abort();
    this.#draining.abort();
  }

  /** Requests a stop because each further submission would be paid for in vain. */
  halt(reason: string, mode: StopMode = 'drain'): void {
    this.request(mode, { kind: 'halted', text: `Halted: ${reason}` });
  }

  /** Requests a stop for a failure whose rule is `stop`. Throws for any other failure, which is a bug. */
  forFailure(failure: Failure, mode: StopMode = collecting.has(failure.kind) ? 'drain' : 'leave'): void {
    if (failureRules[failure.kind].next !== 'stop') throw new Error(`${failure.kind} does not stop a run`);
    const kind: EndingKind = failure.kind === 'output-unwritable' ? 'output-unwritable' : 'not-allowed';
    this.request(mode, { kind, text: failure.text });
  }

  /** Requests a stop for a thrown error: a `FatalFailure` stops the run in order, anything else is a bug. */
  forThrown(thrown: unknown): void {
    const failure = this.#asFailure(thrown);
    if (failure instanceof FatalFailure)
      return this.forFailure(failure.failure, failure.isCollecting ? 'drain' : 'leave');
    this.#bug ??= thrown;
    this.request('leave', { kind: 'bug', text: 'A bug of nightrender ended the run' });
  }

  /** Calls `listener` whenever the ending changes, and immediately if there is one. Replaces an earlier listener. */
  onEnding(listener: (ending: Ending) => void): void {
    this.#listener = listener;
    if (this.#ending !== undefined) listener(this.#ending);
  }

  /** Undefined if nothing has requested a stop. */
  get ending(): Ending | undefined {
    return this.#ending;
  }

  /** First thrown error that is a bug; undefined if there is none. */
  get bug(): unknown {
    return this.#bug;
  }

  /** Aborts in both modes. */
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  /** Aborts in `leave` mode only. */
  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }
}

/** Thrown if a stop ends work before the batch was changed. */
export class StoppedEarly extends Error {
  readonly ending: Ending;

  /** `consequence` is a sentence about the effect on the batch. */
  constructor(ending: Ending, consequence: string) {
    super(`${ending.text}. ${consequence}`);
    this.ending = ending;
  }
}
