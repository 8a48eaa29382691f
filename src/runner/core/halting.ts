/** Decides when failures stop a run or hold its results. `Access` decides when refusals pause its requests. */
import { formatDuration } from '../../lib/text/format.ts';
import { type Failure, type FailureKind, failureRules } from './failure.ts';
import { isRefusal } from './request-rate.ts';

/** Key `halt` of pipeline.yaml. Durations are in ms. */
export interface HaltRules {
  /** Number of consecutive failed attempts, without a saved picture between them. */
  consecutive: number;
  /** Percentage of the run's finished attempts that failed, once `minimum` have finished. 100 never halts. */
  percent: number;
  minimum: number;
  /** Time for which an operation of the service has not answered. */
  unreachable: number;
  /** Time after which refusals of key, account or endpoint are believed, if these have worked in this run. */
  refused: number;
}

/** Finished attempts of this run. */
export interface Tally {
  saved: number;
  failed: number;
  /** Number of failures since the last saved picture. */
  inARow: number;
  /** Latest failure. Absent before the first. */
  last?: { kind: FailureKind; text: string };
}

export const noAttempts: Tally = { saved: 0, failed: 0, inARow: 0 };

/** Returns why the run should stop submitting, in a sentence, or undefined if it should continue. */
export function haltReason(tally: Tally, rules: HaltRules): string | undefined {
  const { saved, failed, inARow, last } = tally;
  if (last === undefined) return undefined;
  const latest = `the latest (${last.kind}): ${last.text}`;
  if (inARow >= rules.consecutive) {
    return `${inARow.toLocaleString('en')} attempts in a row failed (\`halt.consecutive\`); ${latest}`;
  }
  const finished = saved + failed;
  if (finished < rules.minimum || rules.percent >= 100) return undefined;
  if (failed * 100 < rules.percent * finished) return undefined;
  return `${failed.toLocaleString('en')} of ${finished.toLocaleString('en')} attempts failed (\`halt.percent\`); ${latest}`;
}

/** Like `haltReason`, for an operation that does not answer. `words` describes its latest failure. */
export function unreachableReason(
  operation: 'submit' | 'status',
  state: ReachabilityState,
  now: number,
  rules: HaltRules,
  words: string,
): string | undefined {
  if (silentForMs(state, now) < rules.unreachable) return undefined;
  const silence = formatDuration(silentForMs(state, now));
  const what = operation === 'submit' ? 'submissions' : 'status requests';
  return `the service has not answered ${what} for ${silence} (\`halt.unreachable\`); the latest: ${words}`;
}

/** Recent silence of an operation. Instants are monotonic ms. */
export interface ReachabilityState {
  /** Consecutive requests without a readable answer. */
  silent: number;
  /** Time at which the first of these requests was given up. Has no meaning if there are none. */
  silentSince: number;
}

export const noSilence: ReachabilityState = { silent: 0, silentSince: 0 };

export function withSilence(state: ReachabilityState, now: number): ReachabilityState {
  return { silent: state.silent + 1, silentSince: state.silent === 0 ? now : state.silentSince };
}

/** A single lost answer is normal for a network. This many in a row are not. */
const enoughSilence = 5;
/** While no status can be read, results may expire unseen. Submissions pause once that lasts this long. */
const blindAfterMs = 60_000;

/** True if requests should be sent one at a time until one is answered. */
export function isLost(state: ReachabilityState): boolean {
  return state.silent >= enoughSilence;
}

export function silentSinceLost(state: ReachabilityState): number {
  return Math.max(0, state.silent - enoughSilence + 1);
}

/** True if status requests have failed for so long that nothing should be submitted. */
export function isBlind(state: ReachabilityState, now: number): boolean {
  return isLost(state) && silentForMs(state, now) >= blindAfterMs;
}

/** Returns the time since the first unanswered request, in ms. 0 if the latest request was answered. */
function silentForMs(state: ReachabilityState, now: number): number {
  return state.silent === 0 ? 0 : now - state.silentSince;
}

export type Operation = 'submit' | 'status' | 'cancel' | 'health';

const kinds: ReadonlySet<FailureKind> = new Set(['key-refused', 'account-unusable', 'endpoint-unknown']);

export interface Reply {
  kind: string;
  failure?: Failure;
}

export function refusalIn({ failure }: Reply): Failure | undefined {
  return failure !== undefined && kinds.has(failure.kind) ? failure : undefined;
}

interface HoldEvidence {
  isAnyFound: boolean;
  /** True if a job of the same endpoint has ended other than by a timeout. */
  hasEndedOtherwise: boolean;
}

/** True if a setting, not the scene, causes a finished job's failure. Its result then waits. */
export function isHeld(
  { kind, isExecution, isOtherMedia }: Failure,
  { isAnyFound, hasEndedOtherwise }: HoldEvidence,
): boolean {
  if (isOfEveryJob(kind)) return !hasEndedOtherwise && (kind !== 'job-overdue' || isExecution === true);
  if (isOwnOnceFound.has(kind)) return !isAnyFound || isOtherMedia === true;
  return failureRules[kind].next === 'hold';
}

/**
 * Once the current settings have found a picture, the job itself is at fault for an output without one. A clip in
 * place of a picture is a paid result all the same, and another setting saves it.
 */
const isOwnOnceFound = new Set<FailureKind>(['picture-not-found', 'status-unknown', 'value-not-found']);

/** True if the service or the run ended the job because it took too long. */
export function isTimeout(kind: FailureKind): boolean {
  return kind === 'default-timeout' || isOfEveryJob(kind);
}

/** True for a timeout that waits for a setting only if it ends every job. */
export function isOfEveryJob(kind: FailureKind): boolean {
  return kind === 'job-timed-out' || kind === 'job-overdue';
}

export function losesResult(kind: FailureKind): boolean {
  return lostWith.has(kind);
}

const lostWith = new Set<FailureKind>([
  'job-overdue',
  'job-timed-out',
  'default-timeout',
  'picture-refused',
  'expired',
  'no-output',
  'picture-not-found',
  'status-unknown',
  'result-too-large',
  'clip-too-large',
  'too-many-pixels',
  'url-refused',
  'output-unsupported',
  'download-failed',
  'bad-picture',
  'bad-file',
  'bad-clip',
]);

/** Returns the setting that the user has to change, in words. */
export function settingFor(kind: FailureKind): string {
  return settings[kind] ?? '`output`';
}

const settings: Partial<Record<FailureKind, string>> = {
  'picture-refused': 'what `endpoint.apiKey` may read',
  'status-unknown': '`endpoint.statuses` or `status.map`',
  'download-failed': 'the host of the files',
  'urls-not-allowed': '`output.hosts`',
  'url-refused': '`output.hosts`',
  'result-too-large': '`limits.body`',
  'clip-too-large': '`limits.download`',
  'other-file-kind': '`output.files`',
  'value-not-found': '`output.values`',
  'too-many-pixels': '`limits.pixels`',
  'job-overdue': '`timeouts.execution`',
  'job-timed-out': "the endpoint's own timeout",
  'default-timeout': '`endpoint.policy.executionTimeout`',
};

export interface HeldResults {
  setting: string;
  kind: FailureKind;
  count: number;
  /** Number of results whose answer is kept. The others are only at the service. */
  kept: number;
  /** Results that refer to pictures by URL, which exist only as long as their host keeps them. */
  addresses: number;
  /** Time until which the service keeps the oldest of these results, in epoch ms. */
  keptUntil: number;
}

/** Maximum number of tries to cancel a job, and then to learn its status. */
const maxTries = 4;
/**
 * Time during which refusals for load do not count as tries. A job that is given up may go on running and
 * being billed.
 */
const maxRefusedMs = 10 * 60_000;

/**
 * Returns a function that counts the failures of one request, and returns true once it has been tried often
 * enough. `elapsed` returns monotonic ms.
 */
export function patienceOf(clock: { elapsed(): number }): (failure: Failure) => boolean {
  const since = clock.elapsed();
  let tries = 0;
  return (failure) => {
    if (!isRefusal(failure) || clock.elapsed() - since > maxRefusedMs) tries += 1;
    return tries >= maxTries;
  };
}
