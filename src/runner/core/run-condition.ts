/** Condition of a batch's run, judged from outside the run. */

/**
 * - `none`: there is no batch yet
 * - `starting`: a process holds the batch and has not recorded its run yet
 * - `running`, `stalled`: at work; `stalled` if nothing has finished since `quietSince` although it should
 *   have
 * - `ended`: ended and recorded its end; `killed`: ended without recording it
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
  isHeld: boolean;
  lastRun: {
    startedAt: number;
    endedAt: number | null;
    exitCode: number | null;
    ending: string | null;
  } | null;
  inFlight: number;
  ended: readonly EndedAttempt[];
}

/** An ended attempt. Instants are epoch ms. */
export interface EndedAttempt {
  at: number;
  submittedAt: number | null;
  executionTimeMs: number | null;
  /** True if the scene was saved or set aside, so it gets no further attempt. */
  hasFinished: boolean;
}

/** Minimum silence before a run counts as stalled, even if its jobs are short. */
const minQuietMs = 5 * 60_000;

/** Silence allowed while job durations are unknown: time for a cold start of workers. */
const firstQuietMs = 20 * 60_000;

/** Silence allowed, as a multiple of the slowest of the latest jobs. */
const maxSlowness = 3;

export function conditionOf(trace: RunTrace, now: number): RunCondition {
  const { isHeld, lastRun } = trace;
  if (lastRun === null) return { kind: isHeld ? 'starting' : 'none' };
  const { startedAt, endedAt, exitCode, ending } = lastRun;
  if (endedAt !== null)
    return isHeld ? { kind: 'starting' } : { kind: 'ended', at: endedAt, exitCode, ending };
  if (!isHeld) return { kind: 'killed', since: startedAt };
  const quietSince = Math.max(startedAt, lastEndedAt(trace.ended) ?? 0);
  const isQuiet = trace.inFlight > 0 && now - quietSince > maxQuietMs(trace.ended);
  return isQuiet ? { kind: 'stalled', since: startedAt, quietSince } : { kind: 'running', since: startedAt };
}

export function lastEndedAt(ended: readonly EndedAttempt[]): number | null {
  return ended.reduce((last: number | null, { at }) => Math.max(last ?? 0, at), null);
}

const latestJobs = 50;

function maxQuietMs(ended: readonly EndedAttempt[]): number {
  const latest = ended.filter(({ submittedAt }) => submittedAt !== null).toSorted((a, b) => b.at - a.at);
  const tookMs = latest.slice(0, latestJobs).map(({ at, submittedAt }) => at - (submittedAt ?? at));
  const slowestMs = Math.max(0, ...tookMs);
  return slowestMs === 0 ? firstQuietMs : Math.max(minQuietMs, maxSlowness * slowestMs);
}
