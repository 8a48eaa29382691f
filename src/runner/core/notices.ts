/** What of a run is worth a notice, and when: pure, so that nights can be played through. */
import type { EndingKind } from './ending.ts';

export type NoticeEvent = 'start' | 'finish' | 'halt' | 'failures' | 'stall';

/** Who is notified of a run. */
export interface NoticeTarget {
  kind: 'ping' | 'slack' | 'webhook' | 'command';
  /** The address, which is a secret, or the command. */
  to: string;
  rules: NoticeRules;
}

/** What one target receives. */
export interface NoticeRules {
  isStart: boolean;
  /** However the run ended. */
  isFinish: boolean;
  /** Where a failure ended it. */
  isHalt: boolean;
  /** Once so many attempts of the run have failed. */
  failures?: number;
  /** Where nothing was finished for so long while jobs are in flight; once a stall. */
  stallMs?: number;
}

/** What one target's rules have seen of the run. */
export interface Watch {
  inFlight: number;
  failed: number;
  /** When the last job was finished, or the first of those in flight was submitted; monotonic ms. */
  quietSince: number;
  isStallReported: boolean;
}

export function newWatch(now: number): Watch {
  return { inFlight: 0, failed: 0, quietSince: now, isStallReported: false };
}

/** So many jobs are in flight more. */
export function submitted(watch: Watch, jobs: number, now: number): Watch {
  const isFirst = watch.inFlight === 0;
  return {
    ...watch,
    inFlight: watch.inFlight + jobs,
    ...(isFirst && { quietSince: now, isStallReported: false }),
  };
}

/** `wasInFlight`: an attempt that the service never took fails without having been. */
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

/** Whether this failure is the one to report. */
export function isFailureDue({ failures }: NoticeRules, before: Watch, after: Watch): boolean {
  return failures !== undefined && before.failed < failures && after.failed >= failures;
}

/** When the present quiet becomes a stall; undefined where it cannot. */
export function stallAt({ stallMs }: NoticeRules, watch: Watch): number | undefined {
  if (stallMs === undefined || watch.inFlight === 0 || watch.isStallReported) return undefined;
  return watch.quietSince + stallMs;
}

/** What the end of a run is to a target; undefined where it wants no word of it. */
export function endNotice(
  { isFinish, isHalt }: NoticeRules,
  ending: EndingKind,
): 'finish' | 'halt' | undefined {
  if (isHalt && isTrouble(ending)) return 'halt';
  return isFinish ? 'finish' : undefined;
}

/** What the run ended for by itself: neither a person nor a limit that a person has set. */
function isTrouble(ending: EndingKind): boolean {
  return ['wrong-use', 'halted', 'not-allowed', 'output-unwritable', 'bug'].includes(ending);
}
