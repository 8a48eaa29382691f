/** Records of scenes, the summary of a batch, and checks of its pictures, as reports, lists and exports read them. */
import type { JsonObject } from '../../lib/text/json.ts';
import { type FailureKind, failureRules } from './failure.ts';
import type { PictureTotals, SavedPicture } from './picture.ts';
import type { RecordValues } from './record-columns.ts';
import type { RunStats } from './run-stats.ts';
import { type PartRecord, type SceneCounts, sceneMoves, type SceneState } from './scene.ts';
import type { BatchCost } from './spending.ts';

/** One scene, or one row of the manifest that was skipped as `invalid`. Instants are epoch ms. */
export interface SceneRecord extends RecordValues {
  /** Null for an invalid row whose id could not be read. */
  id: string | null;
  state: SceneState | 'invalid';
  pictures: SavedPicture[];
  files: SavedPicture[];
  /** Endpoint that made the pictures, else the endpoint of the latest submission: `https://host/v2/id`. */
  endpoint: string | null;
  failureKind: FailureKind | 'invalid-row' | null;
  failureText: string | null;
  /** Position of the row: `jobs/scenes.csv:17`. */
  source: string;
  columns: JsonObject;
  /** Input that is sent. Null if there is none, or if it is too large to be shown. */
  input: JsonObject | null;
}

/** Every `state` of a record. `rowKinds` has every `failureKind`. */
export const rowStates: string[] = [...Object.keys(sceneMoves), 'invalid'];
export const rowKinds: string[] = [...Object.keys(failureRules), 'invalid-row'];

export interface BatchNumbers {
  /** Number of scenes by state. `invalid` counts skipped rows of the manifest. */
  scenes: SceneCounts;
  pictures: PictureTotals;
  /** Totals of the files of `output.files`. Absent if there are none. */
  files?: { files: number; bytes: number };
  attempts: {
    total: number;
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
  failures: { kind: string; attempts: number; lastText: string }[];
  /** Finished jobs that wait for a setting, by kind of failure. `kept`: results with kept answers. */
  held: { kind: string; results: number; kept: number; lastText: string }[];
  /** Part of the batch that the latest run rendered as a preview. Null if the latest run rendered the whole batch. */
  part: PartRecord | null;
  lastRun: RunRecord | null;
}

/** A batch in numbers: read from the checkpoint, written into the report and shown by `status`. */
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

export type RecordedPicture = Pick<SavedPicture, 'file' | 'width' | 'height' | 'bytes' | 'sha256'> & {
  /** Key of the attempt that made it. All pictures of a job have the same attempt. */
  attempt: number;
  number: number;
  /** Label in `output.files`. Null for a picture. */
  label: string | null;
  sceneId: string;
  sceneState: SceneState;
  /** New name, if a rename was decided and may not have been done yet. */
  moveTo: string | null;
};

/** Result of checking a saved picture against its record. */
export type Verdict =
  | { kind: 'good' }
  | { kind: 'missing' }
  /** `problem` says what is wrong with it, beginning with a lower-case letter. */
  | { kind: 'damaged'; problem: string };

/** A picture that differs from its record. `keptAs` is the name under which a repair kept the damaged file. */
export type BadPicture = RecordedPicture & { verdict: Exclude<Verdict, { kind: 'good' }>; keptAs?: string };

/** Pictures by verdict. `withdrawn`: bad pictures of scenes that are no longer in the manifest. */
export interface Verified {
  checked: number;
  good: number;
  missing: number;
  damaged: number;
  withdrawn: number;
  putBack: number;
}
