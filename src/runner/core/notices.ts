/** Decides which events of a run are worth a notification, and when. Pure, so tests can simulate whole runs. */
import type { EndingKind } from './ending.ts';

export type NoticeEvent = 'start' | 'finish' | 'halt' | 'failures' | 'stall';

export interface NoticeTarget {
  kind: 'ping' | 'slack' | 'webhook' | 'command';
  /** URL, which is a secret, or command. */
  to: string;
  rules: NoticeRules;
}

export interface NoticeRules {
  isStart: boolean;
  /** Notify when the run ends, in any way. */
  isFinish: boolean;
  /** Notify when a failure ends the run. */
  isHalt: boolean;
  /** Notify once when this many attempts of the run have failed. */
  failures?: number;
  /** Notify if no job has finished for this long while jobs are in flight, once per stall. */
  stallMs?: number;
}

/** State of the run as one target's rules have seen it. */
export interface Watch {
  inFlight: number;
  failed: number;
  /** Time at which the last job finished, or the first job in flight was submitted, in monotonic ms. */
  quietSince: number;
  isStallReported: boolean;
}

export function newWatch(now: number): Watch {
  return { inFlight: 0, failed: 0, quietSince: now, isStallReported: false };
}

/** Returns the state after `jobs` more were submitted. */
export function submitted(watch: Watch, jobs: number, now: number): Watch {
  const isFirst = watch.inFlight === 0;
  return {
    ...watch,
    inFlight: watch.inFlight + jobs,
    ...(isFirst && { quietSince: now, isStallReported: false }),
  };
}

/**
 * Returns the state after an attempt finished. `wasInFlight` is false for an attempt that the service never
 * accepted.
 */
export function finished(
  watch: Watch,
  how: { hasFailed: boolean; wasInFlight: boolean },
  now: number,
): Watch {
  return {
    inFlight: Math.max(0, watch.inFlight - (how.wasInFlight ? 1 : 0)),
    failed: watch.failed + (how.hasFailed ? 1 : 0),
    ...(how.wasInFlight
      ? { quietSince: now, isStallReported: false }
      : { quietSince: watch.quietSince, isStallReported: watch.isStallReported }),
  };
}

/** True if this failure reaches the limit to report. */
export function isFailureDue({ failures }: NoticeRules, before: Watch, after: Watch): boolean {
  return failures !== undefined && before.failed < failures && after.failed >= failures;
}

/** Returns when the current silence becomes a stall, in monotonic ms. Undefined if it cannot become one. */
export function stallAt({ stallMs }: NoticeRules, watch: Watch): number | undefined {
  if (stallMs === undefined || watch.inFlight === 0 || watch.isStallReported) return undefined;
  return watch.quietSince + stallMs;
}

/** Returns the event that the end of a run is for a target, or undefined if the target does not want it. */
export function endNotice(
  { isFinish, isHalt }: NoticeRules,
  ending: EndingKind,
): 'finish' | 'halt' | undefined {
  if (isHalt && isFailedEnding(ending)) return 'halt';
  return isFinish ? 'finish' : undefined;
}

/** True if a failure ended the run, and not a user or a limit. */
function isFailedEnding(ending: EndingKind): boolean {
  return ['wrong-use', 'halted', 'not-allowed', 'output-unwritable', 'bug'].includes(ending);
}
