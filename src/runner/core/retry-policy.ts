/** Decides whether a scene gets another attempt and after what wait. Defines which scenes a user can put back. */
import type { AttemptHistory } from './attempt.ts';
import { type Failure, type FailureKind, failureRules } from './failure.ts';
import type { SceneState } from './scene.ts';

/** Key `retry` of pipeline.yaml. */
export interface RetryRules extends Backoff {
  attempts: number;
  /** Number of submissions after which a scene has failed, whatever their outcome. Limits what can be billed. */
  submissions: number;
  /** Action after an attempt with unknown outcome: another attempt, or nothing until a user decides. */
  unanswered: 'resubmit' | 'hold';
}

export type AfterFailure =
  | { state: 'failed'; failure: Failure }
  /** `isAtBound`: at the limit of submissions, and kept only because the service is down. Stop submitting. */
  | { state: 'waiting'; dueAt: number; isAtBound?: true };

interface FailedAt {
  now: number;
  /** In [0, 1). */
  random: number;
  /** True if the service currently answers no submissions. An outage never counts against a scene. */
  isOutage: boolean;
}

/** Returns the state of the scene after a failure. `before`: its earlier attempts that count. */
export function sceneAfter(
  failure: Failure,
  before: AttemptHistory,
  settings: RetryRules,
  { now, random, isOutage }: FailedAt,
): AfterFailure {
  const submissions = before.failed + before.unanswered + before.expired + 1;
  const failures = before.failed + 1;
  const failed: AfterFailure = { state: 'failed', failure };
  const again = (count: number): AfterFailure => {
    const waiting = { state: 'waiting', dueAt: now + backoffMs(count, settings, random) } as const;
    if (submissions < settings.submissions) return waiting;
    return isOutage ? { ...waiting, isAtBound: true } : failed;
  };
  const cameBefore = failure.digest !== undefined && before.digests.includes(failure.digest);
  switch (failureRules[failure.kind].next) {
    case 'stop':
    case 'try-again':
    case 'put-back':
      return { state: 'waiting', dueAt: now };
    case 'resubmit':
      if (failure.kind === 'unanswered' && settings.unanswered === 'hold') return failed;
      return again(before.unanswered + before.expired + 1);
    case 'new-attempt-once':
      return before.failedKinds.includes(failure.kind) || failures >= settings.attempts
        ? failed
        : again(failures);
    // `hold`: the failure was held until it was clear that other jobs do not have it. It is now the scene's own.
    case 'hold':
    case 'new-attempt':
      return failures >= settings.attempts || cameBefore ? failed : again(failures);
    case 'fail-scene':
      return failed;
  }
}

/** Number of crashes after which a scene is handled last and alone. */
export const suspectCrashes = 2;
const maxCrashes = 3;

/** Returns why a scene is quarantined, or undefined if it is not. */
export function quarantine(crashes: number): Failure | undefined {
  if (crashes < maxCrashes) return undefined;
  const text = `the program crashed ${crashes} times while it sent this scene or saved its result; \`nightrender retry\` puts it back`;
  return { kind: 'quarantined', text };
}

/** Keys `retry.firstWait` and `retry.longestWait` of pipeline.yaml, in ms. */
export interface Backoff {
  firstWait: number;
  longestWait: number;
}

/**
 * Returns the wait in ms after the `count`th failure in a row, counted from 1. It doubles with each failure,
 * up to `longestWait`. Its upper half is multiplied by `random`, in [0, 1), so that many waiters do not retry
 * together.
 */
export function backoffMs(count: number, settings: Backoff, random: number): number {
  const full = fullWaitMs(count, settings);
  return Math.round(full / 2 + (full / 2) * random);
}

export function fullWaitMs(count: number, { firstWait, longestWait }: Backoff): number {
  return Math.min(longestWait, firstWait * 2 ** Math.min(count - 1, 40));
}

/** Choice of scenes that a user puts back to be rendered again: the union of all that the fields select. */
export interface PutBackChoice {
  kinds: 'every' | FailureKind[];
  ids: string[];
  /** Base URL: selects scenes whose job is in flight anywhere else, except at the local service. */
  notAt: string | undefined;
  /** Ids of scenes whose job in flight is given up, at any address. */
  giveUp?: string[];
  /** True if `ids` may also be saved scenes, which are rendered again. */
  isAgain?: boolean;
  /** Generates new seeds for `ids`. Absent if seeds stay. */
  newSeed?: (() => number) | undefined;
}

/** An id that cannot be put back or, with `isGiveUp`, whose scene has no job in flight. */
export interface WrongId {
  id: string;
  state: SceneState | 'unknown';
  isGiveUp?: true;
  /** True if a new seed was requested and the input has none. */
  isSeedless?: true;
}

export interface PutBack {
  scenes: number;
  /** Number of jobs in flight that were given up, including those of withdrawn scenes. */
  givenUp: number;
}
