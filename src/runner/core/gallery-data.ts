/** Data for the gallery: JSON in the page, files of rows that it loads, news of a live batch, and the marks that people set in it. Instants are epoch ms. */
import type { ClipFacts } from './clip.ts';
import type { PictureTotals, SavedPicture } from './picture.ts';
import type { RecordGallery } from './record-columns.ts';
import type { BatchCost } from './spending.ts';
import type { RunCondition } from './ending.ts';

/** Data of the page of an exported gallery. The page is sent to others, so it has only data that they may see. */
export interface Album {
  title: string;
  /** Distinguishes the stars of this gallery from those of other galleries in the same browser. */
  key: string;
  pictures: AlbumEntry[];
}

export interface AlbumEntry {
  /** Id of the scene, for the list of stars. */
  id: string;
  /** Paths relative to the page, with `/`. */
  file: string;
  thumbnail?: string;
  width: number;
  height: number;
  text: string;
  /** Set for a clip. */
  clip?: Pick<ClipFacts, 'durationMs'> & Pick<SavedPicture, 'bytes'>;
}

export interface GalleryData {
  title: string;
  endpoint: string;
  program: string;
  writtenAt: number;
  scenes: Record<string, number>;
  pictures: PictureTotals;
  /** URL of the pictures for a page opened from a disk, ending in `/`. Null if the pictures are next to the page. */
  picturesAt: string | null;
  /** For a stage: base of the paths in its column `picture`, relative to the page, with `/`. Otherwise null. */
  stageAt: string | null;
  /** True if links to pictures are signed, so they show pictures to anyone who has the page. */
  isSigned: boolean;
  /** Number of submissions, and of those whose cost is unknown. */
  attempts: { total: number; unanswered: number; expired: number };
  /** `stated`: part of it that the service stated, with `pricing.at`. */
  cost: { spent: number; stated?: number; currency: string } | null;
  /** `runMs` is the total time of all runs. Overlaps count once, and pauses between runs do not count. */
  times: { firstSubmittedAt: number | null; runMs: number; executionTimeMs: number };
  failures: GalleryFailure[];
  /** Latest runs, oldest first. */
  runs: GalleryRun[];
  columns: GalleryColumn[];
  /** Columns that `scenes` of pipeline.yaml adds, in order. */
  axes: string[];
  /** Sentence about a bias in how the pictures were chosen. Null if there is none. */
  bias: string | null;
  /** The batch as a command argument, such as `pipeline.yaml`. More options may follow. */
  batch: string;
  /** Folder of the row files, relative to the page, and number of rows in each file, in order. */
  chunks: { folder: string; rows: number[] };
  /** First the whole batch. A second element is the latest run. */
  nights: GalleryNight[];
  delay: GalleryTimes | null;
  execution: GalleryTimes | null;
  /** True if scenes send a seed, so that `retry --new-seed` is possible. */
  sendsSeed?: true;
  /** Marks that were kept with the batch when the report was written. Absent if there are none, and in `watch`. */
  marks?: [id: string, mark: Mark, at: number][];
}

/** A kind of failure of scenes that were set aside. */
export interface GalleryFailure {
  kind: string;
  means: string;
  scenes: number;
  /** Most frequent first. */
  causes: GalleryCause[];
  /** Command that puts exactly these scenes back. Null if no retry can fix the failure. */
  command: string | null;
}

export interface GalleryCause {
  scenes: number;
  text: string;
  /** Row indexes of the first scenes, counted from 0. */
  first: number[];
  /** True for the cause that collects all scenes beyond the maximum number of causes. */
  isRest?: true;
}

export interface GalleryRun {
  run: number;
  startedAt: number;
  /** Null during the run, and after a crash. */
  endedAt: number | null;
  ending: string | null;
}

export interface GalleryColumn {
  name: string;
  /** Distinct values as text, with the number of rows of each. Null if there are too many. */
  choices: [text: string, rows: number][] | null;
  /** True if several rows share a value, so a grid can be grouped by this column. */
  isShared?: true;
  isValue?: true;
  /** Present if all values are numbers. Such a column has no choices. */
  range?: GalleryRange;
}

export interface GalleryRange {
  least: number;
  most: number;
  /** Histogram of the values: bins of equal width, the first of which begins at `from`. */
  from: number;
  width: number;
  bins: number[];
}

/** Number of scenes saved and failed in each of the equal parts of a period. */
export interface GalleryNight {
  startedAt: number;
  endedAt: number;
  saved: number[];
  failed: number[];
}

/** Distribution of durations, in ms. */
export interface GalleryTimes {
  count: number;
  p50Ms: number;
  p95Ms: number;
  mostMs: number;
  /** End of the last bin, which also counts all longer durations. */
  upToMs: number;
  bins: number[];
}

/** A scene in a row file. Values that are null, 0 or empty are left out. */
export interface GalleryRow extends RecordGallery {
  id?: string;
  state: string;
  /** The text, or the index of the column that contains it. */
  prompt?: string | number;
  pictures?: GalleryPicture[];
  files?: GalleryFile[];
  values?: unknown[];
  /** Input values that are neither the prompt nor equal to the column of the same name. */
  input?: Record<string, unknown>;
  failure?: [kind: string, text: string];
  source: string;
}

/** A file of `output.files`. Its URL is relative to the page. */
export interface GalleryFile {
  label: string;
  file: string;
  bytes: number;
  /** True if the URL only tells the file's name and cannot be opened. */
  isNamedOnly?: true;
}

/** A picture or clip. Paths are relative to the page. No `thumbnail` if the picture itself is small, or a clip has no poster. */
export type GalleryPicture = Omit<SavedPicture, 'label' | 'sha256'> & { thumbnail?: string };

type LiveCounts = Record<'waiting' | 'active' | 'saved' | 'failed' | 'withdrawn' | 'invalid', number> & {
  /** Absent if there are none. */
  unneeded?: number;
};

/** State of a batch, sent to a live gallery besides the data of the report. Instants are epoch ms. */
export interface LiveState {
  name: string;
  command: string;
  run: RunCondition;
  /** Null if there is no batch yet, or if it cannot be read. */
  numbers: LiveNumbers | null;
}

export interface LiveNumbers {
  scenes: LiveCounts;
  attempts: number;
  /** Number of submissions that may have been billed without a result: unanswered and expired. */
  doubtful: number;
  /** Null without `pricing`. */
  cost: BatchCost | null;
  /** Estimated time of completion at the current throughput. Null if it is unknown. */
  doneAt: number | null;
  /** Scenes saved per second recently. Null if it is unknown. */
  perSecond: number | null;
  /** Median ms from the end of a job to its saved picture; null if the service reports no times. */
  lagMs: number | null;
  failures: LiveFailure[];
}

export interface LiveFailure {
  kind: string;
  attempts: number;
  /** Number of scenes that are set aside because of this kind. */
  scenes: number;
  lastText: string;
}

export interface ArrivedScene<Row = GalleryRow> {
  /** Increases with every picture. */
  picture: number;
  index: number;
  row: Row;
}

/** Everything that is newer than the state of the page. */
export interface LiveNews extends LiveState {
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
  /** All marks that are kept with the batch, in the order in which they were set. */
  marks?: [id: string, mark: Mark][];
}

/** Answer of the page's server about who is looking. */
export interface WatchSession {
  /** Null if nobody is signed in. */
  role: 'owner' | 'viewer' | null;
  /** Marks that this role may set and remove. */
  marks: Mark[];
  /** True if nobody sees the batch without a password. */
  isPrivate: boolean;
  /** Proof for changes, sent once, when a password was right. */
  token?: string;
}

/** Marks of a scene: chosen, not wanted, or to be rendered again. */
export const markNames = ['star', 'reject', 'again'] as const;

export type Mark = (typeof markNames)[number];

/** A mark that is set, or removed if it is null. A scene has one mark at most. */
export interface MarkChange {
  id: string;
  mark: Mark | null;
}

export interface SetMark {
  mark: Mark;
  /** Set if it is of a viewer, who can remove only such marks. */
  by?: 'viewer';
  /** Epoch ms. */
  at: number;
  /** Number of its line, from 1. */
  line: number;
}

export interface ReadMarks {
  /** Marks by scene id, in the order in which they were set. */
  marks: ReadonlyMap<string, SetMark>;
  /** Numbers of lines that cannot be read. A crash or an editor may have cut them. */
  unreadable: number[];
}

export function isMark(value: unknown): value is Mark {
  return markNames.some((name) => name === value);
}
