/** What everything in one run shares: the world, the settings, the stop, and what was seen so far. */
import { setMaxListeners } from 'node:events';
import { endpointAddress, type Attempt, type SubmittedAttempt } from '../core/attempt.ts';
import { failureRules, FatalFailure, type Failure } from '../core/failure.ts';
import type { Ending, EndingKind } from '../core/ending.ts';
import { haltReason, noAttempts, unreachableReason, type Tally } from '../core/halting.ts';
import { withObservation, type ObservedTimes } from '../core/observed-times.ts';
import { Budget } from './budget.ts';
import { Reachability, type Operation } from './reachability.ts';
import { Deadline } from './deadline.ts';
import { EndpointLiveness } from './endpoint-liveness.ts';
import { RequestThrottle } from './request-throttle.ts';
import { PollScheduler } from './poll-scheduler.ts';
import { PictureNames } from './picture-names.ts';
import type { Checkpoint, Clock, Downloads, ImageStore, Listener, RenderService, Report } from './ports.ts';
import type { BatchSettings } from './settings.ts';
import { StatsRecorder } from './stats-recorder.ts';
import type { Stop, StopMode } from './stop.ts';

export interface Ports {
  service: RenderService;
  checkpoint: Checkpoint;
  downloads: Downloads;
  images: ImageStore;
  report: Report;
  clock: Clock;
  /** 0 ≤ random < 1. */
  random: () => number;
  emit: Listener;
}

/** What services of this kind allow for `/cancel`. */
const cancelRate = { atOnce: 20, perTenSeconds: 100 };

/** The report has this long beyond the grace: some ten thousand scenes. */
const reportMs = 500;

const maxSharedInARow = 2;

const nothingSpent = { jobs: 0, executedMs: 0, untold: 0, times: [] };

export class Run {
  readonly ports: Ports;
  readonly settings: BatchSettings;
  readonly stop: Stop;
  readonly names: PictureNames;
  readonly throttles: Record<'submit' | 'status' | 'cancel', RequestThrottle>;
  readonly reachability: Reachability;
  readonly liveness: EndpointLiveness;
  readonly deadline: Deadline;
  readonly pollScheduler: PollScheduler;
  readonly stats: StatsRecorder;
  /** Knows no cost until it is loaded. */
  budget: Budget;
  /** Aborts when the grace of a leaving run is over: requests in progress are cut. */
  readonly abandoned: AbortSignal;
  /** Aborts a moment later: the report of a very large batch is cut. */
  readonly hurried: AbortSignal;
  /** Ages at which this run's jobs were seen to be done. */
  observed: ObservedTimes = [];
  /** Jobs of which the service tells nothing, and nobody knows yet whether that is the job's or the endpoint's end. */
  readonly uncertain = new Set<unknown>();
  /** Jobs whose status could not be read of late. */
  readonly unreadable = new Set<unknown>();
  /** Whether one of these was given up with nothing but the endpoint's health to tell that it is there. */
  hasGivenUpLast = false;
  /** Whether it is being found out if one of these has to be given up, so that the others are not. */
  isGivingUpOne = false;
  /** Called when a job makes way for another, though it has not ended. */
  onUncertain: () => void = () => undefined;
  /** Attempts being submitted or followed. */
  inFlight = 0;
  /** Of these, jobs that the service has taken. */
  held = 0;
  /** Whether a job in flight is left to the next run. */
  hasLeft = false;
  /** Whether the scenes are those of the manifest. */
  isPlanned = false;
  /** A bug of ours that ended the run. */
  bug: unknown;
  #tally: Tally = noAttempts;
  /** Jobs whose id two submissions were answered with, and how many such answers came in a row. */
  readonly #shared = new Set<string>();
  #sharedInARow = 0;
  readonly #over = new AbortController();

  constructor(ports: Ports, settings: BatchSettings, stop: Stop) {
    const { clock, random, service, checkpoint } = ports;
    this.ports = ports;
    this.settings = settings;
    this.stop = stop;
    this.names = new PictureNames(checkpoint, settings);
    const { shutdownGraceMs } = settings;
    this.abandoned = abortAfter(shutdownGraceMs, stop, clock, this.#over.signal);
    this.hurried = abortAfter(shutdownGraceMs + reportMs, stop, clock, this.#over.signal);
    const { submit, status } = settings.rate;
    this.throttles = {
      submit: new RequestThrottle(submit, clock, () => this.held),
      status: new RequestThrottle(status, clock),
      cancel: new RequestThrottle(cancelRate, clock),
    };
    this.stats = new StatsRecorder(settings.concurrency, clock, {
      submit: () => this.throttles.submit.isSlowed,
      status: () => this.throttles.status.isSlowed,
    });
    this.reachability = new Reachability(settings.retry, () => clock.elapsed(), random);
    this.liveness = new EndpointLiveness(clock, (endpoint) =>
      this.throttles.status.pass(stop.leaving, () => service.health(endpoint, this.abandoned)),
    );
    this.deadline = new Deadline(settings.limits, clock);
    this.pollScheduler = new PollScheduler(settings.polling, clock, random, stop);
    this.budget = new Budget(settings.limits, undefined, nothingSpent, random);
  }

  /** Aborts when the run has ended. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Nothing is in flight here any more and the report is written, so that nothing has to be cut. */
  end(): void {
    this.#over.abort();
  }

  /** Learns what the batch has spent so far, where that matters. */
  async loadBudget(): Promise<void> {
    const { limits, pricing } = this.settings;
    if (pricing === undefined && limits.jobs === undefined) return;
    const spending = await this.ports.checkpoint.spending();
    this.budget = new Budget(limits, pricing, spending, this.ports.random);
  }

  /** Stops submitting where the time is up. */
  stopAtDeadline(): void {
    if (this.deadline.leftMs(this.observed) <= 0) this.#stopAtLimit(this.deadline.text);
  }

  /** Stops submitting where the money or the number is up; what is being submitted is counted, and still is to be sent. */
  stopAtBudget(): void {
    const text = this.budget.roomFor(0) <= 0 ? this.budget.spentText() : undefined;
    if (text !== undefined) this.#stopAtLimit(text);
  }

  /** Nobody can tell whether the service has lost this job or all of them: it no longer holds its lane. */
  markUncertain(job: unknown): void {
    if (this.uncertain.has(job)) return;
    this.uncertain.add(job);
    this.onUncertain();
  }

  /** The service knows this job, or it is settled. */
  forget(job: unknown): void {
    this.uncertain.delete(job);
    this.unreadable.delete(job);
  }

  #stopAtLimit(text: string): void {
    this.stop.request('drain', { kind: 'limit-reached', text });
  }

  /** A picture was saved `ageMs` after its submission; where it was resumed, nobody knows how long it waited. */
  countSaved(ageMs: number | undefined): void {
    this.#tally = { ...this.#tally, saved: this.#tally.saved + 1, inARow: 0 };
    if (ageMs !== undefined) this.observed = withObservation(this.observed, ageMs, this.ports.random());
  }

  /** An attempt failed; stops submitting where a halt rule says so. */
  countFailed(failure: Failure): void {
    const { saved, failed, inARow } = this.#tally;
    this.#tally = { saved, failed: failed + 1, inARow: inARow + 1, last: failure };
    const reason = haltReason(this.#tally, this.settings.halt);
    if (reason !== undefined) this.stop.request('drain', { kind: 'halted', text: `Halted: ${reason}` });
  }

  /** A request was not answered. Ends the run where that has lasted too long: without status requests nothing is collected. */
  countSilence(operation: Operation, words: string): void {
    if (this.abandoned.aborted) return;
    this.reachability.silent(operation);
    const now = this.ports.clock.elapsed();
    const contact = this.reachability.of(operation);
    const reason = unreachableReason(operation, contact, now, this.settings.halt, words);
    if (reason === undefined) return;
    this.stop.request(operation === 'submit' ? 'drain' : 'leave', {
      kind: 'halted',
      text: `Halted: ${reason}`,
    });
  }

  /** A scene has been submitted as often as it may, and the service answers nobody: each more may be billed for nothing. */
  stopForSilence({ sceneId, number }: Attempt, { text }: Failure): void {
    const words = `scene ${sceneId} was submitted ${number} times and the service answers nobody (\`retry.submissions\`); the latest: ${text}`;
    this.stop.request('drain', { kind: 'halted', text: `Halted: ${words}` });
  }

  /** Each more would be paid for and lost. */
  stopForLostJobs({ text }: Failure): void {
    this.stop.request('drain', { kind: 'halted', text: `Halted: ${text}` });
  }

  /** Once may be an accident on the way; a service that does so again gives one id to many. */
  shareId(attempt: Attempt, jobId: string, failure: Failure): void {
    this.#shared.add(jobAddress(attempt, jobId));
    this.#sharedInARow += 1;
    if (this.#sharedInARow === maxSharedInARow) this.stopForLostJobs(failure);
  }

  /** A submission was answered with an id of its own. */
  ownId(): void {
    this.#sharedInARow = 0;
  }

  /** Whether another submission was answered with its id: whose picture it brings, nobody can tell. */
  isShared(attempt: SubmittedAttempt): boolean {
    return attempt.isShared === true || this.#shared.has(jobAddress(attempt, attempt.jobId));
  }

  /** Ends the run for a failure that stops it. */
  stopFor(failure: Failure, mode: StopMode = 'leave'): void {
    if (failureRules[failure.kind].next !== 'stop') throw new Error(`${failure.kind} does not stop a run`);
    this.stop.request(mode, endingOf(failure));
  }

  /** Ends the run for whatever a part of it threw: a `FatalFailure` in order, anything else as a bug. */
  stopForThrown(thrown: unknown): void {
    if (thrown instanceof FatalFailure)
      return this.stopFor(thrown.failure, thrown.isCollecting ? 'drain' : 'leave');
    this.bug ??= thrown;
    this.stop.request('leave', { kind: 'bug', text: 'A bug of nightrender ended the run' });
  }
}

function jobAddress({ endpoint }: Attempt, jobId: string): string {
  return `${endpointAddress(endpoint)}/${jobId}`;
}

function endingOf(failure: Failure): Ending {
  if (failure.kind === 'urls-not-allowed') return { kind: 'halted', text: `Halted: ${failure.text}` };
  const kind: EndingKind = failure.kind === 'output-unwritable' ? 'output-unwritable' : 'not-allowed';
  return { kind, text: failure.text };
}

/** Counted from the word to leave, until the run is `over`. */
function abortAfter(ms: number, stop: Stop, clock: Clock, over: AbortSignal): AbortSignal {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  const abortLater = (): Promise<void> => clock.sleep(ms, over).then(() => controller.abort());
  stop.leaving.addEventListener('abort', () => void abortLater(), { once: true });
  return controller.signal;
}
