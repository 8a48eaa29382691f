/** When a run stops submitting: its attempts keep failing, or the service does not answer. */
import { formatDuration } from '../../lib/text/format.ts';
import type { FailureKind } from './failure.ts';

/** The key `halt` of pipeline.yaml; durations are in ms. */
export interface HaltRules {
  /** Failed attempts one after the other, with no saved picture between them. */
  consecutive: number;
  /** Share of the run's finished attempts that failed, once `minimum` have finished; 100 never halts. */
  percent: number;
  minimum: number;
  /** An operation of the service that has not answered for this long. */
  unreachable: number;
  /** Refusals of key, account or endpoint, if these have worked in this run: believed once they last this long. */
  refused: number;
}

/** How the attempts of a run have ended so far. */
export interface Tally {
  saved: number;
  failed: number;
  /** Failed since the last saved picture. */
  inARow: number;
  /** The kind and words of the latest failure. */
  last?: { kind: FailureKind; text: string };
}

export const noAttempts: Tally = { saved: 0, failed: 0, inARow: 0 };

/** Why the run should stop submitting, in a sentence, or undefined where it should continue. */
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

/** As above, for an operation that does not answer; `words` is what its latest request came to. */
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

/** What was heard of an operation of late; instants are monotonic ms. */
export interface ReachabilityState {
  /** Requests in a row that brought no readable answer. */
  silent: number;
  /** When the first of them was given up; of no meaning where there is none. */
  silentSince: number;
}

export const heard: ReachabilityState = { silent: 0, silentSince: 0 };

export function withSilence(state: ReachabilityState, now: number): ReachabilityState {
  return { silent: state.silent + 1, silentSince: state.silent === 0 ? now : state.silentSince };
}

/** One lost answer is the network's everyday; so many in a row, one after the other, are not. */
const enoughSilence = 5;
/** Jobs whose status cannot be read are finished and deleted unseen: submissions wait once it lasts this long. */
const blindAfterMs = 60_000;

/** Whether requests are better sent one at a time until one is answered. */
export function isLost(state: ReachabilityState): boolean {
  return state.silent >= enoughSilence;
}

/** Requests that brought nothing since contact was lost, the one with which it was included. */
export function silentSinceLost(state: ReachabilityState): number {
  return Math.max(0, state.silent - enoughSilence + 1);
}

/** Whether status requests have brought nothing for so long that nothing should be submitted. */
export function isBlind(state: ReachabilityState, now: number): boolean {
  return isLost(state) && silentForMs(state, now) >= blindAfterMs;
}

/** 0 where the latest request was answered. */
export function silentForMs(state: ReachabilityState, now: number): number {
  return state.silent === 0 ? 0 : now - state.silentSince;
}
