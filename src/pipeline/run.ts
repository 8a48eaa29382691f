/** What everything in one run shares: the world, the settings, the stop, and what was seen so far. */
import { setMaxListeners } from 'node:events';
import { failureRules, Trouble, type Failure } from '../core/failure.ts';
import type { Ending, EndingKind } from '../core/ending.ts';
import { haltReason, type Streak } from '../core/halting.ts';
import { withObservation, type ObservedTimes } from '../core/polling.ts';
import { growingWaitMs } from '../core/waiting.ts';
import { PictureNames } from './picture-names.ts';
import type { Checkpoint, Clock, ImageStore, Listener, RenderService, Report } from './ports.ts';
import type { BatchSettings } from './settings.ts';
import type { Stop } from './stop.ts';

export interface Ports {
  service: RenderService;
  checkpoint: Checkpoint;
  images: ImageStore;
  report: Report;
  clock: Clock;
  /** 0 ≤ random < 1. */
  random: () => number;
  tell: Listener;
}

export class Run {
  readonly ports: Ports;
  readonly settings: BatchSettings;
  readonly stop: Stop;
  readonly names: PictureNames;
  /** Aborts when the grace of a leaving run is over: requests in progress are cut. */
  readonly abandoned: AbortSignal;
  observed: ObservedTimes = [];
  /** A bug of ours that ended the run. */
  bug: unknown;
  #streak: Streak = { attempts: 0 };
  /** Submissions in a row that brought no readable answer, and when the next may be sent (monotonic ms). */
  #unanswered = 0;
  #nextSubmission = 0;
  /** Monotonic ms; until then the time for submissions does not run. */
  #submittingSince = Infinity;

  constructor(ports: Ports, settings: BatchSettings, stop: Stop) {
    this.ports = ports;
    this.settings = settings;
    this.stop = stop;
    this.names = new PictureNames(ports.checkpoint, settings.pictureName);
    this.abandoned = abortAfterGrace(stop, settings.shutdownGraceMs, ports.clock);
  }

  countAnswered(): void {
    this.#unanswered = 0;
    this.#nextSubmission = 0;
  }

  /** Each submission without an answer may bill: the more of them, the longer the pause before the next. */
  countUnanswered(): void {
    this.#unanswered += 1;
    const { clock, random } = this.ports;
    this.#nextSubmission = clock.elapsed() + growingWaitMs(this.#unanswered, this.settings.retry, random());
  }

  /** Whether the latest submission brought no answer. */
  isProbing(): boolean {
    return this.#unanswered > 0;
  }

  submissionPauseMs(): number {
    return Math.max(0, this.#nextSubmission - this.ports.clock.elapsed());
  }

  beginSubmitting(): void {
    this.#submittingSince = this.ports.clock.elapsed();
  }

  untilDeadlineMs(): number {
    const { submitForMs } = this.settings;
    return submitForMs === undefined
      ? Infinity
      : Math.max(0, this.#submittingSince + submitForMs - this.ports.clock.elapsed());
  }

  stopAtDeadline(): void {
    if (this.untilDeadlineMs() > 0) return;
    this.stop.request('drain', {
      kind: 'limit-reached',
      text: 'The time for submissions (`limits.for`) is over',
    });
  }

  /** A picture was saved `ageMs` after its submission; where it was resumed, nobody knows how long it waited. */
  countSaved(ageMs: number | undefined): void {
    this.#streak = { attempts: 0 };
    if (ageMs !== undefined) this.observed = withObservation(this.observed, ageMs, this.ports.random());
  }

  /** An attempt ended without a picture; stops submitting where a halt rule says so. */
  countFailed(failure: Failure): void {
    this.#streak = { attempts: this.#streak.attempts + 1, last: failure };
    const reason = haltReason(this.#streak, this.settings.halt);
    if (reason !== undefined) this.stop.request('drain', { kind: 'halted', text: `Halted: ${reason}` });
  }

  /** Ends the run for a failure that stops it. */
  stopFor(failure: Failure): void {
    if (failureRules[failure.kind].next !== 'stop') throw new Error(`${failure.kind} does not stop a run`);
    this.stop.request('leave', endingOf(failure));
  }

  /** Ends the run for whatever a part of it threw: a `Trouble` in order, anything else as a bug. */
  stopForThrown(thrown: unknown): void {
    if (thrown instanceof Trouble) return this.stopFor(thrown.failure);
    this.bug ??= thrown;
    this.stop.request('leave', { kind: 'bug', text: 'A bug of nightrender ended the run' });
  }
}

function endingOf(failure: Failure): Ending {
  const kind: EndingKind = failure.kind === 'output-unwritable' ? 'output-unwritable' : 'not-allowed';
  return { kind, text: failure.text };
}

function abortAfterGrace(stop: Stop, graceMs: number, clock: Clock): AbortSignal {
  const abandon = new AbortController();
  const never = new AbortController();
  setMaxListeners(0, abandon.signal);
  const afterGrace = (): Promise<void> => clock.sleep(graceMs, never.signal).then(() => abandon.abort());
  stop.leaving.addEventListener('abort', () => void afterGrace(), { once: true });
  return abandon.signal;
}
