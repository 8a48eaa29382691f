/** What a batch has cost so far, what its jobs in flight are expected to, and how many more may be sent. */
import type { Endpoint } from './attempt.ts';
import type { FailureKind } from './failure.ts';
import { noPicture } from './named-file.ts';
import { shareOf, withObservation, type ObservedTimes } from './observed-times.ts';
import { splitFiles, type SavedPicture } from './picture.ts';

/** Prices, which add up. */
interface Prices {
  /** Price of a second of execution. */
  perSecond?: number | undefined;
  perPicture?: number | undefined;
  /** Price of a million pixels. */
  perMegapixel?: number | undefined;
  /** For people: `USD`. */
  currency: string;
}

/** The key `pricing` of pipeline.yaml. */
export interface PriceList extends Prices {
  /** How long a job executes, in ms, as long as nothing is known of it. */
  expect?: number | undefined;
}

/** What jobs are counted with, as the record of a batch has it. At least one price is set. */
export interface Pricing extends Prices {
  /** `pricing.expect`. */
  expectMs?: number | undefined;
  /** Longest time that a job of unknown execution time is counted with: `timeouts.execution`. */
  maxMs?: number | undefined;
  /** True if no job is asked for a picture, so that nothing is to be learned of pictures. */
  isWithoutPictures?: boolean;
}

/** Returns what jobs are counted with; undefined if nothing has a price. */
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

/** True for a ComfyUI of one's own without a price: nobody sends a bill for its jobs. */
export function isFreeOfCharge({ version }: Endpoint, pricing: Pricing | undefined): boolean {
  return version === 'comfyui' && pricing === undefined;
}

export interface SpendingLimits {
  /** In the currency of the pricing; no bound where left out. */
  cost?: number | undefined;
  /** Submissions of the batch. */
  jobs?: number | undefined;
}

/** What the submissions of a batch took so far. */
export interface Spending {
  /** Submissions that can have become a job, those in flight included. */
  jobs: number;
  /** Ms of execution that are known: as the service reported them, else as the run that submitted the job saw them. */
  executedMs: number;
  /** Submissions that are over and whose outcome is unknown: unanswered, expired and adopted ones. */
  untold: number;
  /** Submissions that are over and may have been billed for an unknown time: each counts as one usual job. */
  untimed: number;
  /** Submissions that are over and may have been billed for pictures. */
  rendered: number;
  brought: Brought;
}

/** Pictures that jobs have brought, also those that were forgotten since, to be rendered again. */
export interface Brought {
  /** That brought any. */
  jobs: number;
  pictures: number;
  pixels: number;
  /** Of one job. */
  mostPictures: number;
  /** Of one picture. */
  mostPixels: number;
}

export const nothingBrought: Brought = { jobs: 0, pictures: 0, pixels: 0, mostPictures: 0, mostPixels: 0 };

/** How a job fails that the service itself has ended without a picture: none is billed. */
export const kindsWithoutPicture = [
  'job-failed',
  'job-timed-out',
  'job-cancelled',
  'cancelled',
] as const satisfies readonly FailureKind[];

/** How a submission ended that the service may have billed. */
export interface JobEnd {
  /** Ms of execution, as the service reported them. */
  reportedMs: number | undefined;
  /** Ms for which the run that submitted the job saw it executing. */
  seenMs: number | undefined;
  /** What it brought, or why nothing; `unknown` if it expired or was never answered. */
  made: SavedPicture[] | FailureKind | 'unknown';
}

/** Returns the spending with one more submission that is over. `random` is in [0, 1). */
export function withEnd(
  spending: BatchSpending,
  { reportedMs, seenMs, made }: JobEnd,
  random: number,
): BatchSpending {
  const { executedMs, untold, untimed, rendered, brought, times } = spending;
  const isSaved = typeof made !== 'string';
  const isFree = kindsWithoutPicture.some((kind) => kind === made);
  // Nobody saw the end of a job that is unknown: what was seen is how long it was waited for.
  const ms = reportedMs ?? (made === 'unknown' ? undefined : seenMs);
  const shownMs = isSaved ? ms : reportedMs;
  return {
    ...spending,
    executedMs: executedMs + (ms ?? 0),
    untold: untold + (made === 'unknown' ? 1 : 0),
    untimed: untimed + (ms === undefined && !isFree ? 1 : 0),
    rendered: rendered + (isFree ? 0 : 1),
    brought: isSaved ? addBrought(brought, broughtBy(made)) : brought,
    times: shownMs === undefined ? times : withObservation(times, shownMs, random),
  };
}

/** Execution times of the batch's latest jobs, ascending ms: as reported, of saved ones else as seen. */
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

export function hasPrice({ perSecond, perPicture, perMegapixel }: Omit<Pricing, 'currency'>): boolean {
  return (perSecond ?? perPicture ?? perMegapixel) !== undefined;
}

/** What is billed. */
export interface Billed {
  ms: number;
  pictures: number;
  pixels: number;
}

/** A picture of an unknown size has this many pixels. */
const usualPixels = 1e6;

/** What has a price of a job of which nothing is known; undefined where nobody has said it. */
export function unseenJob(pricing: Pricing): Partial<Billed> | undefined {
  const { perSecond, perPicture, perMegapixel, expectMs } = pricing;
  if (perSecond !== undefined && expectMs === undefined) return undefined;
  return {
    ...(perSecond !== undefined && { ms: usualMs([], pricing) }),
    ...(perPicture !== undefined && { pictures: 1 }),
    ...(perMegapixel !== undefined && { pixels: usualPixels }),
  };
}

export function priceOf({ ms = 0, pictures = 0, pixels = 0 }: Partial<Billed>, pricing: Pricing): number {
  const { perSecond = 0, perPicture = 0, perMegapixel = 0 } = pricing;
  return (ms / 1000) * perSecond + pictures * perPicture + (pixels / 1e6) * perMegapixel;
}

/** By one job. */
export function broughtBy(saved: SavedPicture[]): Brought {
  const pixels = splitFiles(saved).pictures.map(({ width, height }) => width * height);
  return {
    jobs: Math.min(1, pixels.length),
    pictures: pixels.length,
    pixels: pixels.reduce((sum, each) => sum + each, 0),
    mostPictures: pixels.length,
    mostPixels: Math.max(0, ...pixels),
  };
}

export function addBrought(some: Brought, more: Brought): Brought {
  return {
    jobs: some.jobs + more.jobs,
    pictures: some.pictures + more.pictures,
    pixels: some.pixels + more.pixels,
    mostPictures: Math.max(some.mostPictures, more.mostPictures),
    mostPixels: Math.max(some.mostPixels, more.mostPixels),
  };
}

/** Ms of execution of a job whose own time is unknown: the median, before the first known time `expect`. */
function usualMs(times: ExecutionTimes, { expectMs = 0, maxMs = Infinity }: Pricing): number {
  return Math.min(maxMs, shareOf(times, 0.5) ?? expectMs);
}

/** Returns what was spent. A job whose time or pictures are unknown counts with the usual time and the average pictures. */
export function spentOn(spending: Spending, times: ExecutionTimes, pricing: Pricing): number {
  const { executedMs, untimed, rendered, brought } = spending;
  const ms = executedMs + untimed * usualMs(times, pricing);
  const { jobs, pictures, pixels } = brought;
  const others = Math.max(0, rendered - jobs);
  const [usual, size] = jobs === 0 ? [1, usualPixels] : [pictures / jobs, pixels / pictures];
  const made = pictures + others * usual;
  return priceOf({ ms, pictures: made, pixels: pixels + others * usual * size }, pricing);
}

/** The price that one more job is hardly to exceed. `unseen`: its pictures where none has brought any. */
function expectedPrice({ brought }: Spending, times: ExecutionTimes, pricing: Pricing, unseen = 1): number {
  const { jobs, mostPictures, mostPixels } = brought;
  const [pictures, size] = jobs === 0 ? [unseen, usualPixels] : [mostPictures, mostPixels];
  const ms = expectedMs(times) ?? pricing.expectMs ?? 0;
  return priceOf({ ms, pictures, pixels: pictures * size }, pricing);
}

/** Services make so many in one job; what these jobs ask for is not known before the first is saved. */
const mostUnseenPictures = 4;

/**
 * How many more may be submitted on top of `inFlight` jobs: as long as what is spent and what is expected of those in
 * flight stay below the limit, so that it is exceeded by one job at most. The first to end are the short ones, so
 * while few have ended, few more than those are in flight: one job while nothing is known. The same holds for what jobs
 * bring, unless the user has said with `pricing.expect` what a job is.
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
  const each = expectedPrice(spending, times, pricing, mostUnseenPictures);
  // Of ten times 0.003, a sum of such prices leaves a rest that is none.
  const affordable = each === 0 ? Infinity : Math.ceil(left / each - 1e-6);
  const { perSecond, perPicture, perMegapixel, expectMs, isWithoutPictures } = pricing;
  const hasUnknownPictures =
    perMegapixel !== undefined || (perPicture !== undefined && expectMs === undefined);
  const known = Math.min(
    perSecond === undefined ? Infinity : mostAfter(times.length),
    hasUnknownPictures && isWithoutPictures !== true ? mostAfter(spending.brought.jobs) : Infinity,
  );
  return Math.min(jobs, Math.max(0, Math.min(affordable, known) - inFlight));
}

function mostAfter(known: number): number {
  return known < enoughTimes ? 1 + 2 * known : Infinity;
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
  /** What the jobs in flight are expected to add: the 95th percentile of each, and the most pictures. */
  inFlight: number;
  /** Submissions with unknown outcome that may have been billed: they count as usual jobs in `spent`. */
  untold: number;
}

export function batchCost(spending: BatchSpending, inFlight: number, pricing: Pricing): BatchCost {
  const expected = inFlight * expectedPrice(spending, spending.times, pricing);
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
