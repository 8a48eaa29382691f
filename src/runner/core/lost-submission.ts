/** A submission whose answer was lost, and the time for which it may be sent again. */
import type { Idempotency } from './attempt.ts';
import type { Failure } from './failure.ts';

export interface Lost {
  failure: Failure;
  /** Time of the first sending, or an earlier time if that is unknown, in epoch ms. */
  sentAt: number;
  /** The same time in monotonic ms. Absent if an earlier run sent it. */
  sentElapsed?: number;
}

/** Describes a lost submission of an earlier run. It may have been sent at any time since it was recorded. */
export function lostBefore({ intendedAt }: Idempotency, failure: Failure): Lost {
  return { failure, sentAt: intendedAt };
}

/** Share of the service's retention time that is not used, because requests take time and clocks differ. */
const spareShare = 0.1;
const minSpareMs = 60_000;

/**
 * True if the service still recognizes the submission. Uses both clocks: the monotonic clock stops while the
 * machine sleeps, and the wall clock may be set back.
 */
export function isKnownStill(
  { sentAt, sentElapsed }: Lost,
  knownMs: number,
  now: number,
  elapsed: number,
): boolean {
  const isClockSetBack = now < sentAt;
  if (sentElapsed === undefined && isClockSetBack) return false;
  const ageMs = Math.max(now - sentAt, sentElapsed === undefined ? 0 : elapsed - sentElapsed);
  return ageMs < knownMs - Math.max(minSpareMs, knownMs * spareShare);
}
