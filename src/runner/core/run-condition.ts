/** How a batch's run is doing, judged from outside of it. */

/**
 * - `none`: there is no batch yet
 * - `starting`: somebody holds the batch, and no run of theirs is on record yet
 * - `running`, `stalled`: at work; `stalled` where nothing has finished since `quietSince` and should have
 * - `ended`: with a word; `killed`: without one
 * - `unreadable`: the checkpoint cannot be read, for the reason given
 */
export type RunCondition =
  | { kind: 'none' }
  | { kind: 'starting' }
  | { kind: 'running'; since: number }
  | { kind: 'stalled'; since: number; quietSince: number }
  | { kind: 'ended'; at: number; exitCode: number | null; ending: string | null }
  | { kind: 'killed'; since: number }
  | { kind: 'unreadable'; text: string };

export interface RunTrace {
  /** Whether a run holds the batch at this moment. */
  isHeld: boolean;
  /** As in its record. */
  lastRun: {
    startedAt: number;
    endedAt: number | null;
    exitCode: number | null;
    ending: string | null;
  } | null;
  /** Attempts in flight. */
  inFlight: number;
  /** The latest that came to their ends, in any order. */
  ended: readonly EndedAttempt[];
}

/** An attempt that came to its end, at an epoch ms. */
export interface EndedAttempt {
  at: number;
  submittedAt: number | null;
  executionTimeMs: number | null;
  /** Whether its scene is through with it: saved, or set aside. */
  hasFinished: boolean;
}

/** However short the jobs are, none counts as late before. */
const minQuietMs = 5 * 60_000;

/** With nothing known of how long jobs take, a cold start of workers is given this long. */
const firstQuietMs = 20 * 60_000;

/** Quiet for so many times what the slowest of the latest jobs took is no chance. */
const slownessBorne = 3;

export function conditionOf(trace: RunTrace, now: number): RunCondition {
  const { isHeld, lastRun } = trace;
  if (lastRun === null) return { kind: isHeld ? 'starting' : 'none' };
  const { startedAt, endedAt, exitCode, ending } = lastRun;
  if (endedAt !== null)
    return isHeld ? { kind: 'starting' } : { kind: 'ended', at: endedAt, exitCode, ending };
  if (!isHeld) return { kind: 'killed', since: startedAt };
  const quietSince = Math.max(startedAt, lastEndedAt(trace.ended) ?? 0);
  const isQuiet = trace.inFlight > 0 && now - quietSince > quietBorneMs(trace.ended);
  return isQuiet ? { kind: 'stalled', since: startedAt, quietSince } : { kind: 'running', since: startedAt };
}

/** Null where none has ended. */
export function lastEndedAt(ended: readonly EndedAttempt[]): number | null {
  return ended.reduce((last: number | null, { at }) => Math.max(last ?? 0, at), null);
}

/** So many of the latest jobs show how long one takes. */
const latestJobs = 50;

function quietBorneMs(ended: readonly EndedAttempt[]): number {
  const latest = ended.filter(({ submittedAt }) => submittedAt !== null).toSorted((a, b) => b.at - a.at);
  const tookMs = latest.slice(0, latestJobs).map(({ at, submittedAt }) => at - (submittedAt ?? at));
  const slowestMs = Math.max(0, ...tookMs);
  return slowestMs === 0 ? firstQuietMs : Math.max(minQuietMs, slownessBorne * slowestMs);
}
