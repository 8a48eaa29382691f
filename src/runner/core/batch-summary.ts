/** A batch in numbers: read from the checkpoint, written into the report and shown by `status`. */
import type { PartRecord } from './part.ts';
import type { PictureTotals } from './picture.ts';
import type { RunStats } from './run-stats.ts';
import type { SceneCounts } from './scene.ts';
import type { BatchCost } from './spending.ts';

/** Numbers of a batch that are quick to compute, for `status`. */
export interface BatchNumbers {
  /** Number of scenes by state. `invalid` counts skipped rows of the manifest. */
  scenes: SceneCounts;
  pictures: PictureTotals;
  /** Totals of the files of `output.files`. Absent if there are none. */
  files?: { files: number; bytes: number };
  attempts: {
    total: number;
    /** Attempts whose jobs are in flight. */
    submitted: number;
    saved: number;
    failed: number;
    /** Attempts sent without an answer: these may have run and been billed for nothing. */
    unanswered: number;
    /** Attempts whose result the service deleted or lost before it was collected: billed for nothing. */
    expired: number;
    /** Attempts that the service did not accept: no job, no bill. */
    refused: number;
  };
  /** Null without `pricing`. */
  cost: BatchCost | null;
  /** Failed attempts by kind, most frequent first. */
  failures: { kind: string; attempts: number; lastText: string }[];
  /**
   * Finished jobs whose results wait for a setting, by kind of failure. `kept` counts results whose answers
   * are kept.
   */
  held: { kind: string; results: number; kept: number; lastText: string }[];
  /** Part of the batch that the latest run rendered as a preview. Null if the latest run rendered the whole batch. */
  part: PartRecord | null;
  /** Newest start of the program on this batch. */
  lastRun: RunRecord | null;
}

export interface BatchSummary extends BatchNumbers {
  times: {
    firstSubmittedAt: number | null;
    lastSavedAt: number | null;
    /** Sum of the execution times that the service reported for saved attempts. */
    executionTimeMs: number;
    medianDelayTimeMs: number | null;
    medianExecutionTimeMs: number | null;
  };
}

/** One start of the program on the batch, without its statistics. */
export type RunSpan = Omit<RunRecord, 'stats'>;

export interface RunRecord {
  run: number;
  pid: number;
  host: string;
  startedAt: number;
  /** Null during the run, and after a crash. */
  endedAt: number | null;
  exitCode: number | null;
  /** Reason why the run ended, in a sentence. Null during the run, and after a crash. */
  ending: string | null;
  /** Statistics of the run. Null during the run, after a crash, and if it rendered nothing (`cancel`). */
  stats: RunStats | null;
}
