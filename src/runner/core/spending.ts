/** What a batch has cost so far, what its jobs in flight are expected to, and how many more may be sent. */
import { shareOf, type ObservedTimes } from './observed-times.ts';

export interface Pricing {
  /** Price of a second of execution. */
  perSecond: number;
  /** For people: `USD`. */
  currency: string;
}

export interface SpendingLimits {
  /** In the currency of the pricing; no bound where left out. */
  cost?: number;
  /** Submissions of the batch. */
  jobs?: number;
}

/** What the submissions of a batch took so far. */
export interface Spending {
  /** Submissions that can have become a job, those in flight included. */
  jobs: number;
  /** Ms of execution that are known: as the service reported them, else from first seen executing to the end. */
  executedMs: number;
  /** Submissions that are over and whose execution time is unknown: unanswered, expired and adopted ones. */
  untold: number;
}

/** Execution times of the batch's latest jobs, ascending ms. */
export type ExecutionTimes = ObservedTimes;

export type BatchSpending = Spending & { times: ExecutionTimes };

/** With fewer times than these, twice the longest is expected rather than the 95th percentile, and few are sent. */
const enoughTimes = 20;

/** Ms of execution that one more job is hardly to exceed; undefined where none has ended yet. */
export function expectedMs(times: ExecutionTimes): number | undefined {
  const longest = times.at(-1);
  if (longest === undefined) return undefined;
  return times.length < enoughTimes ? 2 * longest : shareOf(times, 0.95);
}

/** What was spent; of untold submissions the median is taken. */
export function spentOn({ executedMs, untold }: Spending, times: ExecutionTimes, pricing: Pricing): number {
  const median = shareOf(times, 0.5) ?? 0;
  return ((executedMs + untold * median) / 1000) * pricing.perSecond;
}

/**
 * How many more may be submitted on top of `inFlight` jobs: as long as what is spent and what is expected of those in
 * flight stay below the limit, so that it is exceeded by one job at most. The first to end are the short ones, so
 * while few have ended, few more than those are in flight: one job while nothing is known.
 */
export function roomFor(
  inFlight: number,
  spending: Spending,
  times: ExecutionTimes,
  limits: SpendingLimits,
  pricing: Pricing | undefined,
): number {
  const jobs = Math.max(0, (limits.jobs ?? Infinity) - spending.jobs);
  if (limits.cost === undefined || pricing === undefined) return jobs;
  const left = limits.cost - spentOn(spending, times, pricing);
  if (left <= 0) return 0;
  const each = ((expectedMs(times) ?? 0) / 1000) * pricing.perSecond;
  const affordable = each === 0 ? Infinity : Math.ceil(left / each);
  const known = times.length < enoughTimes ? 1 + 2 * times.length : Infinity;
  return Math.min(jobs, Math.max(0, Math.min(affordable, known) - inFlight));
}

/** What a batch has cost so far, as far as it is known. */
export interface Cost {
  spent: number;
  currency: string;
  /** `limits.cost`, where there is one. */
  limit?: number;
}

/** What a batch has cost, with what is not known for sure. */
export interface BatchCost extends Cost {
  /** What the jobs in flight are expected to add: the 95th percentile of each. */
  inFlight: number;
  /** Submissions that may have been billed: they count as median ones in `spent`. */
  untold: number;
}

export function batchCost(spending: BatchSpending, inFlight: number, pricing: Pricing): BatchCost {
  const expected = ((inFlight * (expectedMs(spending.times) ?? 0)) / 1000) * pricing.perSecond;
  const spent = spentOn(spending, spending.times, pricing);
  return { spent, currency: pricing.currency, inFlight: expected, untold: spending.untold };
}

/** `1.24 USD`, `1.24 of 5.00 USD`. */
export function formatCost({ spent, currency, limit }: Cost): string {
  return `${formatAmount(spent)}${limit === undefined ? '' : ` of ${formatAmount(limit)}`} ${currency}`;
}

/** Small amounts keep two digits that matter: `0.0042`. */
function formatAmount(amount: number): string {
  const digits = amount === 0 || amount >= 1 ? 2 : 1 - Math.floor(Math.log10(amount));
  return amount.toFixed(Math.min(8, Math.max(2, digits)));
}
