/** How long the scenes that are left will take, from when the others were finished and how long their jobs took. */
import { withObservation, type ObservedTimes } from './observed-times.ts';

/** When scenes were finished, in spans of equal length since the beginning; bounded in size. Instants are monotonic ms. */
export interface Finished {
  startedAt: number;
  spanMs: number;
  /** Scenes that were finished in each span; the last one is still open. */
  counts: readonly number[];
  firstAt: number | undefined;
  lastAt: number;
  /** Of some of the latest jobs. */
  times: ObservedTimes;
  /** Time that is left out: no job takes as long as nothing was finished, so that none was worked on. */
  idleMs: number;
}

const maxSpans = 1_024;
const firstSpanMs = 50;

export function noneFinished(startedAt: number): Finished {
  const spans = { spanMs: firstSpanMs, counts: [], firstAt: undefined, lastAt: startedAt };
  return { startedAt, ...spans, times: [], idleMs: 0 };
}

/** With `count` more, at an instant that is not before the last one. */
export function withFinished(finished: Finished, now: number, count = 1): Finished {
  const idleMs = now - workedUntil(finished, now);
  const at = now - idleMs;
  let { spanMs, counts } = finished;
  let span = spanOf(at, finished.startedAt, spanMs);
  while (span >= maxSpans) {
    counts = inPairs(counts);
    spanMs *= 2;
    span = spanOf(at, finished.startedAt, spanMs);
  }
  const grown = [...counts, ...Array<number>(Math.max(0, span + 1 - counts.length)).fill(0)];
  grown[span] = (grown[span] ?? 0) + count;
  return { ...finished, spanMs, counts: grown, firstAt: finished.firstAt ?? at, lastAt: at, idleMs };
}

/** The instant without the time in which nothing can have been worked on. */
function workedUntil({ firstAt, lastAt, times, idleMs }: Finished, now: number): number {
  const at = now - idleMs;
  const longest = times.at(-1);
  if (firstAt === undefined || longest === undefined) return at;
  return Math.min(at, lastAt + Math.max(longest, minPauseMs));
}

const minPauseMs = 1_000;

/** With what a job took at a worker (ms), or, where that is unknown, from its submission on. */
export function withJobTime(finished: Finished, ms: number, random: number): Finished {
  return { ...finished, times: withObservation(finished.times, ms, random) };
}

/** Ms until all of the `left` scenes are finished, of which `inFlight` are under way; undefined while that is unknown. */
export function timeLeftMs(
  finished: Finished,
  now: number,
  left: number,
  inFlight: number,
): number | undefined {
  if (left <= 0) return 0;
  const perMs = finishedPerMs(finished, now, inFlight);
  if (perMs === undefined) return undefined;
  return untilDoneMs(left, perMs, Math.max(1, inFlight), finished.times);
}

/**
 * Ms that so many scenes take where `atOnce` are worked on at most: at the full pace while all workers have one, and then
 * until the last of them has done its own.
 */
function untilDoneMs(left: number, perMs: number, atOnce: number, times: ObservedTimes): number {
  const busy = Math.max(1, Math.min(left, atOnce, Math.round(perMs * (meanOf(times) ?? Infinity))));
  const lastMs = lastOfMs(busy, times) ?? busy / perMs;
  return (left - busy) / perMs + lastMs;
}

/** Scenes finished a ms of late, undefined before a few were; fewer the longer none is. */
export function finishedPerMs(finished: Finished, now: number, inFlight: number): number | undefined {
  const { counts, firstAt, lastAt, startedAt, times } = finished;
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (firstAt === undefined || total < enough) return undefined;
  const mean = meanOf(times) ?? 0;
  // A service that starts its workers first says nothing of how fast they are.
  const beginning = Math.max(startedAt, firstAt - mean);
  // Jobs that began together end together: until the next are due, nothing is late.
  const end = Math.max(lastAt, workedUntil(finished, now) - mean);
  const since = sinceChange(finished, beginning, end, inFlight);
  const count = countSince(finished, since);
  // Short jobs end first, so that the beginning appears faster than it is.
  const early = since > beginning ? 0 : inFlight * Math.max(0, (spreadOf(times) - 1) / 2);
  return Math.max(count - early, count / 2) / Math.max(1, end - since);
}

const enough = 3;

/** The instant since which the pace is the present one. */
function sinceChange(finished: Finished, beginning: number, end: number, inFlight: number): number {
  let since = beginning;
  // What is older than one change is held against what came after it only.
  for (let rounds = 0; rounds < maxChanges; rounds++) {
    const change = latestChange(finished, since, end, inFlight);
    if (change === undefined) return since;
    since = change;
  }
  return since;
}

const maxChanges = 8;

/** Where the pace before and after differ most, if more than chance makes them differ. */
function latestChange(
  { counts, spanMs, startedAt, times }: Finished,
  since: number,
  end: number,
  inFlight: number,
): number | undefined {
  const firstSpan = Math.ceil((since - startedAt) / spanMs);
  const total = counts.slice(firstSpan).reduce((sum, count) => sum + count, 0);
  const minMs = 2 * (meanOf(times) ?? 0);
  const spread = Math.max(1, spreadOf(times));
  let best: { at: number; score: number } | undefined;
  let before = 0;
  for (let span = firstSpan; span < counts.length - 1; span++) {
    before += counts[span] ?? 0;
    const at = startedAt + (span + 1) * spanMs;
    const beforeMs = at - since;
    const afterMs = end - at;
    if (beforeMs < minMs / 2 || afterMs < minMs || afterMs <= 0) continue;
    const expected = (total / (beforeMs + afterMs)) * afterMs;
    if (expected < minExpected) continue;
    const variance = (spread * expected + (inFlight / 4) ** 2) * (1 + afterMs / beforeMs);
    const pooled = total - before - expected;
    const difference = (pooled * (beforeMs + afterMs)) / beforeMs;
    const score = Math.abs(difference) / Math.sqrt(variance);
    if (score > (best?.score ?? surprise)) best = { at, score };
  }
  return best?.at;
}

const minExpected = 8;
/** Standard deviations. */
const surprise = 4;

/** Scenes finished after an instant; of the span in which it lies the part after it. */
function countSince({ counts, spanMs, startedAt }: Finished, since: number): number {
  const position = (since - startedAt) / spanMs;
  const span = Math.floor(position);
  const rest = counts.slice(span + 1).reduce((sum, count) => sum + count, 0);
  return rest + (counts[span] ?? 0) * (1 - (position - span));
}

/** How long until the last of `busy` jobs is done that are at work already, each somewhere in its time. */
function lastOfMs(busy: number, times: ObservedTimes): number | undefined {
  const sum = times.reduce((total, ms) => total + ms, 0);
  if (sum === 0) return undefined;
  // The chance that one is not done within y is the share of all time that lies beyond y in its job.
  const beyond = sum * (1 - 0.5 ** (1 / busy));
  let over = 0;
  for (let i = times.length - 1; i >= 0; i--) {
    const longer = times.length - 1 - i;
    const next = times[i] ?? 0;
    const above = times[i + 1] ?? next;
    if (over + longer * (above - next) >= beyond) return above - (beyond - over) / Math.max(1, longer);
    over += longer * (above - next);
  }
  return (times[0] ?? 0) - (beyond - over) / times.length;
}

function meanOf(times: ObservedTimes): number | undefined {
  return times.length === 0 ? undefined : times.reduce((sum, ms) => sum + ms, 0) / times.length;
}

/** Variance over squared mean: 0 where all take the same, 1 where they end by chance. */
function spreadOf(times: ObservedTimes): number {
  const mean = meanOf(times) ?? 0;
  if (mean === 0) return 1;
  const variance = times.reduce((sum, ms) => sum + (ms - mean) ** 2, 0) / times.length;
  return variance / mean ** 2;
}

function spanOf(at: number, startedAt: number, spanMs: number): number {
  return Math.max(0, Math.floor((at - startedAt) / spanMs));
}

function inPairs(counts: readonly number[]): number[] {
  return Array.from({ length: Math.ceil(counts.length / 2) }, (_, i) => {
    return (counts[2 * i] ?? 0) + (counts[2 * i + 1] ?? 0);
  });
}
