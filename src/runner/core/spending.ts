/** Computes what a batch has cost so far, what its jobs in flight will cost, and how many more may be sent. */
import type { Endpoint, StatedCost } from './attempt.ts';
import type { FailureKind } from './failure.ts';
import { noPicture, type SavedPicture, splitFiles } from './picture.ts';
import { shareOf, withObservation, type ObservedTimes } from './polling.ts';

/** Prices, which are added up. */
interface Prices {
  perSecond?: number | undefined;
  perPicture?: number | undefined;
  /** Price per million pixels. */
  perMegapixel?: number | undefined;
  /** Price of a second that a clip lasts. */
  perSecondOfVideo?: number | undefined;
  currency: string;
}

/** Key `pricing` of pipeline.yaml. */
export interface PriceList extends Prices {
  /** Path of the price in the service's answers. The other prices are then for jobs that state none. */
  at?: string | undefined;
  /** Expected execution time of a job in ms, used until a real one is known. */
  expect?: number | undefined;
}

/** Prices and assumptions in the record of a batch. At least one price is set. */
export interface Pricing extends Prices {
  at?: string | undefined;
  expectMs?: number | undefined;
  /** Maximum assumed for a job whose execution time is unknown: `timeouts.execution`. */
  maxMs?: number | undefined;
  /** True if no job returns pictures, so the number of pictures need not be learned. */
  isWithoutPictures?: boolean;
}

/** Returns prices and assumptions, or undefined if nothing has a price. */
export function pricingOf({
  pricing,
  timeouts,
  output,
}: {
  pricing?: PriceList | undefined;
  timeouts: { execution: number };
  output: { image?: string | undefined };
}): Pricing | undefined {
  if (pricing === undefined || !hasPrice(pricing)) return undefined;
  const { expect: expectMs, ...prices } = pricing;
  const isWithoutPictures = output.image === noPicture;
  return { ...prices, expectMs, maxMs: timeouts.execution, ...(isWithoutPictures && { isWithoutPictures }) };
}

/** True for the user's own ComfyUI without a price, because nobody bills its jobs. */
export function isFreeOfCharge({ version }: Endpoint, pricing: Pricing | undefined): boolean {
  return version === 'comfyui' && pricing === undefined;
}

export interface SpendingLimits {
  /** In the currency of the pricing. No limit if absent. */
  cost?: number | undefined;
  jobs?: number | undefined;
}

/** Usage of all submissions of a batch so far. Times and pictures to bill are those of jobs that stated no price. */
export interface Spending {
  /** Number of submissions that may have become a job, including those in flight. */
  jobs: number;
  /** Sum of known execution ms, as the service reports or the submitting run observed. */
  executedMs: number;
  /** Number of finished submissions with unknown outcome: unanswered, expired and adopted. */
  untold: number;
  /** Number of finished submissions that may have been billed for an unknown time. Each counts as one usual job. */
  untimed: number;
  /** Number of finished submissions that may have been billed for pictures. */
  rendered: number;
  brought: Brought;
  /** Number and sum of the prices that jobs stated at `Pricing.at`. */
  statedJobs: number;
  stated: number;
  /** Number of saved jobs whose answers had no price there. */
  unstated: number;
  /** Latest stated prices of saved jobs, ascending. */
  prices: readonly number[];
}

/** Pictures that jobs have returned, including those that were later discarded to be rendered again. */
export interface Brought {
  jobs: number;
  pictures: number;
  pixels: number;
  mostPictures: number;
  mostPixels: number;
  /** Clips among the pictures whose durations are known, and these durations. */
  clips: number;
  clipMs: number;
  mostClipMs: number;
}

export const nothingBrought: Brought = {
  jobs: 0,
  pictures: 0,
  pixels: 0,
  mostPictures: 0,
  mostPixels: 0,
  clips: 0,
  clipMs: 0,
  mostClipMs: 0,
};

export const nothingStated = {
  statedJobs: 0,
  stated: 0,
  unstated: 0,
  prices: [],
} satisfies Partial<Spending>;

/** Jobs ended without a picture: billed neither for pictures nor for an unknown time. */
export const kindsWithoutPicture = [
  'job-failed',
  'job-timed-out',
  'default-timeout',
  'job-cancelled',
  'cancelled',
] as const satisfies readonly FailureKind[];

/** Outcome of a submission that may have been billed. */
export interface JobEnd {
  /** Execution time in ms, as the service reported it. */
  reportedMs: number | undefined;
  /** Execution time in ms, as observed by the run that submitted the job. */
  seenMs: number | undefined;
  /** Returned pictures, or the reason why there are none. `unknown` if the job expired or was never answered. */
  made: SavedPicture[] | FailureKind | 'unknown';
  cost?: StatedCost | undefined;
}

/**
 * Returns the spending with one more submission that has ended, but does not count it in `jobs` again. `random`,
 * in [0, 1), chooses the time or price to drop if a sample is full.
 */
export function withEnd(
  spending: BatchSpending,
  { reportedMs, seenMs, made, cost }: JobEnd,
  random: number,
): BatchSpending {
  const { executedMs, untold, untimed, rendered, brought, times, prices } = spending;
  const isSaved = typeof made !== 'string';
  const amount = cost?.amount;
  const isStated = amount !== undefined;
  const isFree = isStated || kindsWithoutPicture.some((kind) => kind === made);
  // Nobody saw the end of an unknown job. The observed time is only how long the run waited.
  const ms = reportedMs ?? (made === 'unknown' ? undefined : seenMs);
  const shownMs = isSaved ? ms : reportedMs;
  return {
    ...spending,
    executedMs: executedMs + (isStated ? 0 : (ms ?? 0)),
    untold: untold + (made === 'unknown' ? 1 : 0),
    untimed: untimed + (ms === undefined && !isFree ? 1 : 0),
    rendered: rendered + (isFree ? 0 : 1),
    brought: isSaved && !isStated ? addBrought(brought, broughtBy(made)) : brought,
    times: shownMs === undefined ? times : withObservation(times, shownMs, random),
    statedJobs: spending.statedJobs + (isStated ? 1 : 0),
    stated: spending.stated + (amount ?? 0),
    unstated: spending.unstated + (isSaved && cost !== undefined && !isStated ? 1 : 0),
    prices: isSaved && isStated ? withObservation(prices, amount, random) : prices,
  };
}

/** Execution times of the batch's latest jobs in ascending ms: as reported, else for saved jobs as observed. */
export type ExecutionTimes = ObservedTimes;

export type BatchSpending = Spending & { times: ExecutionTimes };

/** Below this many times, twice the longest replaces the 95th percentile, and few jobs are sent. */
const enoughTimes = 20;

/** Returns a time or price that one more job is unlikely to exceed. `known`: ascending. Undefined if there is none. */
export function expectedMost(known: readonly number[]): number | undefined {
  const most = known.at(-1);
  if (most === undefined) return undefined;
  return known.length < enoughTimes ? 2 * most : shareOf(known, 0.95);
}

export function hasPrice({ at, ...rates }: Omit<Pricing, 'currency'>): boolean {
  return at !== undefined || hasRate(rates);
}

function hasRate(pricing: Omit<Pricing, 'currency'>): boolean {
  const { perSecond, perPicture, perMegapixel, perSecondOfVideo } = pricing;
  return (perSecond ?? perPicture ?? perMegapixel ?? perSecondOfVideo) !== undefined;
}

export interface Billed {
  ms: number;
  pictures: number;
  pixels: number;
  /** Duration of clips. */
  clipMs: number;
}

/** Assumed size of a picture of unknown size. */
const usualPixels = 1e6;

/** Assumed duration of a clip until one is known. Most models make clips of 4 to 8 seconds. */
const usualClipMs = 5_000;

/** Returns the quantities of a typical job if none is known; undefined without a rate, or if billed time has no `expect`. */
export function unseenJob(pricing: Pricing): Partial<Billed> | undefined {
  const { perSecond, perPicture, perMegapixel, perSecondOfVideo, expectMs } = pricing;
  if (!hasRate(pricing)) return undefined;
  if (perSecond !== undefined && expectMs === undefined) return undefined;
  return {
    ...(perSecond !== undefined && { ms: usualMs([], pricing) }),
    ...(perPicture !== undefined && { pictures: 1 }),
    ...(perMegapixel !== undefined && { pixels: usualPixels }),
    ...(perSecondOfVideo !== undefined && { clipMs: usualClipMs }),
  };
}

export function priceOf(billed: Partial<Billed>, pricing: Pricing): number {
  const { ms = 0, pictures = 0, pixels = 0, clipMs = 0 } = billed;
  const { perSecond = 0, perPicture = 0, perMegapixel = 0, perSecondOfVideo = 0 } = pricing;
  const bySecond = (ms * perSecond + clipMs * perSecondOfVideo) / 1000;
  return bySecond + pictures * perPicture + (pixels / 1e6) * perMegapixel;
}

/** Returns the pictures that one job has returned. Files beside pictures, such as masks, do not count. */
export function broughtBy(saved: SavedPicture[]): Brought {
  const { pictures } = splitFiles(saved);
  const pixels = pictures.map(({ width, height }) => width * height);
  const clipMs = pictures.flatMap(({ output }) => output?.clip?.durationMs ?? []);
  return {
    jobs: Math.min(1, pixels.length),
    pictures: pixels.length,
    pixels: pixels.reduce((sum, each) => sum + each, 0),
    mostPictures: pixels.length,
    mostPixels: Math.max(0, ...pixels),
    clips: clipMs.length,
    clipMs: clipMs.reduce((sum, each) => sum + each, 0),
    mostClipMs: Math.max(0, ...clipMs),
  };
}

export function addBrought(some: Brought, more: Brought): Brought {
  return {
    jobs: some.jobs + more.jobs,
    pictures: some.pictures + more.pictures,
    pixels: some.pixels + more.pixels,
    mostPictures: Math.max(some.mostPictures, more.mostPictures),
    mostPixels: Math.max(some.mostPixels, more.mostPixels),
    clips: some.clips + more.clips,
    clipMs: some.clipMs + more.clipMs,
    mostClipMs: Math.max(some.mostClipMs, more.mostClipMs),
  };
}

/** Returns the time assumed for a job of unknown duration: the median, or `expect` before the first known time. */
function usualMs(times: ExecutionTimes, { expectMs = 0, maxMs = Infinity }: Pricing): number {
  return Math.min(maxMs, shareOf(times, 0.5) ?? expectMs);
}

/** Returns the amount spent: stated prices, and an estimate for other jobs. */
function spentOn(spending: Spending, times: ExecutionTimes, pricing: Pricing): number {
  return spending.stated + estimateOf(spending, times, pricing);
}

/** Estimates with median time and average pictures for a job of unknown ones, or without a rate by the median price. */
function estimateOf(spending: Spending, times: ExecutionTimes, pricing: Pricing): number {
  const { executedMs, untimed, rendered, brought, prices } = spending;
  if (!hasRate(pricing)) return rendered * (shareOf(prices, 0.5) ?? 0);
  const ms = executedMs + untimed * usualMs(times, pricing);
  const { jobs, pictures, pixels, clips, clipMs } = brought;
  const others = Math.max(0, rendered - jobs);
  const [usual, size] = jobs === 0 ? [1, usualPixels] : [pictures / jobs, pixels / pictures];
  const made = pictures + others * usual;
  const usualMsOfClip = clips === 0 ? usualClipMs : clipMs / clips;
  const billed = { ms, pictures: made, pixels: pixels + others * usual * size };
  return priceOf({ ...billed, clipMs: clipMs + (made - clips) * usualMsOfClip }, pricing);
}

/** Returns a price that one more job is unlikely to exceed. `unseen`: pictures assumed if none is known. */
function expectedPrice(spending: Spending, times: ExecutionTimes, pricing: Pricing, unseen = 1): number {
  const { jobs, mostPictures, mostPixels, clips, mostClipMs } = spending.brought;
  const [pictures, size] = jobs === 0 ? [unseen, usualPixels] : [mostPictures, mostPixels];
  const clipMs = pictures * (clips === 0 ? usualClipMs : mostClipMs);
  const ms = expectedMost(times) ?? pricing.expectMs ?? 0;
  const byRates = priceOf({ ms, pictures, pixels: pictures * size, clipMs }, pricing);
  return Math.max(byRates, expectedMost(spending.prices) ?? 0);
}

/** True if jobs are saved, but neither they nor a rate show what a job costs. A limit could not be held. */
export function isPriceUnknown({ prices, unstated }: Spending, pricing: Pricing): boolean {
  return !hasRate(pricing) && prices.length === 0 && unstated > 0;
}

/** Pictures assumed per job until the first job is saved. Services usually make at most this many in one job. */
const maxUnseenPictures = 4;

/**
 * Returns how many jobs may be submitted on top of `inFlight`. The amount spent and the expected cost of all
 * jobs in flight stay below the limit, so at most one job exceeds it. Short jobs end first, so their times
 * are not representative. Therefore few jobs are in flight while few have ended, and only one while nothing
 * is known. The same applies to the number of pictures, unless `pricing.expect` is set, to the durations of clips
 * and to stated prices.
 */
export function allowedSubmissions(
  inFlight: number,
  spending: Spending,
  times: ExecutionTimes,
  limits: SpendingLimits,
  pricing: Pricing | undefined,
): number {
  const jobs = Math.max(0, (limits.jobs ?? Infinity) - spending.jobs);
  if (limits.cost === undefined || pricing === undefined) return jobs;
  const left = limits.cost - spentOn(spending, times, pricing);
  if (left <= 0 || isPriceUnknown(spending, pricing)) return 0;
  const isStated = spending.prices.length > 0;
  const each = expectedPrice(spending, times, pricing, isStated ? 1 : maxUnseenPictures);
  // Subtracts rounding errors: a sum of ten prices of 0.003 is not exact.
  const affordable = each === 0 ? Infinity : Math.ceil(left / each - 1e-6);
  const { at, perSecond, perPicture, perMegapixel, perSecondOfVideo, expectMs, isWithoutPictures } = pricing;
  const hasUnknownPictures =
    perMegapixel !== undefined || (perPicture !== undefined && expectMs === undefined);
  const known = Math.min(
    perSecond === undefined ? Infinity : maxJobsAfter(times.length),
    hasUnknownPictures && isWithoutPictures !== true && at === undefined
      ? maxJobsAfter(spending.brought.jobs)
      : Infinity,
    perSecondOfVideo === undefined || at !== undefined ? Infinity : maxJobsAfter(spending.brought.clips),
    at === undefined ? Infinity : maxJobsAfter(spending.prices.length + spending.unstated),
  );
  return Math.min(jobs, Math.max(0, Math.min(affordable, known) - inFlight));
}

function maxJobsAfter(known: number): number {
  return known < enoughTimes ? 1 + 2 * known : Infinity;
}

export interface Cost {
  spent: number;
  /** Part of `spent` that the service stated. The rest is estimated. Absent without `pricing.at`. */
  stated?: number;
  currency: string;
  limit?: number;
}

export interface BatchCost extends Cost {
  /** Expected cost of the jobs in flight: the 95th percentile of their time, and the most pictures. */
  inFlight: number;
  /** Number of submissions with unknown outcome that may have been billed. They count as usual jobs in `spent`. */
  untold: number;
  /** Number of jobs whose prices are in `stated`. */
  statedJobs?: number;
}

export function batchCost(spending: BatchSpending, inFlight: number, pricing: Pricing): BatchCost {
  const expected = inFlight * expectedPrice(spending, spending.times, pricing);
  const { untold, statedJobs } = spending;
  const isStated = pricing.at !== undefined;
  return { ...costOf(spending, pricing), inFlight: expected, untold, ...(isStated && { statedJobs }) };
}

export function costOf(spending: BatchSpending, { currency, ...prices }: Pricing): Cost {
  const { stated, times } = spending;
  const spent = spentOn(spending, times, { currency, ...prices });
  return { spent, ...(prices.at !== undefined && { stated }), currency };
}

/** Returns `1.24 USD` or `1.24 of 5.00 USD`. */
export function formatCost({ spent, currency, limit }: Cost): string {
  return `${formatAmount(spent)}${limit === undefined ? '' : ` of ${formatAmount(limit)}`} ${currency}`;
}

/** Returns `1.24 USD so far`, with `pricing.at` also `(1.20 stated by the service, 0.04 estimated)`. */
export function formatSpent(cost: Cost): string {
  const { spent, stated } = cost;
  const all = `${formatCost(cost)} so far`;
  if (stated === undefined) return all;
  // Sums are not exact, so the difference may be a little below 0.
  const estimated = Math.max(0, spent - stated);
  return `${all} (${formatAmount(stated)} stated by the service, ${formatAmount(estimated)} estimated)`;
}

/** Unit price that a service states before any job. */
export interface UnitPrice {
  amount: number;
  /** In the service's words, such as `megapixels`. */
  unit: string;
  currency: string;
}

/** Formats small amounts with two significant digits: `0.0042`. */
function formatAmount(amount: number): string {
  const digits = amount === 0 || amount >= 1 ? 2 : 1 - Math.floor(Math.log10(amount));
  return amount.toFixed(Math.min(8, Math.max(2, digits)));
}
