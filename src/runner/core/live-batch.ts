/** Data that a live gallery gets in addition to the report's: sent by the watch server, shown in the browser. */
import type { GalleryData, GalleryRow } from './gallery-data.ts';
import type { RunCondition } from './run-condition.ts';
import type { BatchCost } from './spending.ts';

/** Number of scenes by state. `invalid` counts skipped rows of the manifest. */
export type LiveCounts = Record<
  'waiting' | 'active' | 'saved' | 'failed' | 'withdrawn' | 'invalid',
  number
> & {
  /** Absent if there are none. */
  unneeded?: number;
};

/** State of a batch at one moment. Instants are epoch ms. */
export interface LiveState {
  name: string;
  /** Command that resumes the batch. */
  command: string;
  run: RunCondition;
  /** Null if there is no batch yet, or if it cannot be read. */
  numbers: LiveNumbers | null;
}

export interface LiveNumbers {
  scenes: LiveCounts;
  /** Number of submissions so far. */
  attempts: number;
  /** Number of submissions that may have been billed without a picture: unanswered and expired. */
  doubtful: number;
  /** Null without `pricing`. */
  cost: BatchCost | null;
  /** Estimated time of completion at the current throughput. Null if it is unknown. */
  doneAt: number | null;
  /** Scenes saved per second recently. Null if it is unknown. */
  perSecond: number | null;
  /**
   * Median time in ms from the end of a job to its saved picture, over the latest jobs. Null if the service
   * reports no times.
   */
  lagMs: number | null;
  /** Sorted by number of scenes, largest first. */
  failures: LiveFailure[];
}

export interface LiveFailure {
  kind: string;
  attempts: number;
  /** Number of scenes that are set aside because of this kind. */
  scenes: number;
  lastText: string;
}

/** A scene with a new picture. */
export interface ArrivedScene<Row = GalleryRow> {
  /** Increases with every picture. */
  picture: number;
  /** Index of its row, counted from 0. */
  index: number;
  row: Row;
}

/** Everything that is newer than the state of the page. */
export interface LiveNews extends LiveState {
  /** Current time of the server. */
  now: number;
  /** Version of this state. The page sends it with its next request. */
  revision: number;
  /** Newest first. */
  arrived: ArrivedScene[];
  /** Folder and sizes of the row files. If the folder differs, all loaded rows are outdated. */
  chunks?: GalleryData['chunks'];
  /** Indexes of the row files whose rows have changed, counted from 0. */
  changed: number[];
  /** Totals over all rows. They take a while to compute, so they may be outdated. */
  gallery?: GalleryData;
}
