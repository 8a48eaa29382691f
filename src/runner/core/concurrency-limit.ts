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
  borne: number;
  /** Refusals in a row that were no probes, and how few were there beside the one of them that had the fewest. */
  inARow: number;
  beside: number;
  /** The most beside which one was taken since the size was last cut. */
  most: number;
  /** Cuts in a row though as many had been borne just before, and the size before the first of them. */
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
  /** Others that were there beside it. */
  beside: number;
  isProbe: boolean;
  epoch: number;
}

/** A run begins with so many. */
const firstSize = 10;
/** One refusal may be a matter of pace; so many in a row with none taken between them are one of number. */
const enoughInARow = 4;
const firstPauseMs = 200;
/** One wasted request in so long a time, for finding more room this soon. */
const maxPauseMs = 8_000;
/** Growth by less than this is nothing that was found out. */
const someGrowth = 1.1;
const fewUnseen = 4;
/** Where what was borne before is refused. */
const cut = 0.9;
/** After so many cuts in a row that were of no use it is not the number that is refused. */
const enoughInVain = 3;
const scatterLastsMs = 30_000;

/** At the beginning, with `beside` of them there already. */
export function firstConcurrencyLimit(beside: number): ConcurrencyLimit {
  return {
    size: beside + firstSize,
    isGrowing: true,
    grewFrom: 0,
    probeAt: 0,
    pauseMs: firstPauseMs,
    isProbing: false,
    borne: 0,
    inARow: 0,
    beside: Infinity,
    most: -1,
    inVain: 0,
    soughtFrom: 0,
    cutAt: -Infinity,
    scatterUntil: -Infinity,
    epoch: 0,
  };
}

/** Whether one more may be sent beside `beside` others. */
export function allows(bearing: ConcurrencyLimit, beside: number, now: number): boolean {
  return beside < bearing.size || untilProbeMs(bearing, now) === 0;
}

/** Ms until one beyond the size may be tried; none may where only an answer changes that. */
export function untilProbeMs({ isGrowing, isProbing, probeAt }: ConcurrencyLimit, now: number): number {
  return isGrowing || isProbing ? Infinity : Math.max(0, probeAt - now);
}

/** One is sent beside `beside` others. */
export function withSending(
  bearing: ConcurrencyLimit,
  beside: number,
): { bearing: ConcurrencyLimit; sent: Sent } {
  const isProbe = beside >= bearing.size;
  const sent = { beside, isProbe, epoch: bearing.epoch };
  return { bearing: isProbe ? { ...bearing, isProbing: true } : bearing, sent };
}

/** It was taken. Two probes in a row are needed: one may have met a place that had become free unseen, if any was ours. */
export function withTaken(
  bearing: ConcurrencyLimit,
  sent: Sent,
  rules: ConcurrencyRules,
  now: number,
): ConcurrencyLimit {
  const { beside, isProbe } = sent;
  const isLate = sent.epoch !== bearing.epoch;
  const most = isLate || isProbe ? bearing.most : Math.max(bearing.most, beside);
  const calm = { ...bearing, inARow: 0, beside: Infinity, most };
  if (bearing.isGrowing)
    return beside * 2 >= bearing.size ? { ...calm, size: calm.size + rules.growth } : calm;
  if (!isProbe) return calm;
  const borne = bearing.borne + 1;
  const pauseMs = isScattered(bearing, now) ? firstPauseMs : bearing.pauseMs;
  if (borne < 2 && beside > 0)
    return { ...calm, borne, pauseMs, isProbing: false, probeAt: now + firstPauseMs };
  const grewFrom = bearing.size;
  return { ...calm, size: beside + 2, isGrowing: true, grewFrom, pauseMs, isProbing: false, borne: 0 };
}

/** It was too much; `enough` refusals in a row cut the size. */
export function withRefused(
  bearing: ConcurrencyLimit,
  sent: Sent,
  rules: ConcurrencyRules,
  now: number,
  enough = enoughInARow,
): ConcurrencyLimit {
  if (sent.isProbe && bearing.isProbing) return withPause({ ...bearing, borne: 0 }, now);
  if (sent.epoch !== bearing.epoch) return bearing;
  const inARow = bearing.inARow + 1;
  const beside = Math.min(bearing.beside, sent.beside);
  const isEnough = inARow >= (isScattered(bearing, now) ? enoughInARow : enough);
  if (isScattered(bearing, now) && !isEnough) return { ...bearing, inARow, beside };
  if (hasFoundNothing(bearing, sent)) {
    const before = { size: bearing.grewFrom, isGrowing: false, most: -1, epoch: bearing.epoch + 1 };
    return withPause({ ...bearing, ...before }, now);
  }
  if (!isEnough) return { ...bearing, inARow, beside };
  const wasInVain = inARow < enoughInARow && sent.beside <= bearing.most;
  return withCut({ ...bearing, beside }, rules, now, wasInVain);
}

/** Cuts that follow each other though some were taken in between were of no use, and are taken back. */
function withCut(
  bearing: ConcurrencyLimit,
  rules: ConcurrencyRules,
  now: number,
  wasInVain: boolean,
): ConcurrencyLimit {
  const { beside, isGrowing } = bearing;
  const isChain = now - bearing.cutAt < scatterLastsMs && (wasInVain || isGrowing);
  const inVain = (isChain ? bearing.inVain : 0) + (wasInVain ? 1 : 0);
  const soughtFrom = inVain > 1 ? bearing.soughtFrom : bearing.size;
  const pauseMs = isGrowing ? firstPauseMs : bearing.pauseMs;
  const epoch = bearing.epoch + 1;
  const calm = { ...bearing, inARow: 0, beside: Infinity, most: -1, cutAt: now, soughtFrom, epoch };
  if (inVain >= enoughInVain) {
    const scatterUntil = now + scatterLastsMs;
    const before = { size: soughtFrom, isGrowing: true, grewFrom: 0, pauseMs: firstPauseMs };
    return { ...calm, ...before, inVain: 0, scatterUntil };
  }
  const size = Math.max(rules.fewest, Math.floor(isGrowing ? beside : beside * cut));
  return { ...calm, size, isGrowing: false, pauseMs, inVain, probeAt: now + pauseMs };
}

function isScattered({ scatterUntil }: ConcurrencyLimit, now: number): boolean {
  return now < scatterUntil;
}

/** Places that had become free unseen let the size grow, and it is refused a little further on. */
function hasFoundNothing({ isGrowing, grewFrom }: ConcurrencyLimit, { beside }: Sent): boolean {
  return isGrowing && grewFrom > 0 && beside < grewFrom * someGrowth + fewUnseen;
}

/** It brought no answer that tells. */
export function withUnanswered(bearing: ConcurrencyLimit, { isProbe }: Sent, now: number): ConcurrencyLimit {
  return isProbe && bearing.isProbing ? withPause(bearing, now) : bearing;
}

function withPause(bearing: ConcurrencyLimit, now: number): ConcurrencyLimit {
  const pauseMs = Math.min(maxPauseMs, bearing.pauseMs * 2);
  return { ...bearing, isProbing: false, probeAt: now + bearing.pauseMs, pauseMs };
}
