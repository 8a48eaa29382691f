/** The columns of `results.csv`, and a scene as one of its rows. */
import { stringify } from 'csv-stringify/sync';
import type { JsonValue } from '../../lib/text/json.ts';
import type { SavedPicture } from '../core/picture.ts';
import { byColumn } from '../core/record-columns.ts';
import type { SceneRecord } from '../core/scene-record.ts';
import { pathOf, shownValue } from './result-json.ts';

/** Columns with fixed names, in order. */
const ownColumns = {
  id: (row) => row.id,
  state: (row) => row.state,
  file: (row) => row.pictures.slice(0, 1).map(pathOf).join(''),
  more_files: (row) => row.pictures.slice(1).map(pathOf).join('|'),
  width: (row) => row.pictures[0]?.width,
  height: (row) => row.pictures[0]?.height,
  bytes: (row) => row.pictures[0]?.bytes,
  sha256: (row) => row.pictures[0]?.sha256,
  seed: (row) => row.pictures[0]?.seed,
  ...byColumn('column', (key, is) => (row: SceneRecord) => shownValue(row[key], is === 'instant')),
  failure_kind: (row) => row.failureKind,
  failure_text: (row) => row.failureText,
  source: (row) => row.source,
} satisfies Record<string, (row: SceneRecord) => string | number | null | undefined>;

/** Columns with lists of words that a service may return with a picture. */
export type ListName = 'labelled_words' | 'ignored_words';

export interface CsvTable {
  header: string;
  /** Returns one line for each row. */
  text(rows: SceneRecord[]): string;
}

/**
 * Builds the table: fixed columns, one for each label and list, the manifest's columns, and the endpoint. The
 * manifest's `id` is already the first column. Any other column with a fixed name, in any case, becomes
 * `manifest.<name>`, because most readers lose one of two columns with the same name. A list column, which
 * not every batch has, is renamed itself. Spreadsheets execute texts that begin like a formula; an apostrophe
 * prevents that, unless the table is `exact`.
 */
export function csvTable(
  manifestColumns: string[],
  {
    exact,
    separator = ',',
    labels = [],
    lists = [],
  }: {
    exact: boolean;
    separator?: string | undefined;
    labels?: string[];
    lists?: ListName[];
  },
): CsvTable {
  // Set explicitly, because its default depends on other options. Some readers end the row at a bare carriage
  // return.
  const options = { quote_record_delimiter: true, delimiter: separator };
  const cell = exact ? (text: string) => text : escapeFormula;
  const own = Object.values(ownColumns);
  const fileColumns = labels.map((label) => `file_${label}`);
  const names = manifestColumns.filter((name) => name !== 'id');
  const taken = new Set(names.map((name) => name.toLowerCase()));
  const added = [...fileColumns, ...lists.map((list) => freeName(list, 'output', taken))];
  const valuesOf = (row: SceneRecord): string[] => [
    ...own.map((valueOf) => cell(String(valueOf(row) ?? ''))),
    ...labels.map((label) => cell(row.files.filter(isOf(label)).map(pathOf).join(''))),
    ...lists.map((list) => cell(row.pictures[0]?.output?.[list]?.join('|') ?? '')),
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

function isOf(label: string): (file: SavedPicture) => boolean {
  return (file) => file.label === label;
}

function renamed(names: string[], fileColumns: string[]): string[] {
  const ours = new Set([...Object.keys(ownColumns), ...fileColumns, 'endpoint']);
  const taken = new Set(names.filter((name) => !ours.has(name.toLowerCase())));
  return names.map((name) => {
    if (!ours.has(name.toLowerCase())) return name;
    const free = freeName(`manifest.${name}`, 'manifest', taken);
    taken.add(free);
    return free;
  });
}

function freeName(name: string, before: string, taken: Set<string>): string {
  return taken.has(name) ? freeName(`${before}.${name}`, before, taken) : name;
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
