/** Decides when a run stops submitting: its attempts keep failing, or the service does not answer. */
import { formatDuration } from '../../lib/text/format.ts';
import type { FailureKind } from './failure.ts';

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

export interface Tally {
  saved: number;
  failed: number;
  /** Failed attempts since the last saved picture. */
  inARow: number;
  last?: { kind: FailureKind; text: string };
}

export const noAttempts: Tally = { saved: 0, failed: 0, inARow: 0 };

/** Returns why the run should stop submitting, in a sentence, or undefined if it should continue. */
export function haltReason(tally: Tally, rules: HaltRules): string | undefined {
  const { saved, failed, inARow, last } = tally;
  if (last === undefined) return undefined;
  const latest = `the latest (${last.kind}): ${last.text}`;
  if (inARow >= rules.consecutive) {
    return `${inARow.toLocaleString('en')} attempts in a row brought no picture (\`halt.consecutive\`); ${latest}`;
  }
  const finished = saved + failed;
  if (finished < rules.minimum || rules.percent >= 100) return undefined;
  if (failed * 100 < rules.percent * finished) return undefined;
  return `${failed.toLocaleString('en')} of ${finished.toLocaleString('en')} attempts brought no picture (\`halt.percent\`); ${latest}`;
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

/** Returns the number of requests without an answer since contact was lost, counting the one that lost it. */
export function silentSinceLost(state: ReachabilityState): number {
  return Math.max(0, state.silent - enoughSilence + 1);
}

/** True if status requests have failed for so long that nothing should be submitted. */
export function isBlind(state: ReachabilityState, now: number): boolean {
  return isLost(state) && silentForMs(state, now) >= blindAfterMs;
}

/** Returns the time since the first unanswered request, in ms. 0 if the latest request was answered. */
export function silentForMs(state: ReachabilityState, now: number): number {
  return state.silent === 0 ? 0 : now - state.silentSince;
}
