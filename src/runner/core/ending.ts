/** The ways in which a run ends, their exit codes, and the notices that they cause. */
export interface EndingRule {
  exitCode: number;
  isResumable: boolean;
  means: string;
  /** Step that the user has to take before the run can resume. Absent if there is none. */
  first?: string;
}

export const endings = {
  complete: { exitCode: 0, isResumable: false, means: 'every scene is saved' },
  bug: { exitCode: 1, isResumable: false, means: 'a bug of nightrender' },
  'wrong-use': {
    exitCode: 2,
    isResumable: false,
    means: 'wrong use, configuration or manifest; nothing was sent or written',
  },
  incomplete: {
    exitCode: 3,
    isResumable: false,
    means: 'the run ended and some scenes are not saved, or saved files are missing',
  },
  halted: { exitCode: 10, isResumable: true, means: 'stopped by a halt rule', first: 'once that is fixed' },
  'already-running': { exitCode: 11, isResumable: true, means: 'another run holds this batch' },
  'not-allowed': {
    exitCode: 12,
    isResumable: true,
    means: 'key refused, or account, endpoint or workflow not usable',
    first: 'once that is fixed',
  },
  'limit-reached': {
    exitCode: 13,
    isResumable: true,
    means: 'deadline or budget reached',
    first: 'as soon as `limits` allow it',
  },
  'output-unwritable': {
    exitCode: 14,
    isResumable: true,
    means: 'disk full or failing, or output not writable',
    first: 'once that is fixed',
  },
  interrupted: { exitCode: 130, isResumable: true, means: 'stopped by SIGINT' },
  terminated: { exitCode: 143, isResumable: true, means: 'stopped by SIGTERM' },
} as const satisfies Record<string, EndingRule>;

export type EndingKind = keyof typeof endings;

/** Exit codes after which a run may have left part of its final work undone. */
export const disorderlyExitCodes = [endings.bug.exitCode, endings['output-unwritable'].exitCode] as const;

export interface Ending {
  kind: EndingKind;
  text: string;
  /** True if the checkpoint is lost, so the same command cannot simply resume. */
  isLost?: true;
}

export type NoticeEvent = 'start' | 'finish' | 'halt' | 'failures' | 'stall';

export interface NoticeTarget {
  kind: 'ping' | 'slack' | 'webhook' | 'command';
  /** URL, which is a secret, or command. */
  to: string;
  rules: NoticeRules;
}

/** Rules that decide which events of a run are worth a notification to a target, and when. */
export interface NoticeRules {
  isStart: boolean;
  isFinish: boolean;
  isHalt: boolean;
  /** Notify once when this many attempts of the run have failed. */
  failures?: number;
  /** Notify if no job has finished for this long while jobs are in flight, once per stall. */
  stallMs?: number;
}

/** Decides which events of a run are worth a notification to one target. Times are monotonic ms. */
export class NoticeWatch {
  readonly #rules: NoticeRules;
  #inFlight = 0;
  #failed = 0;
  /** Time at which the last job finished, or the first job in flight was submitted. */
  #quietSince: number;
  #isStallReported = false;

  constructor(rules: NoticeRules, now: number) {
    this.#rules = rules;
    this.#quietSince = now;
  }

  /** Number of jobs in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Number of attempts that failed. */
  get failed(): number {
    return this.#failed;
  }

  /** Counts jobs that were submitted. */
  submitted(jobs: number, now: number): void {
    if (this.#inFlight === 0) this.#restartSilence(now);
    this.#inFlight += jobs;
  }

  /** Counts an attempt that ended. Returns true if its failure is to be notified. `wasInFlight`: the service had accepted it. */
  finished({ hasFailed, wasInFlight }: { hasFailed: boolean; wasInFlight: boolean }, now: number): boolean {
    if (wasInFlight) {
      this.#inFlight = Math.max(0, this.#inFlight - 1);
      this.#restartSilence(now);
    }
    if (hasFailed) this.#failed += 1;
    return hasFailed && this.#failed === this.#rules.failures;
  }

  #restartSilence(now: number): void {
    this.#quietSince = now;
    this.#isStallReported = false;
  }

  /** Time at which the current silence becomes a stall. Undefined if it cannot become one, or was notified. */
  get stallAt(): number | undefined {
    const { stallMs } = this.#rules;
    if (stallMs === undefined || this.#inFlight === 0 || this.#isStallReported) return undefined;
    return this.#quietSince + stallMs;
  }

  /** Call when the stall is notified, so that it is notified once. */
  stallReported(): void {
    this.#isStallReported = true;
  }

  /** Returns the event that the end of the run is for the target, or undefined if the target does not want it. */
  endNotice(ending: EndingKind): 'finish' | 'halt' | undefined {
    const { isFinish, isHalt } = this.#rules;
    if (isHalt && isFailedEnding(ending)) return 'halt';
    return isFinish ? 'finish' : undefined;
  }
}

/** True if a failure ended the run, and not a user or a limit. */
function isFailedEnding(ending: EndingKind): boolean {
  return ['wrong-use', 'halted', 'not-allowed', 'output-unwritable', 'bug'].includes(ending);
}

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
  isInUse: boolean;
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

export function runConditionOf(trace: RunTrace, now: number): RunCondition {
  const { isInUse, lastRun } = trace;
  if (lastRun === null) return { kind: isInUse ? 'starting' : 'none' };
  const { startedAt, endedAt, exitCode, ending } = lastRun;
  if (endedAt !== null)
    return isInUse ? { kind: 'starting' } : { kind: 'ended', at: endedAt, exitCode, ending };
  if (!isInUse) return { kind: 'killed', since: startedAt };
  const quietSince = Math.max(startedAt, lastEndedAt(trace.ended) ?? 0);
  const isQuiet = trace.inFlight > 0 && now - quietSince > maxQuietMs(trace.ended);
  return isQuiet ? { kind: 'stalled', since: startedAt, quietSince } : { kind: 'running', since: startedAt };
}

function lastEndedAt(ended: readonly EndedAttempt[]): number | null {
  return ended.reduce((last: number | null, { at }) => Math.max(last ?? 0, at), null);
}

const latestJobs = 50;

function maxQuietMs(ended: readonly EndedAttempt[]): number {
  const latest = ended.filter(({ submittedAt }) => submittedAt !== null).toSorted((a, b) => b.at - a.at);
  const tookMs = latest.slice(0, latestJobs).map(({ at, submittedAt }) => at - (submittedAt ?? at));
  const slowestMs = Math.max(0, ...tookMs);
  return slowestMs === 0 ? firstQuietMs : Math.max(minQuietMs, maxSlowness * slowestMs);
}
