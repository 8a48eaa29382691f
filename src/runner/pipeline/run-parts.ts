/** Creates the objects that the steps of one run share. Each step declares the part that it uses. */
import { setMaxListeners } from 'node:events';
import { Access, EndpointLiveness } from './access.ts';
import { Budget, Deadline } from './submission-limits.ts';
import type { PipelineConfig } from './pipeline-config.ts';
import { FirstRefusals, HaltMonitor, Reachability, SharedIds, Holds } from './halt-monitor.ts';
import { RefusalCount } from '../core/request-rate.ts';
import { pricingOf } from '../core/spending.ts';
import { PictureNames } from './picture-names.ts';
import { type Job, PollScheduler } from './poll-scheduler.ts';
import { RateLimiter } from './rate-limiter.ts';
import type { Clock, Ports, HealthReply } from './ports.ts';
import { StatsRecorder } from './stats-recorder.ts';
import type { Stop } from './stop.ts';
import { type Attempt, type Endpoint, isKnownStill, type Lost } from '../core/attempt.ts';

/** Rate that job services allow for `/cancel`. */
const cancelRate = { atOnce: 20, perTenSeconds: 100 };

/** Time in ms for the report after the grace period: enough for some ten thousand scenes. */
const reportMs = 500;

export type Run = ReturnType<typeof createRun>;

export function createRun(ports: Ports, config: PipelineConfig, stop: Stop) {
  const { clock, random, service, checkpoint } = ports;
  const { rate, limits, shutdown } = config;
  const over = new AbortController();
  const abandoned = abortAfter(shutdown.grace, stop, clock, over.signal);
  const jobs = new JobsInFlight();
  const limiters = {
    submit: new RateLimiter(rate.submit, clock),
    // A result may be available and be deleted meanwhile, so pauses are limited.
    status: new RateLimiter(rate.status, clock, config.retry.longestWait),
    cancel: new RateLimiter(cancelRate, clock, config.retry.longestWait),
  };
  const liveness = new EndpointLiveness(clock, (endpoint) =>
    limiters.status.pass(stop.leaving, () => service.health(endpoint, abandoned)),
  );
  const { refused: refusedMs } = config.halt;
  const access = new Access({ clock, emit: ports.emit, stop, over: over.signal, liveness, refusedMs });
  const reachability = new Reachability(config.retry, () => clock.elapsed(), random);
  return {
    ports,
    config,
    stop,
    jobs,
    limiters,
    refusals: new RefusalCount(),
    access,
    reachability,
    /** Aborts when the grace period of a leaving run ends, which cancels requests in progress. */
    abandoned,
    /** Aborts a little later, which cancels the report of a very large batch. */
    reportAbandoned: abortAfter(shutdown.grace + reportMs, stop, clock, over.signal),
    /** Aborts when no job is in flight and the report is written. */
    over: over.signal,
    end: () => over.abort(),
    names: new PictureNames(checkpoint, config),
    stats: new StatsRecorder(
      config.concurrency,
      clock,
      () => limiters.submit.isPaused,
      config.maxConcurrency,
    ),
    liveness,
    repeats: new Repeats(clock, (endpoint) => liveness.ask(endpoint)),
    deadline: new Deadline(limits, clock, random),
    pollScheduler: new PollScheduler(config.polling, clock, random, stop),
    budget: new Budget(limits, pricingOf(config), random),
    holds: new Holds(ports, config, stop, abandoned),
    firstRefusals: new FirstRefusals(checkpoint, stop),
    halts: new HaltMonitor(config.halt, stop, reachability, clock, abandoned),
    sharedIds: new SharedIds(stop),
  };
}

/** Returns a signal that aborts `ms` after the request to leave, unless the run is `over` before. */
function abortAfter(ms: number, stop: Stop, clock: Clock, over: AbortSignal): AbortSignal {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  const abortLater = (): Promise<void> => clock.sleep(ms, over).then(() => controller.abort());
  stop.leaving.addEventListener('abort', () => void abortLater(), { once: true });
  return controller.signal;
}

/** Counts the jobs in flight, and lists those whose state is unclear. */
class JobsInFlight {
  /** Number of attempts being submitted or followed. */
  count = 0;
  /** Jobs unknown to the service while it is unclear whether the job or the endpoint is gone. */
  readonly uncertain = new Set<Job>();
  /** Jobs whose latest status could not be read. */
  readonly unreadable = new Set<Job>();
  /** Completed jobs whose output may come a moment later. They occupy no slot. */
  readonly awaited = new Set<Job>();
  /** Lost submissions whose jobs may be listed later. They occupy no slot. */
  readonly sought = new Set<Attempt>();
  /** Number of consecutive jobs that were completed and stayed without an output. */
  #emptyInARow = 0;
  /** True if an unreadable job was given up with only the endpoint's health as a sign of life. */
  hasGivenUpLast = false;
  /** True while it is being decided whether to give up one uncertain job, so that no other job is given up. */
  isGivingUpOne = false;
  /** Called when an uncertain, awaited or sought job frees its slot. */
  onUncertain: () => void = () => undefined;
  readonly #onSought = new Map<Attempt, () => void>();

  markUncertain(job: Job): void {
    if (this.uncertain.has(job)) return;
    this.uncertain.add(job);
    this.onUncertain();
  }

  markSought(attempt: Attempt): void {
    if (this.sought.has(attempt)) return;
    this.sought.add(attempt);
    this.#onSought.get(attempt)?.();
    this.onUncertain();
  }

  untilSought(attempt: Attempt): Promise<void> {
    return new Promise((resolve) => this.#onSought.set(attempt, resolve));
  }

  /** Returns how long to wait for the output of a completed job, in ms. Undefined if it was awaited long enough. */
  awaitOutput(job: Job): number | undefined {
    const waitMs = outputWaitsMs[job.emptyAnswers];
    if (waitMs === undefined || this.#emptyInARow >= maxEmptyInARow) {
      this.#emptyInARow += 1;
      return undefined;
    }
    job.emptyAnswers += 1;
    this.awaited.add(job);
    this.onUncertain();
    return waitMs;
  }

  /** Records that the service returns outputs with its answers. */
  countOutput(): void {
    this.#emptyInARow = 0;
  }

  /** Removes the job from all lists, because the service knows it or it is settled. */
  forget(job: Job): void {
    this.awaited.delete(job);
    this.uncertain.delete(job);
    this.unreadable.delete(job);
  }
}

/** Some services report COMPLETED a moment before they have stored the output. */
const outputWaitsMs = [1_000, 3_000, 10_000];
/** Number of consecutive jobs without output after which the run stops waiting for outputs. */
const maxEmptyInARow = 3;

type Ask = (endpoint: Endpoint) => Promise<HealthReply | undefined>;

/** Time after which a service that has not shown whether it recognizes submissions is no longer waited for. */
const undecidedMs = 11 * 60_000;

/** A lost submission may be sent again only if the service recognizes its key. */
class Repeats {
  readonly #clock: Clock;
  readonly #askHealth: Ask;
  /** Time for which the service recognizes a submission, as it has shown. Undefined if it has not. */
  #shownMs: number | undefined;
  /** True if this run's own submissions have shown the time. */
  #hasLearned = false;
  /** True if the service has answered a health request. */
  #hasHealth = false;

  /** `askHealth` resolves to undefined if the run is left. */
  constructor(clock: Clock, askHealth: Ask) {
    this.#clock = clock;
    this.#askHealth = askHealth;
  }

  /** Learns the time from the latest accepted submission, because another service may answer by now. */
  learn(shownMs: number | undefined): void {
    this.#hasLearned = true;
    this.#shownMs = shownMs;
  }

  /** Returns the current times on both clocks. Must be called before a submission is sent. */
  instant(): Omit<Lost, 'failure' | 'sentBy'> {
    return { sentAt: this.#clock.now(), sentElapsed: this.#clock.elapsed() };
  }

  /** Asks the service if nothing has shown the time yet. Without an answer, the submission stays. */
  async allow(attempt: Attempt, lost: Lost): Promise<boolean> {
    if (attempt.idempotency === undefined) return false;
    if (this.#knownMs(attempt) === undefined) await this.#ask(attempt.endpoint);
    const isUndecided = this.#knownMs(attempt) === undefined && !this.#hasLearned && !this.#hasHealth;
    if (isUndecided) return isKnownStill(lost, undecidedMs, this.#clock.now(), this.#clock.elapsed());
    return this.isKnown(attempt, lost);
  }

  /** True if the service currently recognizes the submission. */
  isKnown(attempt: Attempt, lost: Lost): boolean {
    const knownMs = this.#knownMs(attempt);
    return knownMs !== undefined && isKnownStill(lost, knownMs, this.#clock.now(), this.#clock.elapsed());
  }

  #knownMs({ idempotency }: Attempt): number | undefined {
    const earlierMs = this.#hasLearned ? undefined : idempotency?.shownMs;
    return idempotency && (this.#shownMs ?? earlierMs);
  }

  /** Requests the health until the service has answered once. */
  async #ask(endpoint: Endpoint): Promise<void> {
    if (this.#hasHealth) return;
    const reply = await this.#askHealth(endpoint);
    this.#hasHealth = reply !== undefined && reply.kind !== 'failure';
    if (reply?.kind === 'answers') this.#shownMs ??= reply.idempotencyMs;
  }
}
