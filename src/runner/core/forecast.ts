/** Forecasts the cost and time that a batch still takes, before a run and during it. */
import type { PartRecord, SceneCounts } from './scene.ts';
import { type Billed, priceOf, type Pricing, type SpendingLimits, unseenJob } from './spending.ts';
import type { RunCondition, EndedAttempt } from './ending.ts';

export interface Experience {
  saved: number;
  /** Cost of all submissions, including failed ones. Undefined without a price. */
  spent: number | undefined;
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
  scenes: number;
  isPriced: boolean;
  /** In the currency of `pricing`; null if unknown. `assumed`: job assumed for each scene without earlier runs. */
  cost: { amount: number; perScene: number; currency: string; assumed?: Partial<Billed> } | null;
  time: { fromMs: number; toMs: number } | null;
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

/** Multiplies the average cost of a saved scene, or without earlier runs that of the job in `pricing`. */
function costOf({ scenes, pricing }: ForecastRequest, { saved, spent = 0 }: Experience): Forecast['cost'] {
  if (pricing === undefined) return null;
  const isKnown = saved > 0 && spent > 0;
  const assumed = isKnown ? undefined : unseenJob(pricing);
  if (!isKnown && assumed === undefined) return null;
  const perScene = assumed === undefined ? spent / saved : priceOf(assumed, pricing);
  const { currency } = pricing;
  return { amount: scenes * perScene, perScene, currency, ...(assumed && { assumed }) };
}

/** Range from two estimates: full concurrency with the median job (or `expectMs`), and the latest throughput. */
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

/** Scenes to average over, at least twice those in flight, because jobs that begin together end together. */
const latest = 150;
const maxKept = 4_096;
const enough = 3;

/** The latest finished scenes, over which throughput and remaining time are averaged. Instants are monotonic ms. */
export class FinishedScenes {
  #lastAt: number;
  /** Time between finished scenes. The first gap of a run is at most half the duration of its job. */
  readonly gapsMs: number[] = [];
  readonly times: number[] = [];

  constructor(startedAt: number) {
    this.#lastAt = startedAt;
  }

  /** Instant at which the last scene finished, or the run started. */
  get lastAt(): number {
    return this.#lastAt;
  }

  /** Adds a scene. A pause longer than any job is not counted. */
  add(now: number): void {
    // Jobs that began together with the first are half done on average.
    const maxMs = this.gapsMs.length === 0 ? (this.times.at(-1) ?? Infinity) / 2 : longestMs(this.times);
    this.gapsMs.push(Math.min(now - this.#lastAt, maxMs));
    if (this.gapsMs.length > maxKept) this.gapsMs.shift();
    this.#lastAt = now;
  }

  /** Adds a scene of an earlier run's job, whose end says nothing about the throughput. */
  addResumed(now: number): void {
    this.#lastAt = now;
  }

  /** Adds a job's ms: at a worker or, if unknown, since its submission. */
  addJobTime(ms: number): void {
    this.times.push(ms);
    if (this.times.length > latest) this.times.shift();
  }

  /** Returns scenes finished per ms recently, falling while none finishes; undefined for the first few. */
  perMs(now: number, inFlight: number): number | undefined {
    if (this.gapsMs.length < enough) return undefined;
    const gaps = this.gapsMs.slice(-Math.max(latest, 2 * inFlight));
    const quietMs = Math.min(now - this.#lastAt, longestMs(this.times)) - (meanOf(this.times) ?? 0);
    return gaps.length / Math.max(1, sum(gaps) + Math.max(0, quietMs));
  }

  /** Returns the ms until all `left` scenes are finished, `inFlight` in progress; undefined while unknown. */
  leftMs(now: number, left: number, inFlight: number): number | undefined {
    if (left <= 0) return 0;
    const perMs = this.perMs(now, inFlight);
    if (perMs === undefined) return undefined;
    const times = this.times.toSorted((a, b) => a - b);
    const workers = Math.max(1, Math.min(left, inFlight, Math.round(perMs * (meanOf(times) ?? Infinity))));
    // All workers are busy until as many scenes are left as workers. The longest of these jobs ends last.
    return (
      (left - workers) / perMs +
      (times[Math.floor((times.length * workers) / (workers + 1))] ?? workers / perMs)
    );
  }
}

export interface Throughput {
  perSecond: number;
  /** Time until the whole batch is done. Null if the run renders only a part of it. */
  leftMs: number | null;
}

export interface BatchOnRecord {
  scenes: Pick<SceneCounts, 'waiting' | 'active'>;
  /** Part that the run renders. Null for the whole batch. */
  part: PartRecord | null;
  inFlight: number;
  ended: readonly EndedAttempt[];
}

/** Returns throughput and remaining time of a run at work; undefined if too few scenes finished recently. */
export function throughputOf(run: RunCondition, batch: BatchOnRecord, now: number): Throughput | undefined {
  if (run.kind !== 'running') return undefined;
  const { scenes, part, inFlight } = batch;
  const finished = new FinishedScenes(run.since);
  for (const { at, submittedAt, executionTimeMs, hasFinished } of batch.ended.toSorted(
    (a, b) => a.at - b.at,
  )) {
    if (at < run.since) continue;
    const tookMs = executionTimeMs ?? (submittedAt === null ? null : at - submittedAt);
    if (tookMs !== null) finished.addJobTime(tookMs);
    if (!hasFinished) continue;
    const isOfThisRun = submittedAt === null || submittedAt >= run.since;
    if (isOfThisRun) finished.add(at);
    else finished.addResumed(at);
  }
  // The wall clock may have been set back.
  const end = Math.max(now, finished.lastAt);
  const perMs = finished.perMs(end, inFlight);
  if (perMs === undefined) return undefined;
  const leftMs = finished.leftMs(end, scenes.waiting + scenes.active, inFlight);
  return { perSecond: perMs * 1000, leftMs: part === null ? (leftMs ?? null) : null };
}

const minPauseMs = 1_000;

/** Returns the maximum time without a finished scene while jobs are in progress, as far as it is known. */
const longestMs = (times: readonly number[]): number =>
  times.length === 0 ? Infinity : Math.max(minPauseMs, ...times);
const meanOf = (times: readonly number[]): number | undefined =>
  times.length === 0 ? undefined : sum(times) / times.length;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
