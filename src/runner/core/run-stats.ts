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
