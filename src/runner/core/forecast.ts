/** What the rest of a batch will cost and how long it will take, by what its earlier runs needed, else by `pricing`. */
import { type Billed, priceOf, unseenJob, type Pricing, type SpendingLimits } from './spending.ts';

/** What earlier runs of the batch needed. */
export interface Experience {
  /** Scenes that were saved. */
  saved: number;
  /** What all submissions cost together, failed ones included; undefined without a price. */
  spent: number | undefined;
  /** Submissions so far. */
  jobs: number;
  /** Medians of the latest saved jobs, how many these are; null where the service reported none. */
  sample: number;
  executionMs: number | null;
  /** From submission to the saved picture. */
  inFlightMs: number | null;
  /** The latest run with an orderly end that rendered something. */
  lastRun: { jobs: number; tookMs: number; concurrency: number } | null;
}

export interface Forecast {
  /** How many are to be rendered. */
  scenes: number;
  /** Whether `pricing` is set, without which costs are unknown. */
  isPriced: boolean;
  /** In the currency of `pricing`; null where that is unknown. `assumed`: of a scene, where earlier runs do not tell. */
  cost: { amount: number; perScene: number; currency: string; assumed?: Partial<Billed> } | null;
  /** Null where that is unknown. */
  time: { fromMs: number; toMs: number } | null;
  /** Its source. */
  ground: Omit<Experience, 'spent'>;
  /** Limits that end the run before all is rendered, and how many are rendered by then. */
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
  /** How long a job executes where no earlier run tells; undefined where nobody has said it. */
  expectMs: number | undefined;
  limits: SpendingLimits;
  /** Until the run submits nothing more; undefined without such a limit. */
  leftMs: number | undefined;
}

export function forecast(asked: ForecastRequest, experience: Experience): Forecast {
  const { spent: _, ...ground } = experience;
  const cost = costOf(asked, experience);
  const time = asked.scenes === 0 ? null : timeOf(asked, experience);
  const cuts = cutsOf(asked, experience, cost, time);
  return { scenes: asked.scenes, isPriced: asked.pricing !== undefined, cost, time, ground, cuts };
}

/** What a saved scene has cost on the average, with all that failed on the way; else what `pricing` says of one job. */
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
 * With as many jobs in flight as may be, each as long as it was; or at the pace of the latest run, whatever held it
 * back. Where nothing was in flight yet, as long as a job is expected to execute.
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
