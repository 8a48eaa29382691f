/** A batch in numbers: read from the checkpoint, written by `report/`, shown by `status`. */
import type { PartRecord } from './part.ts';
import type { PictureTotals } from './picture.ts';
import type { RunStats } from './run-stats.ts';
import type { SceneCounts } from './scene.ts';
import type { BatchCost } from './spending.ts';

/** A batch in numbers that are quick to compute, for `status`. */
export interface BatchNumbers {
  /** Scenes by state; `invalid` counts the manifest's skipped rows. */
  scenes: SceneCounts;
  pictures: PictureTotals;
  /** Those of `output.files`; absent where there are none. */
  files?: { files: number; bytes: number };
  attempts: {
    total: number;
    /** In flight now. */
    submitted: number;
    saved: number;
    failed: number;
    /** Sent without an answer: these may have run and been billed for nothing. */
    unanswered: number;
    /** Finished and deleted by the service before they were collected, or lost by it: billed for nothing. */
    expired: number;
    /** Not accepted by the service: no job, no bill. */
    refused: number;
  };
  /** Null without `pricing`. */
  cost: BatchCost | null;
  /** Attempts that failed, by kind, most frequent first. */
  failures: { kind: string; attempts: number; lastText: string }[];
  /** Jobs in flight whose results wait for a setting, by the kind of failure; `kept`: those whose answers are kept. */
  held: { kind: string; results: number; kept: number; lastText: string }[];
  /** What the latest run had to render, where that was a preview; null where it was all of the batch. */
  part: PartRecord | null;
  /** The newest start of the program on this batch. */
  lastRun: RunRecord | null;
}

/** A batch in numbers, for the report. */
export interface BatchSummary extends BatchNumbers {
  times: {
    firstSubmittedAt: number | null;
    lastSavedAt: number | null;
    /** Sum over saved attempts of what the service says it worked. */
    executionTimeMs: number;
    medianDelayTimeMs: number | null;
    medianExecutionTimeMs: number | null;
  };
}

/** A start of the program on the batch, without what it needed. */
export type RunSpan = Omit<RunRecord, 'stats'>;

export interface RunRecord {
  run: number;
  pid: number;
  host: string;
  startedAt: number;
  /** Null while it runs, and after a death without a word. */
  endedAt: number | null;
  exitCode: number | null;
  /** Why it ended, in a sentence; null as above. */
  ending: string | null;
  /** What it needed and what held it back; null as above, and where it rendered nothing (`cancel`). */
  stats: RunStats | null;
}
