/** A submission that was sent and whose answer was lost, and for how long it may be sent again. */
import type { Idempotency } from './attempt.ts';
import type { Failure } from './failure.ts';

export interface Lost {
  failure: Failure;
  /** When it was sent first, or before that, by the wall clock (epoch ms). */
  sentAt: number;
  /** By the monotonic one, where it was in this run. */
  sentElapsed?: number;
}

/** Of a run that has ended: it may have been sent at any time since it was put on record. */
export function lostBefore({ intendedAt }: Idempotency, failure: Failure): Lost {
  return { failure, sentAt: intendedAt };
}

/** Of the time for which the service says that it knows a submission, this much is left: requests take theirs, and clocks differ. */
const spareShare = 0.1;
const minSpareMs = 60_000;

/** The monotonic clock stands still while the machine sleeps, and the other one may be set back. */
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
