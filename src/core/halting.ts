/** When going on only burns money. */
import type { FailureKind } from './failure.ts';

export interface HaltSettings {
  /** Attempts that ended without a picture, one after the other with no saved picture between them. */
  consecutive: number;
}

/** What has gone wrong since the last saved picture. */
export interface Streak {
  attempts: number;
  /** The kind and words of the latest. */
  last?: { kind: FailureKind; text: string };
}

/** Why the run should stop submitting, in a sentence, or undefined where it should go on. */
export function haltReason(streak: Streak, settings: HaltSettings): string | undefined {
  if (streak.attempts < settings.consecutive || streak.last === undefined) return undefined;
  return `${streak.attempts} attempts in a row brought no picture; the latest (${streak.last.kind}): ${streak.last.text}`;
}
