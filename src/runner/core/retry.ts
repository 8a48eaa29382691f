/** Whether a scene whose attempt ended without a picture, or with the program's death, gets another one, and when. */
import { type Failure, failureRules } from './failure.ts';
import type { AttemptHistory } from './attempt.ts';
import { backoffMs, type Backoff } from './backoff.ts';

/** The key `retry` of pipeline.yaml. */
export interface RetryRules extends Backoff {
  /** Failed attempts after which a scene has failed. */
  attempts: number;
  /** Submissions of one scene after which it has failed, whatever became of them: a bound on what can be billed. */
  submissions: number;
  /** What follows an attempt with an unknown outcome: another one, or nothing until a person decides. */
  unanswered: 'resubmit' | 'hold';
}

export type AfterFailure =
  | { state: 'failed'; failure: Failure }
  /** `isAtBound`: it would have failed, had the service answered anybody; the run had better stop submitting. */
  | { state: 'waiting'; dueAt: number; isAtBound?: true };

export interface FailedAt {
  now: number;
  /** 0 ≤ random < 1. */
  random: number;
  /** Whether the service answers no submission at the moment: that never counts against a scene. */
  isOutage: boolean;
}

/** `before` are the scene's attempts before this one, since it was last put back by a person. */
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
    // One that is held is not settled; its scene's own failure by now, it is like any other.
    case 'hold':
    case 'new-attempt':
      return failures >= settings.attempts || cameBefore ? failed : again(failures);
    case 'fail-scene':
      return failed;
  }
}

/** After so many deaths a scene is handled last and alone. */
export const suspectDeaths = 2;
const maxDeaths = 3;

/** Why a scene is set aside, or undefined where it is not. */
export function quarantine(deaths: number): Failure | undefined {
  if (deaths < maxDeaths) return undefined;
  const text = `the program died ${deaths} times while it sent this scene or handled its result; \`nightrender retry\` puts it back`;
  return { kind: 'quarantined', text };
}
