/** How a batch's run is doing, judged from outside of it. */

/**
 * - `none`: there is no batch yet
 * - `starting`: somebody holds the batch, and no run of theirs is on record yet
 * - `running`, `stalled`: at work; `stalled` where nothing has finished since `quietSince` and should have
 * - `ended`: with a word; `killed`: without one
 * - `unreadable`: the checkpoint cannot be read, for the reason that is told
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
  /** When an attempt last came to its end; null where none has. */
  lastSettledAt: number | null;
  /** The longest that one of the latest jobs took from submission to its end, ms; 0 where none is known. */
  slowestMs: number;
}

/** However short the jobs are, nobody is worried before. */
const shortestQuietMs = 5 * 60_000;

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
  const quietSince = Math.max(startedAt, trace.lastSettledAt ?? 0);
  const isQuiet = trace.inFlight > 0 && now - quietSince > quietBorneMs(trace.slowestMs);
  return isQuiet ? { kind: 'stalled', since: startedAt, quietSince } : { kind: 'running', since: startedAt };
}

function quietBorneMs(slowestMs: number): number {
  return slowestMs === 0 ? firstQuietMs : Math.max(shortestQuietMs, slownessBorne * slowestMs);
}
