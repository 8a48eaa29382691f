/** The JSON of the report: a scene as one line of `results.jsonl`, and the batch as `summary.json`. */
import { kindOfFile } from '../core/named-file.ts';
import { wordListsOf, type SavedPicture } from '../core/picture.ts';
import type { BatchSummary } from '../core/batch-summary.ts';
import { byColumn, type RecordJson } from '../core/record-columns.ts';
import type { SceneRecord } from '../core/scene-record.ts';
import type { RulesVersion } from '../core/scene-rules.ts';

export function resultLine(row: SceneRecord): string {
  return `${JSON.stringify(resultJson(row))}\n`;
}

/** Times in ms as the service counts them, instants in ISO 8601 UTC, null for what is not known. */
export function resultJson(row: SceneRecord) {
  return {
    id: row.id,
    state: row.state,
    pictures: row.pictures.map((picture) => ({
      file: pathOf(picture),
      width: picture.width,
      height: picture.height,
      bytes: picture.bytes,
      sha256: picture.sha256,
      // In quotes: a seed may be beyond what a JSON reader keeps exactly.
      seed: picture.seed ?? null,
      ...wordListsOf(picture.output ?? {}),
    })),
    ...(row.files.length > 0 && { files: Object.fromEntries(row.files.map(fileJson)) }),
    ...(byColumn('json', (key, is) => shownValue(row[key], is === 'instant')) as RecordJson),
    failure: row.failureKind === null ? null : { kind: row.failureKind, text: row.failureText ?? '' },
    source: row.source,
    columns: row.columns,
    endpoint: row.endpoint,
  };
}

/** A line of results.jsonl. */
export type ResultRow = ReturnType<typeof resultJson>;

/** By its label. */
function fileJson(saved: SavedPicture) {
  const { label = '', file, width, height, bytes, sha256 } = saved;
  const size = width > 0 ? { width, height } : {};
  return [label, { file: pathOf(saved), kind: kindOfFile(file), ...size, bytes, sha256 }] as const;
}

/** The picture's path from the output folder, which the report's folder lies in too. */
export function pathOf({ file }: Pick<SavedPicture, 'file'>): string {
  return `images/${file}`;
}

/** Returns a value as results.csv and results.jsonl show it. */
export function shownValue(value: string | number | null, isInstant: boolean): string | number | null {
  return isInstant && typeof value === 'number' ? instant(value) : value;
}

/** Epoch ms as ISO 8601 in UTC. */
export function instant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

export interface PicturesLinks {
  /** `https://…/`, for those who may read the bucket. */
  picturesAt: string;
  /** Gives an address that shows a picture to whoever has it; where left out, the bucket has to be readable. */
  sign?: (file: string) => Promise<string>;
}

/** What the report is about, and who wrote it when. */
export interface ReportHeader {
  /** What the batch is called. */
  name: string;
  /** Those of the columns that `scenes` of pipeline.yaml adds, in order. */
  axes: string[];
  /** Names of `output.values`. */
  values?: string[];
  batch: { manifest: string[]; endpoint: { baseUrl: string; id: string; version: string } };
  /** The pipeline.yaml, as an absolute path; undefined where it is unknown. */
  pipeline: string | undefined;
  /** The output folder, where it is not the one of pipeline.yaml, as an absolute path. */
  output?: string | undefined;
  /** Of a stage: the folder of its pipeline.yaml, from that of the report. */
  stageAt?: string | undefined;
  /** Where the pictures are in a bucket. */
  bucket?: PicturesLinks | undefined;
  /** By which its list was read, for `--adopt`. */
  rules?: RulesVersion | undefined;
  /** What has to be known of how its pictures were chosen, in a sentence; null where there is nothing. */
  bias?: string | null;
  /** The keys `report` of pipeline.yaml that decide how results.csv is written; defaults if left out. */
  report?: { bom: boolean; separator: string };
  /** `nightrender x.y.z` */
  program: string;
  /** Epoch ms. */
  writtenAt: number;
}

/** Raised when a reader of the file would no longer understand it. */
const formatVersion = 1;

export function summaryJson(summary: BatchSummary, about: ReportHeader): object {
  const { times, lastRun } = summary;
  return {
    formatVersion,
    program: about.program,
    writtenAt: instant(about.writtenAt),
    batch: about.batch,
    rules: about.rules,
    ...(about.bias && { bias: about.bias }),
    ...summary,
    times: {
      ...times,
      firstSubmittedAt: instant(times.firstSubmittedAt),
      lastSavedAt: instant(times.lastSavedAt),
    },
    lastRun: lastRun && {
      ...lastRun,
      startedAt: instant(lastRun.startedAt),
      endedAt: instant(lastRun.endedAt),
    },
  };
}
