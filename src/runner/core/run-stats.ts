/** Statistics of a run: what it needed and what held it back. */
import type { SlotState } from './slot-usage.ts';

/** Durations are whole ms. */
export interface RunStats {
  /** From the beginning of the plan until no job of this run was in flight. */
  tookMs: number;
  concurrency: number;
  /** Jobs that the service accepted, and jobs that earlier runs had left in flight. */
  jobs: { submitted: number; resumed: number };
  requests: { submissions: number; status: number };
  /** Submissions per accepted job, and status requests per followed job. Null without such jobs. */
  requestsPerJob: { submissions: number | null; status: number | null };
  /**
   * Time from a job's completion to the arrival of its result, for jobs whose times the service reports. Null
   * if there are none.
   */
  lagMs: Percentiles | null;
  /**
   * Upper bound of the lag for all other jobs: time since the last poll that saw the job running. Null if
   * there are none.
   */
  lagAtMostMs: Percentiles | null;
  lostTo429: {
    answers: { submissions: number; status: number };
    /** The same as `timeMs.load` and `timeMs.slowed`. */
    backOffMs: number;
    slowedMs: number;
    /** Delay of polls, in the same unit as `timeMs`. Some of these polls would have found nothing. */
    looksMs: number;
  };
  pictures: { files: number; bytes: number; bytesPerSecond: number | null };
  /** Time of the slots by state; the sum is `tookMs`. Half of the slots for an hour count as half an hour. */
  timeMs: Record<SlotState, number>;
}

export interface Percentiles {
  jobs: number;
  p50: number;
  p95: number;
}
