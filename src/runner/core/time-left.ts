/** How fast a run finishes scenes and how long the rest takes: averages over the latest of them. */
import type { PartRecord } from './part.ts';
import type { EndedAttempt, RunCondition } from './run-condition.ts';
import type { SceneCounts } from './scene.ts';

/** The latest scenes that were finished; instants are monotonic ms. */
export interface Finished {
  lastAt: number;
  /** Between each and the one before, and before the first of a run half of what its job took. */
  gapsMs: readonly number[];
  /** How long the latest jobs took. */
  times: readonly number[];
}

/** Of so many scenes, or of twice as many as are in flight: jobs that begin together end together. Half of `maxKept` in flight are followed so. */
const latest = 150;
const maxKept = 4_096;
const enough = 3;
const minPauseMs = 1_000;

export function noneFinished(startedAt: number): Finished {
  return { lastAt: startedAt, gapsMs: [], times: [] };
}

/** With one more. While nothing is finished for longer than any job takes, nothing is worked on: that is no pace. */
export function withFinished(finished: Finished, now: number): Finished {
  return { ...finished, lastAt: now, gapsMs: [...finished.gapsMs, gapBefore(finished, now)].slice(-maxKept) };
}

function gapBefore({ lastAt, gapsMs, times }: Finished, now: number): number {
  // Those that began with the first are half done on average.
  const maxMs = gapsMs.length === 0 ? (times.at(-1) ?? Infinity) / 2 : longestMs(times);
  return Math.min(now - lastAt, maxMs);
}

/** With one of a job that an earlier run submitted: when it was done tells nothing of this run's pace. */
export function withResumed(finished: Finished, now: number): Finished {
  return { ...finished, lastAt: now };
}

/** With what a job took at a worker (ms), or, where that is unknown, from its submission on. */
export function withJobTime(finished: Finished, ms: number): Finished {
  return { ...finished, times: [...finished.times, ms].slice(-latest) };
}

/** Scenes finished a ms of late, undefined before a few were; fewer where none is for longer than jobs take. */
export function finishedPerMs(
  { lastAt, gapsMs, times }: Finished,
  now: number,
  inFlight: number,
): number | undefined {
  if (gapsMs.length < enough) return undefined;
  const gaps = gapsMs.slice(-Math.max(latest, 2 * inFlight));
  const quietMs = Math.min(now - lastAt, longestMs(times)) - (meanOf(times) ?? 0);
  return gaps.length / Math.max(1, sum(gaps) + Math.max(0, quietMs));
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
  const times = finished.times.toSorted((a, b) => a - b);
  const workers = Math.max(1, Math.min(left, inFlight, Math.round(perMs * (meanOf(times) ?? Infinity))));
  // All are kept at work until as many are left; the longest of these ends last.
  return (
    (left - workers) / perMs +
    (times[Math.floor((times.length * workers) / (workers + 1))] ?? workers / perMs)
  );
}

export interface Throughput {
  /** Scenes finished a second, of late. */
  perSecond: number;
  /** Until all of the batch is done; null where a run renders a part of it only. */
  leftMs: number | null;
}

export interface BatchOnRecord {
  scenes: Pick<SceneCounts, 'waiting' | 'active'>;
  /** What the run is to render, where that is a part of the batch. */
  part: PartRecord | null;
  inFlight: number;
  /** The latest attempts that came to their ends, in any order. */
  ended: readonly EndedAttempt[];
}

/** As above, from the records of a run's jobs. Undefined where no run is at work, or too little has finished of late. */
export function throughputOf(run: RunCondition, batch: BatchOnRecord, now: number): Throughput | undefined {
  if (run.kind !== 'running') return undefined;
  const { scenes, part, inFlight } = batch;
  // Added to where they are: a copy for each would take longer than all else that a look at a batch needs.
  const gapsMs: number[] = [];
  const times: number[] = [];
  const finished = { ...noneFinished(run.since), gapsMs, times };
  for (const { at, submittedAt, executionTimeMs, hasFinished } of batch.ended.toSorted(
    (a, b) => a.at - b.at,
  )) {
    if (at < run.since) continue;
    const tookMs = executionTimeMs ?? (submittedAt === null ? null : at - submittedAt);
    if (tookMs !== null) times.push(tookMs);
    if (times.length > latest) times.shift();
    if (!hasFinished) continue;
    const isOfThisRun = submittedAt === null || submittedAt >= run.since;
    if (isOfThisRun) gapsMs.push(gapBefore(finished, at));
    if (gapsMs.length > maxKept) gapsMs.shift();
    finished.lastAt = at;
  }
  // The clock of the wall may have been set back.
  const end = Math.max(now, finished.lastAt);
  const perMs = finishedPerMs(finished, end, inFlight);
  if (perMs === undefined) return undefined;
  const leftMs = timeLeftMs(finished, end, scenes.waiting + scenes.active, inFlight);
  return { perSecond: perMs * 1000, leftMs: part === null ? (leftMs ?? null) : null };
}

/** How long nothing may be finished while something is worked on, as far as is known. */
const longestMs = (times: readonly number[]): number =>
  times.length === 0 ? Infinity : Math.max(minPauseMs, ...times);
const meanOf = (times: readonly number[]): number | undefined =>
  times.length === 0 ? undefined : sum(times) / times.length;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
