/** How fast a run is and how long the rest takes, computed from the records of its jobs. */
import type { PartRecord } from './part.ts';
import type { EndedAttempt, RunCondition } from './run-condition.ts';
import type { SceneCounts } from './scene.ts';
import {
  finishedPerMs,
  noneFinished,
  timeLeftMs,
  withFinished,
  withJobTime,
  type Finished,
} from './time-left.ts';

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

/**
 * Undefined where no run is at work, or too little has finished of late. The same for the same record: no chance is
 * in it.
 */
export function throughputOf(run: RunCondition, batch: BatchOnRecord, now: number): Throughput | undefined {
  if (run.kind !== 'running') return undefined;
  const { scenes, part, inFlight } = batch;
  const { finished, end } = finishedOf(batch.ended, run.since, now);
  const perMs = finishedPerMs(finished, end, inFlight);
  if (perMs === undefined) return undefined;
  const leftMs = timeLeftMs(finished, end, scenes.waiting + scenes.active, inFlight);
  return { perSecond: perMs * 1000, leftMs: part === null ? (leftMs ?? null) : null };
}

function finishedOf(
  ended: readonly EndedAttempt[],
  startedAt: number,
  now: number,
): { finished: Finished; end: number } {
  let finished = noneFinished(startedAt);
  let latest = startedAt;
  const ofRun = ended.filter(({ at }) => at >= startedAt).toSorted((a, b) => a.at - b.at);
  for (const [i, { at, submittedAt, executionTimeMs, hasFinished }] of ofRun.entries()) {
    const tookMs = executionTimeMs ?? (submittedAt === null ? null : at - submittedAt);
    if (tookMs !== null) finished = withJobTime(finished, tookMs, (i * goldenRatio) % 1);
    if (!hasFinished) continue;
    finished = withFinished(finished, at);
    latest = at;
  }
  // The clock of the wall may have been set back.
  return { finished, end: Math.max(now, latest) };
}

/** Its multiples fall evenly between the whole numbers. */
const goldenRatio = 0.618_033_988_749_895;
