/** Creates what the steps of one run share; each step declares the part of it that it uses. */
import { setMaxListeners } from 'node:events';
import { Access } from './access.ts';
import { Budget, Deadline } from './submission-limits.ts';
import { EndpointLiveness } from './endpoint-liveness.ts';
import { FirstRefusals, HaltMonitor, SharedIds } from './halt-monitor.ts';
import { Holds } from './holds.ts';
import { RefusalCount } from '../core/request-rate.ts';
import { pricingOf } from '../core/spending.ts';
import { PictureNames } from './picture-names.ts';
import { PollScheduler } from './poll-scheduler.ts';
import { RateLimiter } from './rate-limiter.ts';
import type { Clock, Ports, HealthReply } from './ports.ts';
import { Reachability } from './reachability.ts';
import type { PipelineConfig } from './pipeline-config.ts';
import { StatsRecorder } from './stats-recorder.ts';
import type { Stop } from './stop.ts';
import type { Job } from './job.ts';
import type { Attempt, Endpoint } from '../core/attempt.ts';
import { isKnownStill, type Lost } from '../core/lost-submission.ts';

/** What services of this kind allow for `/cancel`. */
const cancelRate = { atOnce: 20, perTenSeconds: 100 };

/** The report has this long beyond the grace: some ten thousand scenes. */
const reportMs = 500;

export type Run = ReturnType<typeof startRun>;

export function startRun(ports: Ports, config: PipelineConfig, stop: Stop) {
  const { clock, random, service, checkpoint } = ports;
  const { rate, limits, shutdown } = config;
  const over = new AbortController();
  const abandoned = abortAfter(shutdown.grace, stop, clock, over.signal);
  const jobs = new JobsInFlight();
  const limiters = {
    submit: new RateLimiter(rate.submit, clock),
    // A result may lie there and be deleted meanwhile: the service is asked at least as often as that.
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
    /** Aborts when the grace of a leaving run is over: requests in progress are cut. */
    abandoned,
    /** Aborts a moment later: the report of a very large batch is cut. */
    hurried: abortAfter(shutdown.grace + reportMs, stop, clock, over.signal),
    /** Aborts when nothing is in flight any more and the report is written. */
    over: over.signal,
    end: () => over.abort(),
    names: new PictureNames(checkpoint, config),
    stats: new StatsRecorder(config.concurrency, clock, () => limiters.submit.isPaused),
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

/** Counted from the request to leave, until the run is `over`. */
function abortAfter(ms: number, stop: Stop, clock: Clock, over: AbortSignal): AbortSignal {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  const abortLater = (): Promise<void> => clock.sleep(ms, over).then(() => controller.abort());
  stop.leaving.addEventListener('abort', () => void abortLater(), { once: true });
  return controller.signal;
}

/** Counts the jobs in flight, and keeps those that the service no longer reports on. */
class JobsInFlight {
  /** Attempts being submitted or followed. */
  count = 0;
  /** Jobs unknown to the service while it is unclear whether the job or the endpoint is gone. */
  readonly uncertain = new Set<Job>();
  /** Jobs whose latest status could not be read. */
  readonly unreadable = new Set<Job>();
  /** Completed jobs whose output may come a moment later: they hold no slot. */
  readonly awaited = new Set<Job>();
  /** Jobs in a row that were completed and stayed without an output. */
  #emptyInARow = 0;
  /** True if an unreadable job was given up with only the endpoint's health as a sign of life. */
  hasGivenUpLast = false;
  /** True while giving up one uncertain job is being decided, so that the others are kept. */
  isGivingUpOne = false;
  /** Called when an uncertain or awaited job frees its slot. */
  onUncertain: () => void = () => undefined;

  markUncertain(job: Job): void {
    if (this.uncertain.has(job)) return;
    this.uncertain.add(job);
    this.onUncertain();
  }

  /** How long to wait for the output of a job that is completed without one; undefined if it has been waited for enough. */
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

  /** The service hands in outputs with its answers. */
  countOutput(): void {
    this.#emptyInARow = 0;
  }

  /** The service knows the job, or it is settled. */
  forget(job: Job): void {
    this.awaited.delete(job);
    this.uncertain.delete(job);
    this.unreadable.delete(job);
  }
}

/** Some services say COMPLETED a moment before they have stored the output. */
const outputWaitsMs = [1_000, 3_000, 10_000];
/** A service that never has one is not waited for again and again. */
const maxEmptyInARow = 3;

type Ask = (endpoint: Endpoint) => Promise<HealthReply | undefined>;

/** A service that has not said within about ten minutes what it knows is not waited for. */
const undecidedMs = 11 * 60_000;

/**
 * Tells if a submission whose answer was lost may be sent again: no second job comes of it if the service knows the first by
 * its key.
 */
class Repeats {
  readonly #clock: Clock;
  readonly #askHealth: Ask;
  /** How long the service knows a submission, as it has shown; undefined if it has not. */
  #shownMs: number | undefined;
  /** True if this run's own submissions have shown it. */
  #hasLearned = false;
  /** True if the service has told its health. */
  #isTold = false;

  /** `askHealth` resolves to undefined if the run is left. */
  constructor(clock: Clock, askHealth: Ask) {
    this.#clock = clock;
    this.#askHealth = askHealth;
  }

  /** What the latest accepted submission has shown: another service may answer by now. */
  learn(shownMs: number | undefined): void {
    this.#hasLearned = true;
    this.#shownMs = shownMs;
  }

  /** To be taken before a submission is sent. */
  instant(): Omit<Lost, 'failure'> {
    return { sentAt: this.#clock.now(), sentElapsed: this.#clock.elapsed() };
  }

  /** Asks the service if nothing has shown it yet. One that does not answer may do so later: until then the submission is not given up. */
  async allow(attempt: Attempt, lost: Lost): Promise<boolean> {
    if (attempt.idempotency === undefined) return false;
    if (this.#knownMs(attempt) === undefined) await this.#ask(attempt.endpoint);
    const isUndecided = this.#knownMs(attempt) === undefined && !this.#hasLearned && !this.#isTold;
    if (isUndecided) return isKnownStill(lost, undecidedMs, this.#clock.now(), this.#clock.elapsed());
    return this.isKnown(attempt, lost);
  }

  /** True if the service knows the submission at this moment. */
  isKnown(attempt: Attempt, lost: Lost): boolean {
    const knownMs = this.#knownMs(attempt);
    return knownMs !== undefined && isKnownStill(lost, knownMs, this.#clock.now(), this.#clock.elapsed());
  }

  #knownMs({ idempotency }: Attempt): number | undefined {
    const earlierMs = this.#hasLearned ? undefined : idempotency?.shownMs;
    return idempotency && (this.#shownMs ?? earlierMs);
  }

  /** Asks until the service has answered once. */
  async #ask(endpoint: Endpoint): Promise<void> {
    if (this.#isTold) return;
    const reply = await this.#askHealth(endpoint);
    this.#isTold = reply !== undefined && reply.kind !== 'failure';
    if (reply?.kind === 'answers') this.#shownMs ??= reply.idempotencyMs;
  }
}
