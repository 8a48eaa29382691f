/** What the page of the report is given: in the page itself, and in the files of rows that it loads. Instants are epoch ms. */
import type { SavedPicture, PictureTotals } from './picture.ts';
import type { RecordGallery } from './record-columns.ts';

/** In the page, as JSON. */
export interface GalleryData {
  /** What the batch is called. */
  title: string;
  endpoint: string;
  program: string;
  writtenAt: number;
  /** Scenes by state. */
  scenes: Record<string, number>;
  pictures: PictureTotals;
  /** Where the pictures are for a page that was opened from a disk, with a `/` at its end; null where they are beside it. */
  picturesAt: string | null;
  /** Of a stage: what the paths in its column picture are relative to, from the page, with a `/` at its end; null elsewhere. */
  stageAt: string | null;
  /** Whether links to pictures show them to whoever has the page. */
  isSigned: boolean;
  /** Submissions so far, and how many of them have an unknown cost. */
  attempts: { total: number; unanswered: number; expired: number };
  cost: { spent: number; currency: string } | null;
  /** `runMs`: that of all runs, which may overlap, without the pauses between them. */
  times: { firstSubmittedAt: number | null; runMs: number; executionTimeMs: number };
  failures: GalleryFailure[];
  /** The latest runs, oldest first. */
  runs: GalleryRun[];
  columns: GalleryColumn[];
  /** Names of those that `scenes` of pipeline.yaml adds, in order. */
  axes: string[];
  /** What has to be known of how its pictures were chosen, in a sentence; null where there is nothing. */
  bias: string | null;
  /** The batch as commands take it, such as `pipeline.yaml`: more options may follow. */
  batch: string;
  /** Where the rows are: their folder, relative to the page, and how many each file has, in order. */
  chunks: { folder: string; rows: number[] };
  /** Of the whole batch; with a second one, of the latest run. */
  nights: GalleryNight[];
  delay: GalleryTimes | null;
  execution: GalleryTimes | null;
}

/** A kind of failure for which scenes were set aside. */
export interface GalleryFailure {
  kind: string;
  means: string;
  scenes: number;
  /** The most frequent first. */
  causes: GalleryCause[];
  /** What puts exactly these back; null for what no retry can fix. */
  command: string | null;
}

/** Scenes that failed with texts which differ in numbers, ids and addresses alone. */
export interface GalleryCause {
  scenes: number;
  /** In the words of the service, of one of them. */
  text: string;
  /** The numbers from 0 of the first rows of them. */
  first: number[];
  /** Whether these are all that were beyond the most causes that are told apart. */
  isRest?: true;
}

export interface GalleryRun {
  run: number;
  startedAt: number;
  /** Null while it runs, and after a death without a word. */
  endedAt: number | null;
  ending: string | null;
}

export interface GalleryColumn {
  name: string;
  /** Its values as text with the number of rows each, where they are few; null where they are many. */
  choices: [text: string, rows: number][] | null;
  /** Whether several rows have the same value, however many values there are: a grid can be laid out by it. */
  isShared?: true;
  /** Whether it is one of `output.values`. */
  isValue?: true;
  /** Where it is a number wherever there is a value; it has no choices then. */
  range?: GalleryRange;
}

export interface GalleryRange {
  least: number;
  most: number;
  /** How many rows have how much: bins of this width, the first begins at `from`. */
  from: number;
  width: number;
  bins: number[];
}

/** How many scenes were saved and failed in which part of a time, all parts being as long. */
export interface GalleryNight {
  startedAt: number;
  endedAt: number;
  saved: number[];
  failed: number[];
}

/** How often which times were seen. Ms. */
export interface GalleryTimes {
  count: number;
  p50Ms: number;
  p95Ms: number;
  mostMs: number;
  /** Where the last bin ends; longer ones are in it too. */
  upToMs: number;
  bins: number[];
}

/** A scene. What is null, nought or empty is left out. */
export interface GalleryRow extends RecordGallery {
  id?: string;
  state: string;
  /** The text, or the number of the column that it stands in. */
  prompt?: string | number;
  pictures?: GalleryPicture[];
  /** Its other files: what each is called, where it is, and its bytes. */
  files?: GalleryFile[];
  /** In the order of the columns. */
  values?: unknown[];
  /** What is sent besides the prompt and what stands in a column of the same name. */
  input?: Record<string, unknown>;
  failure?: [kind: string, text: string];
  source: string;
}

/** Addresses are relative to the page. */
export interface GalleryFile {
  label: string;
  file: string;
  bytes: number;
  /** Whether its address tells its name and leads nowhere. */
  isNamedOnly?: true;
}

/** `file` and `thumbnail` are relative to the page, too. `thumbnail`: absent if the picture itself is small. */
export type GalleryPicture = Omit<SavedPicture, 'label' | 'sha256'> & { thumbnail?: string };
