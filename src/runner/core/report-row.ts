/** What the report says of a scene and of a batch; made by the checkpoint, written by `report/`, shown by `status`. */
import { failureRules, type FailureKind } from './failure.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { PartRecord } from './part.ts';
import type { PictureTotals, SavedPicture } from './picture.ts';
import type { RunStats } from './run-stats.ts';
import { sceneMoves, type SceneCounts, type SceneState } from './scene.ts';
import type { BatchCost } from './spending.ts';

/** One scene, or one row of the manifest that was skipped as `invalid`. Instants are epoch ms. */
export interface ReportRow {
  /** Null for an invalid row whose id could not be read. */
  id: string | null;
  state: SceneState | 'invalid';
  /** Every picture of the scene, in the order of the job's output. */
  pictures: SavedPicture[];
  /** Its files besides, in the order of `output.files`. */
  files: SavedPicture[];
  jobId: string | null;
  /** Where its pictures come from, else where it was sent last: `https://host/v2/id`. */
  endpoint: string | null;
  /** Submissions so far. */
  attempts: number;
  /** Those among them that were sent without an answer: each may have run and been billed for nothing. */
  unanswered: number;
  /** Those among them whose result was gone before it was collected: billed for nothing. */
  expired: number;
  delayTimeMs: number | null;
  executionTimeMs: number | null;
  submittedAt: number | null;
  completedAt: number | null;
  savedAt: number | null;
  failureKind: FailureKind | 'invalid-row' | null;
  failureText: string | null;
  /** Where the row stands: `jobs/scenes.csv:17`. */
  source: string;
  columns: JsonObject;
  /** What is sent; null where there is none or it is too large to be shown. */
  input: JsonObject | null;
}

/** Every `state` of a row, and every `failureKind`. */
export const rowStates: string[] = [...Object.keys(sceneMoves), 'invalid'];
export const rowKinds: string[] = [...Object.keys(failureRules), 'invalid-row'];

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
