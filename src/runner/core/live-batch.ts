/** What the watch page receives: read from the checkpoint, sent by `watch/`, shown by `web/`. */
import type { FinishCounts } from './finish-rate.ts';
import type { RunCondition } from './run-condition.ts';
import type { BatchCost } from './spending.ts';

/** How many scenes are in which state; `invalid` counts rows of the manifest that were skipped. */
export type LiveCounts = Record<'waiting' | 'active' | 'saved' | 'failed' | 'withdrawn' | 'invalid', number>;

/** A batch at one moment. Instants are epoch ms. */
export interface LiveBatch {
  /** What the batch is called. */
  name: string;
  /** The command that resumes it. */
  command: string;
  run: RunCondition;
  /** Null while there is no batch, and where it cannot be read. */
  numbers: LiveNumbers | null;
  /** The newest first. */
  newest: LivePicture[];
}

export interface LiveNumbers {
  scenes: LiveCounts;
  /** Submissions so far. */
  attempts: number;
  /** Those among them that may have been billed for nothing: unanswered and expired ones. */
  doubtful: number;
  /** Files. */
  pictures: number;
  /** Null without `pricing`. */
  cost: BatchCost | null;
  /** When the work that is left is done at the pace of late; null where that is unknown. */
  doneAt: number | null;
  /** Scenes saved a second of late; null where that is unknown. */
  perSecond: number | null;
  /** Of the latest run. */
  run: FinishCounts;
  /** The most attempts first. */
  failures: LiveFailure[];
}

/** What went wrong, of one kind. */
export interface LiveFailure {
  kind: string;
  /** In a sentence; empty where the kind is not known to this version. */
  means: string;
  attempts: number;
  /** Scenes that are set aside because of it. */
  scenes: number;
  lastText: string;
  /** What has these scenes rendered again; null where none are set aside. */
  retry: string | null;
}

export interface LivePicture {
  /** Rises with every picture that arrives. */
  id: number;
  sceneId: string;
  /** Empty where nothing in the scene reads like one. */
  prompt: string;
  /** In the images folder, `/` between folders. */
  file: string;
  width: number;
  height: number;
  bytes: number;
  /** Identifies its content: some hex digits. */
  digest: string;
  /** In the report's folder; null where the picture is small enough to be shown itself. */
  thumbnail: string | null;
  savedAt: number | null;
}

/** What else there is to know of a picture. */
export interface PictureStory {
  id: number;
  seed: string | null;
  jobId: string | null;
  /** The number of the scene's attempt that brought it. */
  attempt: number;
  submittedAt: number | null;
  savedAt: number | null;
  delayTimeMs: number | null;
  executionTimeMs: number | null;
  /** Where the row stands: `jobs/scenes.csv:17`. */
  source: string;
  /** What was sent, as readable JSON; cut where it is long. */
  input: string;
}
