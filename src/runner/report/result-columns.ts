/** Columns of `results.csv` (`ownColumns`, `csvTable`), lines of `results.jsonl` with the same values, and `summary.json`. */
import { stringify } from 'csv-stringify/sync';
import type { JsonValue } from '../../lib/text/json.ts';
import { type ClipColumn, clipColumns, clipValues } from '../core/clip.ts';
import { outputName } from '../core/condition.ts';
import type { GalleryData } from '../core/gallery-data.ts';
import {
  kindOfFile,
  type ListName,
  type PictureOutput,
  type SavedPicture,
  wordListsOf,
} from '../core/picture.ts';
import { byColumn, type RecordJson } from '../core/record-columns.ts';
import type { BatchSummary, SceneRecord } from '../core/scene-record.ts';
import type { RulesVersion } from '../core/scene.ts';

export function resultLine(row: SceneRecord): string {
  return `${JSON.stringify(resultJson(row))}\n`;
}

/** Times are in ms as reported by the service, instants in ISO 8601 UTC. Null means that a value is not known. */
export function resultJson(row: SceneRecord) {
  return {
    id: row.id,
    state: row.state,
    pictures: row.pictures.map((picture) => ({
      file: pathInOutput(picture),
      width: picture.width,
      height: picture.height,
      bytes: picture.bytes,
      sha256: picture.sha256,
      // A text, because many JSON readers do not keep large numbers exactly.
      seed: picture.seed ?? null,
      ...wordListsOf(picture.output ?? {}),
      ...(picture.output?.clip && clipValues(picture.output.clip)),
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

function fileJson(saved: SavedPicture) {
  const { label = '', file, width, height, bytes, sha256, output } = saved;
  const size = width > 0 ? { width, height } : {};
  const clip = output?.clip === undefined ? {} : clipValues(output.clip);
  return [
    label,
    { file: pathInOutput(saved), kind: kindOfFile(file), ...size, bytes, sha256, ...clip },
  ] as const;
}

/** Returns `images/FILE`: the path of a picture relative to the output folder, or to the prefix of its bucket. */
export function pathInOutput({ file }: Pick<SavedPicture, 'file'>): string {
  return `images/${file}`;
}

/** Returns a value as results.csv and results.jsonl show it. */
function shownValue(value: string | number | null, isInstant: boolean): string | number | null {
  return isInstant && typeof value === 'number' ? instant(value) : value;
}

/** Formats epoch ms as ISO 8601 in UTC. */
function instant(at: number | null): string | null {
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
  /** Marks for the gallery. Absent if there are none. */
  marks?: GalleryData['marks'];
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

/** Columns with fixed names, in order. */
const ownColumns = {
  id: (row) => row.id,
  state: (row) => row.state,
  file: (row) => row.pictures.slice(0, 1).map(pathInOutput).join(''),
  more_files: (row) => row.pictures.slice(1).map(pathInOutput).join('|'),
  // Sound has neither.
  width: (row) => row.pictures[0]?.width || undefined,
  height: (row) => row.pictures[0]?.height || undefined,
  bytes: (row) => row.pictures[0]?.bytes,
  sha256: (row) => row.pictures[0]?.sha256,
  seed: (row) => row.pictures[0]?.seed,
  ...byColumn('column', (key, is) => (row: SceneRecord) => shownValue(row[key], is === 'instant')),
  failure_kind: (row) => row.failureKind,
  failure_text: (row) => row.failureText,
  source: (row) => row.source,
} satisfies Record<string, (row: SceneRecord) => string | number | null | undefined>;

export type OutputColumn = ListName | ClipColumn;

interface CsvTable {
  header: string;
  text(rows: SceneRecord[]): string;
}

/**
 * Builds the table: fixed columns, one for each label and `told`, the manifest's columns, and the endpoint. The
 * manifest's `id` is already the first column. Any other column with a fixed name, in any case, becomes
 * `manifest.<name>`, because most readers lose one of two columns with the same name. A column of `told`, which
 * not every batch has, is renamed itself. Spreadsheets execute texts that begin like a formula; an apostrophe
 * prevents that, unless the table is `exact`.
 */
export function csvTable(
  manifestColumns: string[],
  {
    exact,
    separator = ',',
    labels = [],
    told = [],
  }: {
    exact: boolean;
    separator?: string | undefined;
    labels?: string[];
    /** Columns with what a job or a clip tells. */
    told?: readonly OutputColumn[];
  },
): CsvTable {
  // Set explicitly, as its default depends on other options. Some readers end the row at a bare CR.
  const options = { quote_record_delimiter: true, delimiter: separator };
  const cell = exact ? (text: string) => text : escapeFormula;
  const own = Object.values(ownColumns);
  const fileColumns = labels.map((label) => `file_${label}`);
  const names = manifestColumns.filter((name) => name !== 'id');
  const taken = new Set(names.map((name) => name.toLowerCase()));
  const added = [...fileColumns, ...told.map((name) => outputName(name, taken))];
  const valuesOf = (row: SceneRecord): string[] => [
    ...own.map((valueOf) => cell(String(valueOf(row) ?? ''))),
    ...labels.map((label) => cell(row.files.filter(isOf(label)).map(pathInOutput).join(''))),
    ...told.map((name) => cell(toldBy(row.pictures[0]?.output, name))),
    ...names.map((name) => cell(textOf(row.columns[name]))),
    cell(row.endpoint ?? ''),
  ];
  return {
    header: stringify(
      [[...Object.keys(ownColumns), ...added, ...renamed(names, fileColumns).map(cell), 'endpoint']],
      options,
    ),
    text: (rows) => stringify(rows.map(valuesOf), options),
  };
}

function toldBy({ clip, ...output }: PictureOutput = {}, name: OutputColumn): string {
  const isList = name === 'labelled_words' || name === 'ignored_words';
  const value = isList ? output[name] : clip && clipColumns[name](clip);
  return Array.isArray(value) ? value.join('|') : String(value ?? '');
}

function isOf(label: string): (file: SavedPicture) => boolean {
  return (file) => file.label === label;
}

function renamed(names: string[], fileColumns: string[]): string[] {
  const ours = new Set([...Object.keys(ownColumns), ...fileColumns, 'endpoint']);
  const taken = new Set(names.filter((name) => !ours.has(name.toLowerCase())));
  return names.map((name) => {
    if (!ours.has(name.toLowerCase())) return name;
    const free = freeName(`manifest.${name}`, taken);
    taken.add(free);
    return free;
  });
}

function freeName(name: string, taken: Set<string>): string {
  return taken.has(name) ? freeName(`manifest.${name}`, taken) : name;
}

/** Adds an apostrophe to texts that begin like a formula, but not to numbers. */
function escapeFormula(text: string): string {
  if (!/^[=+\-@\t\r\n＝＋－＠]/.test(text) || /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return text;
  return `'${text}`;
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
