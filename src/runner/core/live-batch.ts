/** What the gallery is given of a batch that is watched, besides the data of a report: sent by `watch/`, shown by `web/`. */
import type { GalleryData, GalleryRow } from './gallery-data.ts';
import type { RunCondition } from './run-condition.ts';
import type { BatchCost } from './spending.ts';

/** How many scenes are in which state; `invalid` counts rows of the manifest that were skipped. */
export type LiveCounts = Record<
  'waiting' | 'active' | 'saved' | 'failed' | 'withdrawn' | 'invalid',
  number
> & {
  /** Absent where there are none. */
  unneeded?: number;
};

/** How a batch stands at one moment. Instants are epoch ms. */
export interface LiveState {
  /** What the batch is called. */
  name: string;
  /** The command that resumes it. */
  command: string;
  run: RunCondition;
  /** Null while there is no batch, and where it cannot be read. */
  numbers: LiveNumbers | null;
}

export interface LiveNumbers {
  scenes: LiveCounts;
  /** Submissions so far. */
  attempts: number;
  /** Those among them that may have been billed for nothing: unanswered and expired ones. */
  doubtful: number;
  /** Null without `pricing`. */
  cost: BatchCost | null;
  /** When the work that is left is done at the pace of late; null where that is unknown. */
  doneAt: number | null;
  /** Scenes saved a second of late; null where that is unknown. */
  perSecond: number | null;
  /** Ms from the end of a job to its saved picture, in the middle of the latest; null where the service tells no times. */
  lagMs: number | null;
  /** The most scenes first. */
  failures: LiveFailure[];
}

/** What went wrong, of one kind. */
export interface LiveFailure {
  kind: string;
  attempts: number;
  /** Scenes that are set aside because of it. */
  scenes: number;
  lastText: string;
}

/** A scene that has a new picture. */
export interface ArrivedScene<Row = GalleryRow> {
  /** Rises with every picture. */
  picture: number;
  /** The number of its row from 0. */
  index: number;
  row: Row;
}

/** All that is newer than what the page has. */
export interface LiveNews extends LiveState {
  /** The server's clock. */
  now: number;
  /** What the page asks with next: what it has is as new as this. */
  revision: number;
  /** The newest first. */
  arrived: ArrivedScene[];
  /** Where the rows are; with another folder none of those that the page has are good any more. */
  chunks?: GalleryData['chunks'];
  /** The numbers from 0 of the files among these whose rows are others now. */
  changed: number[];
  /** What is counted over all rows, which takes a while: some time old. */
  gallery?: GalleryData;
}
