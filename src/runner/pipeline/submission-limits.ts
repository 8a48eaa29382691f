/** Decides what a run may still submit: by cost, number and time (`limits`), and a lost submission once more. Reasons for slow sending are in `idleReasons`. */
import { type Attempt, type Endpoint, isKnownStill, type Lost } from '../core/attempt.ts';
import { type ObservedTimes, shareOf, withObservation } from '../core/polling.ts';
import {
  allowedSubmissions,
  type BatchSpending,
  type Cost,
  costOf,
  formatCost,
  isPriceUnknown,
  type JobEnd,
  nothingBrought,
  nothingStated,
  type Pricing,
  type SpendingLimits,
  withEnd,
} from '../core/spending.ts';
import type { Checkpoint, Clock, HealthReply } from './ports.ts';
import type { PipelineConfig } from './pipeline-config.ts';

const nothingSpent: BatchSpending = {
  jobs: 0,
  executedMs: 0,
  untold: 0,
  untimed: 0,
  rendered: 0,
  brought: nothingBrought,
  times: [],
  ...nothingStated,
};

/** Limits submissions by cost and number. The cost is unknown until `load` was called. */
export class Budget {
  readonly #limits: SpendingLimits;
  readonly #pricing: Pricing | undefined;
  readonly #random: () => number;
  #spending = nothingSpent;
  #isLoaded = false;
  #hasUnstated = false;

  constructor(limits: SpendingLimits, pricing: Pricing | undefined, random: () => number) {
    this.#limits = limits;
    this.#pricing = pricing;
    this.#random = random;
  }

  /** Reads the batch's spending so far, if a limit or price needs it. */
  async load(checkpoint: Pick<Checkpoint, 'spending'>): Promise<void> {
    if (this.#pricing === undefined && this.#limits.jobs === undefined) return;
    this.#spending = await checkpoint.spending(this.#pricing?.at);
    this.#isLoaded = true;
  }

  /** Returns how many attempts may be submitted on top of `inFlight`, all of which are counted already. */
  allowedSubmissions(inFlight: number): number {
    return allowedSubmissions(inFlight, this.#spending, this.#spending.times, this.#limits, this.#pricing);
  }

  countSubmissions(count: number): void {
    this.#spending = { ...this.#spending, jobs: this.#spending.jobs + count };
  }

  /** Uncounts a submission that was not accepted: no job, no bill. */
  countRefused(): void {
    this.countSubmissions(-1);
  }

  /** Returns the path of the price for the first saved job of the run that stated none, else undefined. */
  countEnd(end: JobEnd): string | undefined {
    const { unstated } = this.#spending;
    this.#spending = withEnd(this.#spending, end, this.#random());
    if (this.#hasUnstated || this.#spending.unstated === unstated) return undefined;
    this.#hasUnstated = true;
    return end.cost?.at;
  }

  /** Returns undefined without `pricing`. */
  cost(): Cost | undefined {
    if (this.#pricing === undefined || !this.#isLoaded) return undefined;
    const { cost: limit } = this.#limits;
    return { ...costOf(this.#spending, this.#pricing), ...(limit !== undefined && { limit }) };
  }

  /** Returns why nothing more may be submitted, in a sentence. Undefined if something may. */
  spentText(): string | undefined {
    const { jobs } = this.#limits;
    if (jobs !== undefined && this.#spending.jobs >= jobs)
      return `The maximum of ${jobs.toLocaleString('en')} submissions is reached (\`limits.jobs\`)`;
    if (this.#pricing !== undefined && isPriceUnknown(this.#spending, this.#pricing))
      return `No answer of the service states a price at \`${this.#pricing.at}\` (\`pricing.at\`), so \`limits.cost\` cannot be held; correct the path, or set \`pricing.perPicture\` or \`pricing.perSecond\` as well`;
    const cost = this.cost();
    return cost && `The budget is used up: ${formatCost(cost)} spent (\`limits.cost\`)`;
  }
}

type LimitsOfTime = Pick<PipelineConfig['limits'], 'for' | 'until'>;

/** Share of jobs that are done within the time reserved for the last ones. */
const expectedShare = 0.95;

/** Limits submissions by time, so that submitted jobs are expected to be done before the limit. */
export class Deadline {
  readonly #forMs: number;
  /** Epoch ms. */
  readonly #untilAt: number;
  readonly #clock: Clock;
  readonly #random: () => number;
  /** Start of `limits.for` in monotonic ms. Infinity until the run begins to submit. */
  #beganElapsed = Infinity;
  /** Times from submission to completion of this run's jobs, in ms. */
  #ages: ObservedTimes = [];

  constructor(limits: LimitsOfTime, clock: Clock, random: () => number) {
    this.#forMs = limits.for ?? Infinity;
    this.#untilAt = limits.until === undefined ? Infinity : nextHour(limits.until, clock.now());
    this.#clock = clock;
    this.#random = random;
  }

  begin(): void {
    this.#beganElapsed = this.#clock.elapsed();
  }

  /** Records the time from submission to completion of a job. */
  observe(ageMs: number): void {
    this.#ages = withObservation(this.#ages, ageMs, this.#random());
  }

  /** Returns the time in ms until nothing more may be submitted. */
  leftMs(): number {
    const expectedMs = shareOf(this.#ages, expectedShare) ?? 0;
    return Math.max(0, Math.min(this.#forLeftMs(), this.#untilLeftMs()) - expectedMs);
  }

  get text(): string {
    const [name, what] =
      this.#untilLeftMs() < this.#forLeftMs() ? ['limits.until', 'The deadline'] : ['limits.for', 'The time'];
    return `${what} for submissions (\`${name}\`) has passed`;
  }

  #forLeftMs(): number {
    return this.#beganElapsed + this.#forMs - this.#clock.elapsed();
  }

  #untilLeftMs(): number {
    return this.#untilAt - this.#clock.now();
  }
}

/** Returns the ms in which a run that begins at `now` may submit; undefined without a limit. */
export function leftMsAt({ for: forMs = Infinity, until }: LimitsOfTime, now: number): number | undefined {
  const least = Math.min(forMs, until === undefined ? Infinity : nextHour(until, now) - now);
  return least === Infinity ? undefined : least;
}

/** Returns when the wall clock next shows a time such as `07:00`, in epoch ms. */
function nextHour(text: string, now: number): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  const at = new Date(now);
  at.setHours(hours, minutes, 0, 0);
  if (at.getTime() <= now) at.setDate(at.getDate() + 1);
  return at.getTime();
}

type Ask = (endpoint: Endpoint) => Promise<HealthReply | undefined>;

/** Time for which a lost submission may be repeated while the service has not shown whether it recognizes keys. */
const undecidedMs = 11 * 60_000;

/** Decides if a lost submission may be sent again: only while the service recognizes its key. */
export class Repeats {
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

  /** True if the submission may be sent again. First asks the service for its health if nothing has shown the time yet. */
  async mayRepeat(attempt: Attempt, lost: Lost): Promise<boolean> {
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

  /** Requests the health, unless the service has answered such a request before. */
  async #ask(endpoint: Endpoint): Promise<void> {
    if (this.#hasHealth) return;
    const reply = await this.#askHealth(endpoint);
    this.#hasHealth = reply !== undefined && reply.kind !== 'failure';
    if (reply?.kind === 'answers') this.#shownMs ??= reply.idempotencyMs;
  }
}
