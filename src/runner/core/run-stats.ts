/** What a run needed and what held it back, in numbers. */
import type { SlotState } from './slot-usage.ts';

/** Ms are whole. */
export interface RunStats {
  /** From the beginning of the plan until nothing was in flight here any more. */
  tookMs: number;
  /** How many jobs might be in flight. */
  concurrency: number;
  /** That the service accepted, and that earlier runs had left in flight. */
  jobs: { submitted: number; resumed: number };
  requests: { submissions: number; status: number };
  /** Submissions a job that was accepted, status requests a job that was followed; null without such a job. */
  requestsPerJob: { submissions: number | null; status: number | null };
  /** From a job's completion to the arrival of its result, where the service reports its times; null where it never did. */
  lagMs: Percentiles | null;
  /** As above for all other jobs: since the last poll that saw them running, which is longer; null where there are none. */
  lagAtMostMs: Percentiles | null;
  lostTo429: {
    /** How many were answered 429. */
    answers: { submissions: number; status: number };
    /** As in `timeMs.load` and `timeMs.slowed`. */
    backOffMs: number;
    slowedMs: number;
    /** By which polls came later, in the same measure; some of them would have found nothing. */
    looksMs: number;
  };
  pictures: { files: number; bytes: number; bytesPerSecond: number | null };
  /** What became of the slots' time; the sum is `tookMs`: half of the slots for an hour count as half an hour. */
  timeMs: Record<SlotState, number>;
}

export interface Percentiles {
  jobs: number;
  p50: number;
  p95: number;
}

/** What a lag was found to be. */
export type Lag = { kind: 'told' | 'at-most'; ms: number };

/** What is known of a job when its result has come; instants are monotonic ms. */
export interface CollectedJob {
  /** When its submission was sent, and when the service had accepted it; both before the run where it was resumed. */
  sentAt: number;
  acceptedAt: number;
  /** Since when this run follows it. */
  followedAt: number;
  /** When the last poll that saw it running was sent. */
  runningAt: number | undefined;
  collectedAt: number;
  /** From acceptance to completion, as the service reports it. */
  toldMs: number | undefined;
}

/** Two times that the service has rounded are so much off at most. */
const roundingMs = 1;

/**
 * The service's own times count unless this run observed otherwise. Undefined where the job may have been
 * completed before this run followed it: it then waited for a run, not for a poll.
 */
export function lagOf(job: CollectedJob): Lag | undefined {
  const { sentAt, acceptedAt, followedAt, runningAt, collectedAt, toldMs } = job;
  const isResumed = acceptedAt < followedAt;
  const seenAt = runningAt ?? (isResumed ? undefined : acceptedAt);
  const mostMs = seenAt === undefined ? Infinity : collectedAt - seenAt;
  const isPossible = toldMs !== undefined && sentAt + toldMs <= collectedAt + roundingMs;
  const ms = isPossible ? Math.max(0, collectedAt - acceptedAt - toldMs) : Infinity;
  if (ms <= mostMs && ms !== Infinity)
    return isResumed && collectedAt - ms < followedAt ? undefined : { kind: 'told', ms };
  return mostMs === Infinity ? undefined : { kind: 'at-most', ms: mostMs };
}
