/** Estimates what the rest of a batch will cost and how long it will take, from earlier runs or `pricing`. */
import { type Billed, priceOf, unseenJob, type Pricing, type SpendingLimits } from './spending.ts';

/** Measurements of the batch's earlier runs. */
export interface Experience {
  saved: number;
  /** Cost of all submissions, including failed ones. Undefined without a price. */
  spent: number | undefined;
  /** Number of submissions so far. */
  jobs: number;
  /** Number of latest saved jobs behind the medians. A median is null if the service reported no times. */
  sample: number;
  executionMs: number | null;
  /** Median time from submission to the saved picture. */
  inFlightMs: number | null;
  /** Latest run that rendered something and ended in order. */
  lastRun: { jobs: number; tookMs: number; concurrency: number } | null;
}

export interface Forecast {
  /** Number of scenes to be rendered. */
  scenes: number;
  isPriced: boolean;
  /**
   * In the currency of `pricing`; null if the cost is unknown. `assumed` is the job assumed for each scene;
   * absent if earlier runs show the cost.
   */
  cost: { amount: number; perScene: number; currency: string; assumed?: Partial<Billed> } | null;
  /** Null if the time is unknown. */
  time: { fromMs: number; toMs: number } | null;
  /** Measurements that the forecast is based on. */
  ground: Omit<Experience, 'spent'>;
  /** Limits that will end the run early, with the number of scenes rendered by then. */
  cuts: Cut[];
}

export type Cut =
  | { limit: 'cost'; of: number; spent: number; currency: string; scenes: number }
  | { limit: 'jobs'; of: number; submitted: number; scenes: number }
  | { limit: 'time'; leftMs: number; scenes: number };

export interface ForecastRequest {
  scenes: number;
  concurrency: number;
  pricing: Pricing | undefined;
  /** Expected execution time if no earlier run shows it; undefined if it is not configured. */
  expectMs: number | undefined;
  limits: SpendingLimits;
  /** Time until the run stops submitting; undefined without such a limit. */
  leftMs: number | undefined;
}

export function forecast(asked: ForecastRequest, experience: Experience): Forecast {
  const { spent: _, ...ground } = experience;
  const cost = costOf(asked, experience);
  const time = asked.scenes === 0 ? null : timeOf(asked, experience);
  const cuts = cutsOf(asked, experience, cost, time);
  return { scenes: asked.scenes, isPriced: asked.pricing !== undefined, cost, time, ground, cuts };
}

/**
 * Multiplies the average cost of a saved scene, failed attempts included. Without earlier runs, uses the job
 * that `pricing` describes.
 */
function costOf({ scenes, pricing }: ForecastRequest, { saved, spent = 0 }: Experience): Forecast['cost'] {
  if (pricing === undefined) return null;
  const isKnown = saved > 0 && spent > 0;
  const assumed = isKnown ? undefined : unseenJob(pricing);
  if (!isKnown && assumed === undefined) return null;
  const perScene = assumed === undefined ? spent / saved : priceOf(assumed, pricing);
  const { currency } = pricing;
  return { amount: scenes * perScene, perScene, currency, ...(assumed && { assumed }) };
}

/**
 * Computes a range from two estimates: full concurrency with the median job, and the throughput of the latest
 * run. If no job is known yet, uses `expectMs`.
 */
function timeOf({ scenes, concurrency, expectMs }: ForecastRequest, seen: Experience): Forecast['time'] {
  const rounds = Math.max(1, scenes / concurrency);
  const times = [
    seen.inFlightMs === null ? [] : rounds * seen.inFlightMs,
    seen.lastRun === null ? [] : (scenes / seen.lastRun.jobs) * seen.lastRun.tookMs,
  ].flat();
  if (times.length === 0 && expectMs !== undefined) times.push(rounds * expectMs);
  return times.length === 0
    ? null
    : { fromMs: Math.round(Math.min(...times)), toMs: Math.round(Math.max(...times)) };
}

function cutsOf(
  { scenes, limits, leftMs }: ForecastRequest,
  { spent = 0, jobs }: Experience,
  cost: Forecast['cost'],
  time: Forecast['time'],
): Cut[] {
  const cuts: Cut[] = [];
  if (limits.jobs !== undefined && limits.jobs - jobs < scenes)
    cuts.push({ limit: 'jobs', of: limits.jobs, submitted: jobs, scenes: Math.max(0, limits.jobs - jobs) });
  if (limits.cost !== undefined && cost !== null && spent + cost.amount > limits.cost) {
    const affordable = Math.max(0, Math.floor((limits.cost - spent) / cost.perScene));
    cuts.push({ limit: 'cost', of: limits.cost, spent, currency: cost.currency, scenes: affordable });
  }
  if (leftMs !== undefined && time !== null && time.toMs > leftMs)
    cuts.push({ limit: 'time', leftMs, scenes: Math.floor((scenes * leftMs) / time.toMs) });
  return cuts;
}
