/** What a run may still submit, by money and by number. */
import {
  formatCost,
  nothingBrought,
  roomFor,
  spentOn,
  withEnd,
  type BatchSpending,
  type Cost,
  type JobEnd,
  type Pricing,
  type SpendingLimits,
} from '../core/spending.ts';
import type { Checkpoint } from './ports.ts';

const nothingSpent: BatchSpending = {
  jobs: 0,
  executedMs: 0,
  untold: 0,
  untimed: 0,
  rendered: 0,
  brought: nothingBrought,
  times: [],
};

/** Its cost is unknown until it is loaded. */
export class Budget {
  readonly #limits: SpendingLimits;
  readonly #pricing: Pricing | undefined;
  readonly #random: () => number;
  #spending = nothingSpent;
  #isLoaded = false;

  constructor(limits: SpendingLimits, pricing: Pricing | undefined, random: () => number) {
    this.#limits = limits;
    this.#pricing = pricing;
    this.#random = random;
  }

  /** Reads what the batch has spent so far, where that matters. */
  async load(checkpoint: Pick<Checkpoint, 'spending'>): Promise<void> {
    if (this.#pricing === undefined && this.#limits.jobs === undefined) return;
    this.#spending = await checkpoint.spending();
    this.#isLoaded = true;
  }

  /** How many more may be submitted on top of `inFlight` others, all of which were counted. */
  roomFor(inFlight: number): number {
    return roomFor(inFlight, this.#spending, this.#spending.times, this.#limits, this.#pricing);
  }

  countSubmissions(count: number): void {
    this.#spending = { ...this.#spending, jobs: this.#spending.jobs + count };
  }

  /** It was not accepted after all: no job, no bill. */
  countRefused(): void {
    this.countSubmissions(-1);
  }

  countEnd(end: JobEnd): void {
    this.#spending = withEnd(this.#spending, end, this.#random());
  }

  /** Undefined without `pricing`. */
  cost(): Cost | undefined {
    if (this.#pricing === undefined || !this.#isLoaded) return undefined;
    const spent = spentOn(this.#spending, this.#spending.times, this.#pricing);
    const { cost: limit } = this.#limits;
    return { spent, currency: this.#pricing.currency, ...(limit !== undefined && { limit }) };
  }

  /** Why nothing more may be submitted, in a sentence; undefined while something may. */
  spentText(): string | undefined {
    const { jobs } = this.#limits;
    if (jobs !== undefined && this.#spending.jobs >= jobs)
      return `The maximum of ${jobs.toLocaleString('en')} submissions is reached (\`limits.jobs\`)`;
    const cost = this.cost();
    return cost && `The budget is used up: ${formatCost(cost)} spent (\`limits.cost\`)`;
  }
}
