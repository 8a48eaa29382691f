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

/** Times are in ms as reported by the service, instants in ISO 8601 UTC. Null means that a value is not known. */
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
      // A text, because many JSON readers do not keep large numbers exactly.
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

export type ResultRow = ReturnType<typeof resultJson>;

/** Returns the file's label and its JSON. */
function fileJson(saved: SavedPicture) {
  const { label = '', file, width, height, bytes, sha256 } = saved;
  const size = width > 0 ? { width, height } : {};
  return [label, { file: pathOf(saved), kind: kindOfFile(file), ...size, bytes, sha256 }] as const;
}

/** Returns the picture's path relative to the output folder, which also contains the report's folder. */
export function pathOf({ file }: Pick<SavedPicture, 'file'>): string {
  return `images/${file}`;
}

/** Returns a value as results.csv and results.jsonl show it. */
export function shownValue(value: string | number | null, isInstant: boolean): string | number | null {
  return isInstant && typeof value === 'number' ? instant(value) : value;
}

/** Formats epoch ms as ISO 8601 in UTC. */
export function instant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

export interface PicturesLinks {
  /** URL of the pictures, ending in `/`, for readers with access to the bucket. */
  picturesAt: string;
  /** Returns a signed URL, which shows a picture to anyone. If absent, the bucket has to be readable. */
  sign?: (file: string) => Promise<string>;
}

/** Subject of the report, and its writer and time. */
export interface ReportHeader {
  name: string;
  /** Columns that `scenes` of pipeline.yaml adds, in order. */
  axes: string[];
  /** Names of `output.values`. */
  values?: string[];
  batch: { manifest: string[]; endpoint: { baseUrl: string; id: string; version: string } };
  /** Absolute path of pipeline.yaml. Undefined if it is unknown. */
  pipeline: string | undefined;
  /** Absolute path of the output folder, if it differs from the one in pipeline.yaml. */
  output?: string | undefined;
  /** For a stage: path from the report's folder to the folder of its pipeline.yaml. */
  stageAt?: string | undefined;
  /** Present if the pictures are in a bucket. */
  bucket?: PicturesLinks | undefined;
  /** Version of the rules by which the list was read, for `--adopt`. */
  rules?: RulesVersion | undefined;
  /** Sentence about a bias in how the pictures were chosen. Null if there is none. */
  bias?: string | null;
  /** Keys `report` of pipeline.yaml that determine the format of results.csv. Defaults apply if absent. */
  report?: { bom: boolean; separator: string };
  /** Name and version: `nightrender x.y.z`. */
  program: string;
  /** Epoch ms. */
  writtenAt: number;
}

/** Increased when older readers would no longer understand the file. */
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
