/** How many at once the service bears (requests on their way, or jobs that it holds): found out by adding carefully. */

export interface ConcurrencyRules {
  /** The size is never cut to less. */
  fewest: number;
  /** What each one that is taken adds to the size while it grows, such that as many more are sent with each round. */
  growth: number;
}

/** Those who have their answer make room themselves. So few at once are better kept apart by the pace. */
export const requestRules: ConcurrencyRules = { fewest: 4, growth: 1 };
/** A job stays. Where the service holds too many already, there is room for none. */
export const jobRules: ConcurrencyRules = { fewest: 0, growth: 2 };

/** Instants are monotonic ms. */
export interface ConcurrencyLimit {
  /** So many may be there at once. */
  size: number;
  /** While nothing was too much, each one that is taken makes room for two: the number doubles with each round. */
  isGrowing: boolean;
  /** What the size was before it grew; nothing at the beginning. */
  grewFrom: number;
  /** Where it does not grow, one beyond the size is tried from here on, and again after `pauseMs` if it is refused. */
  probeAt: number;
  pauseMs: number;
  /** Whether one beyond the size is on its way, and how many of them in a row were taken. */
  isProbing: boolean;
  passed: number;
  /** Refusals in a row that were no probes, and the lowest number of others in flight at one of them. */
  inARow: number;
  concurrent: number;
  /** The highest number of others in flight at an accepted one since the size was last cut. */
  most: number;
  /** Cuts in a row though as many had been accepted just before, and the size before the first of them. */
  inVain: number;
  soughtFrom: number;
  cutAt: number;
  /** Until then a single refusal tells nothing of a number, since it was found that some are refused at any. */
  scatterUntil: number;
  /** Tells answers to what was sent since the size was last cut from those to what was sent before. */
  epoch: number;
}

/** What is known of a request when its answer comes. */
export interface Sent {
  /** Others in flight when it was sent. */
  concurrent: number;
  isProbe: boolean;
  epoch: number;
}

/** A run begins with so many. */
const firstSize = 10;
/** One refusal may be a matter of pace; so many in a row with none taken between them are one of number. */
const enoughInARow = 4;
/** Where some are refused at any pace, a row of refusals tells nothing unless it is as improbable as this. */
const hardlyEver = 1e-5;
const firstPauseMs = 200;
/** One wasted request in so long a time, for finding more room this soon. */
const maxPauseMs = 8_000;
/** Growth by less than this is nothing that was found out. */
const someGrowth = 1.1;
const fewUnseen = 4;
/** Where a number that was accepted before is refused. */
const cut = 0.9;
/** After so many cuts in a row that were of no use it is not the number that is refused. */
const enoughInVain = 3;
const scatterLastsMs = 30_000;

/** At the beginning, with `concurrent` of them in flight already. */
export function firstConcurrencyLimit(concurrent: number): ConcurrencyLimit {
  return {
    size: concurrent + firstSize,
    isGrowing: true,
    grewFrom: 0,
    probeAt: 0,
    pauseMs: firstPauseMs,
    isProbing: false,
    passed: 0,
    inARow: 0,
    concurrent: Infinity,
    most: -1,
    inVain: 0,
    soughtFrom: 0,
    cutAt: -Infinity,
    scatterUntil: -Infinity,
    epoch: 0,
  };
}

/** Whether one more may be sent with `concurrent` others in flight. */
export function allows(limit: ConcurrencyLimit, concurrent: number, now: number): boolean {
  return concurrent < limit.size || untilProbeMs(limit, now) === 0;
}

/** Ms until one beyond the size may be tried; none may where only an answer changes that. */
export function untilProbeMs({ isGrowing, isProbing, probeAt }: ConcurrencyLimit, now: number): number {
  return isGrowing || isProbing ? Infinity : Math.max(0, probeAt - now);
}

/** One is sent with `concurrent` others in flight. */
export function withSending(
  limit: ConcurrencyLimit,
  concurrent: number,
): { limit: ConcurrencyLimit; sent: Sent } {
  const isProbe = concurrent >= limit.size;
  const sent = { concurrent, isProbe, epoch: limit.epoch };
  return { limit: isProbe ? { ...limit, isProbing: true } : limit, sent };
}

/** It was taken. Two probes in a row are needed: one may have met a place that had become free unseen, if any was ours. */
export function withTaken(
  limit: ConcurrencyLimit,
  sent: Sent,
  rules: ConcurrencyRules,
  now: number,
): ConcurrencyLimit {
  const { concurrent, isProbe } = sent;
  const isLate = sent.epoch !== limit.epoch;
  const most = isLate || isProbe ? limit.most : Math.max(limit.most, concurrent);
  const calm = { ...limit, inARow: 0, concurrent: Infinity, most };
  if (limit.isGrowing)
    return concurrent * 2 >= limit.size ? { ...calm, size: calm.size + rules.growth } : calm;
  if (!isProbe) return calm;
  const passed = limit.passed + 1;
  const pauseMs = isScattered(limit, now) ? firstPauseMs : limit.pauseMs;
  if (passed < 2 && concurrent > 0)
    return { ...calm, passed, pauseMs, isProbing: false, probeAt: now + firstPauseMs };
  const grewFrom = limit.size;
  return { ...calm, size: concurrent + 2, isGrowing: true, grewFrom, pauseMs, isProbing: false, passed: 0 };
}

/** It was too much; `enough` refusals in a row cut the size, and more where the share `scatter` is refused at any pace. */
export function withRefused(
  limit: ConcurrencyLimit,
  sent: Sent,
  rules: ConcurrencyRules,
  now: number,
  enough = enoughInARow,
  scatter = 0,
): ConcurrencyLimit {
  if (sent.isProbe && limit.isProbing) return withPause({ ...limit, passed: 0 }, now);
  if (sent.epoch !== limit.epoch) return limit;
  const inARow = limit.inARow + 1;
  const concurrent = Math.min(limit.concurrent, sent.concurrent);
  const isUsual = scatter > 0 || isScattered(limit, now);
  const isEnough = inARow >= (isUsual ? enoughInARow : enough) && scatter ** inARow < hardlyEver;
  if (isUsual && !isEnough) return { ...limit, inARow, concurrent };
  if (hasFoundNothing(limit, sent)) {
    const before = { size: limit.grewFrom, isGrowing: false, most: -1, epoch: limit.epoch + 1 };
    return withPause({ ...limit, ...before }, now);
  }
  if (!isEnough) return { ...limit, inARow, concurrent };
  const wasInVain = inARow < enoughInARow && sent.concurrent <= limit.most;
  return withCut({ ...limit, concurrent }, rules, now, wasInVain);
}

/** Cuts that follow each other though some were taken in between were of no use, and are taken back. */
function withCut(
  limit: ConcurrencyLimit,
  rules: ConcurrencyRules,
  now: number,
  wasInVain: boolean,
): ConcurrencyLimit {
  const { concurrent, isGrowing } = limit;
  const isChain = now - limit.cutAt < scatterLastsMs && (wasInVain || isGrowing);
  const inVain = (isChain ? limit.inVain : 0) + (wasInVain ? 1 : 0);
  const soughtFrom = inVain > 1 ? limit.soughtFrom : limit.size;
  const pauseMs = isGrowing ? firstPauseMs : limit.pauseMs;
  const epoch = limit.epoch + 1;
  const calm = { ...limit, inARow: 0, concurrent: Infinity, most: -1, cutAt: now, soughtFrom, epoch };
  if (inVain >= enoughInVain) {
    const scatterUntil = now + scatterLastsMs;
    const before = { size: soughtFrom, isGrowing: true, grewFrom: 0, pauseMs: firstPauseMs };
    return { ...calm, ...before, inVain: 0, scatterUntil };
  }
  const size = Math.max(rules.fewest, Math.floor(isGrowing ? concurrent : concurrent * cut));
  return { ...calm, size, isGrowing: false, pauseMs, inVain, probeAt: now + pauseMs };
}

function isScattered({ scatterUntil }: ConcurrencyLimit, now: number): boolean {
  return now < scatterUntil;
}

/** Places that had become free unseen let the size grow, and it is refused a little further on. */
function hasFoundNothing({ isGrowing, grewFrom }: ConcurrencyLimit, { concurrent }: Sent): boolean {
  return isGrowing && grewFrom > 0 && concurrent < grewFrom * someGrowth + fewUnseen;
}

/** It brought no answer that tells. */
export function withUnanswered(limit: ConcurrencyLimit, { isProbe }: Sent, now: number): ConcurrencyLimit {
  return isProbe && limit.isProbing ? withPause(limit, now) : limit;
}

function withPause(limit: ConcurrencyLimit, now: number): ConcurrencyLimit {
  const pauseMs = Math.min(maxPauseMs, limit.pauseMs * 2);
  return { ...limit, isProbing: false, probeAt: now + limit.pauseMs, pauseMs };
}
