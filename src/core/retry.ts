/** Whether a scene whose attempt ended without a picture gets another one, and when. */
import type { AttemptHistory } from './attempt.ts';
import { failureRules, type Failure } from './failure.ts';
import { growingWaitMs, type WaitSettings } from './waiting.ts';

export interface RetrySettings extends WaitSettings {
  /** Failed attempts after which a scene has failed. */
  attempts: number;
  /** Submissions of one scene after which it has failed, whatever became of them: a bound on what can be billed. */
  submissions: number;
}

export type AfterFailure = { state: 'failed'; failure: Failure } | { state: 'waiting'; dueAt: number };

/** `before` are the scene's attempts before this one; `random` is 0 ≤ random < 1. */
export function sceneAfter(
  failure: Failure,
  before: AttemptHistory,
  settings: RetrySettings,
  now: number,
  random: number,
): AfterFailure {
  const rule = failureRules[failure.kind].next;
  const submissions = before.failed + before.unanswered + before.expired + 1;
  const failures = before.failed + 1;
  const again = (count: number): AfterFailure =>
    submissions >= settings.submissions
      ? { state: 'failed', failure }
      : { state: 'waiting', dueAt: now + growingWaitMs(count, settings, random) };
  switch (rule) {
    case 'stop':
    case 'try-again':
      return { state: 'waiting', dueAt: now };
    case 'resubmit':
      return again(before.unanswered + before.expired + 1);
    case 'new-attempt-once':
      return before.failedKinds.includes(failure.kind) || failures >= settings.attempts
        ? { state: 'failed', failure }
        : again(failures);
    case 'new-attempt':
      return failures >= settings.attempts ? { state: 'failed', failure } : again(failures);
    case 'fail-scene':
      return { state: 'failed', failure };
  }
}
