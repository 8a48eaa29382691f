/** A request to end the run early, and how far it goes. */
import { setMaxListeners } from 'node:events';
import type { Ending, EndingKind } from '../core/ending.ts';
import { failureRules, FatalFailure, type Failure, type FailureKind } from '../core/failure.ts';

/**
 * - `drain`: submit nothing more, collect what is in flight
 * - `leave`: submit nothing more and ask for nothing more; jobs in flight stay in the checkpoint for the next run
 */
export type StopMode = 'drain' | 'leave';

/** After these the service still tells of the jobs that it has. */
const collecting = new Set<FailureKind>(['workflow-refused']);

/** Shared by everything in a run; the strongest request wins, the first among equals. */
export class Stop {
  readonly #draining = new AbortController();
  readonly #leaving = new AbortController();
  #ending: Ending | undefined;
  #bug: unknown;
  #listener: ((ending: Ending) => void) | undefined;

  readonly #asFailure: (thrown: unknown) => unknown;

  /** `asFailure` makes a `FatalFailure` of what is expected though it was not thrown as one, such as a disk that fails. */
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

  /** Each further submission would be paid for in vain. */
  halt(reason: string, mode: StopMode = 'drain'): void {
    this.request(mode, { kind: 'halted', text: `Halted: ${reason}` });
  }

  /** For a failure that stops a run. */
  forFailure(failure: Failure, mode: StopMode = collecting.has(failure.kind) ? 'drain' : 'leave'): void {
    if (failureRules[failure.kind].next !== 'stop') throw new Error(`${failure.kind} does not stop a run`);
    const kind: EndingKind = failure.kind === 'output-unwritable' ? 'output-unwritable' : 'not-allowed';
    this.request(mode, { kind, text: failure.text });
  }

  /** For whatever a part of the run threw: a `FatalFailure` stops it in order, anything else is a bug. */
  forThrown(thrown: unknown): void {
    const failure = this.#asFailure(thrown);
    if (failure instanceof FatalFailure)
      return this.forFailure(failure.failure, failure.isCollecting ? 'drain' : 'leave');
    this.#bug ??= thrown;
    this.request('leave', { kind: 'bug', text: 'A bug of nightrender ended the run' });
  }

  /** Calls `listener` at each request, and at once for an earlier one. */
  onEnding(listener: (ending: Ending) => void): void {
    this.#listener = listener;
    if (this.#ending !== undefined) listener(this.#ending);
  }

  get ending(): Ending | undefined {
    return this.#ending;
  }

  /** The first bug that was thrown. */
  get bug(): unknown {
    return this.#bug;
  }

  /** Aborts with either mode. */
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }
}

/** Thrown if a stop ends work before its batch was changed. */
export class StoppedEarly extends Error {
  readonly ending: Ending;

  /** `consequence` is a sentence: what that means for the batch. */
  constructor(ending: Ending, consequence: string) {
    super(`${ending.text}. ${consequence}`);
    this.ending = ending;
  }
}
