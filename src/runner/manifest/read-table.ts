/** Reads CSV and TSV: a header, and rows with as many values as the header has names. */
import type { JsonObject } from '../../lib/text/json.ts';
import { idColumnOf, type ListReading } from '../core/expansion.ts';
import {
  commentNotes,
  type Delimiter,
  type Manifest,
  type ManifestEntry,
  ManifestError,
  maxBatchRows,
} from './manifest.ts';
import { startingWith } from './open-bytes.ts';
import {
  delimiters,
  isBlank,
  type LineBlock,
  readTableRecords,
  recordsOf,
  type TableRecord,
} from './table-records.ts';

/** The text of a list, and its first lines, by which the delimiter is found. */
export interface Start {
  /** The lines read so far, from the first one that is not empty. */
  lines: string[];
  /** Delimiter that the list states on a line of its own, which is left out. */
  stated: Delimiter | undefined;
  /** The whole text. */
  blocks: AsyncIterable<LineBlock>;
}

/**
 * Reads a table. Throws `ManifestError` if its header is invalid. `usual`: the delimiter that the file extension suggests.
 * `notes` gets sentences about the list.
 */
export async function readTable(
  path: string,
  { lines, stated, blocks }: Start,
  usual: Delimiter,
  reading: ListReading,
  notes: string[],
): Promise<Pick<Manifest, 'batches' | 'delimiter' | 'isHeaderless'> & { columns: string[] }> {
  const delimiter = stated ?? findDelimiter(lines, usual, reading.readsSpreadsheets);
  const groups = readTableRecords(blocks, delimiter, reading.comments);
  const layout = { delimiter, reading };
  if (reading.header !== undefined) {
    const columns = [...reading.header];
    return { columns, delimiter, batches: readRows(groups, columns, layout, notes) };
  }
  const { header, records } = await firstRecord(path, groups);
  const columns = readHeader(path, header, reading);
  const batches = readRows(startingWith(records, groups), columns, layout, notes);
  return { columns, delimiter, isHeaderless: isHeaderless(lines, delimiter), batches };
}

interface Layout {
  delimiter: Delimiter;
  reading: ListReading;
}

async function firstRecord(
  path: string,
  groups: AsyncGenerator<TableRecord[]>,
): Promise<{ header: TableRecord; records: TableRecord[] }> {
  for (;;) {
    const next = await groups.next();
    if (next.done === true) throw new ManifestError(path, 'has no header');
    const [header, ...records] = next.value;
    if (header !== undefined) return { header, records };
  }
}

/** Returns the names of the columns. Throws `ManifestError`. */
export function readHeader(
  path: string,
  header: Pick<TableRecord, 'line' | 'values' | 'problem'>,
  { readsSpreadsheets }: Pick<ListReading, 'readsSpreadsheets'>,
): string[] {
  if (header.problem !== undefined)
    throw new ManifestError(path, `the header ${header.problem}`, header.line);
  const names = header.values.map((name) => name.trim());
  const columns = readsSpreadsheets ? names.slice(0, names.findLastIndex((name) => name !== '') + 1) : names;
  const problems = [...unnamed(columns), ...repeated(columns)];
  // Assigning to this name would set the prototype of an object instead of a value.
  if (columns.includes('__proto__')) problems.push('a column cannot be called __proto__');
  if (problems.length > 0) throw new ManifestError(path, `the header: ${problems.join('; ')}`, header.line);
  return columns;
}

const maxShown = 5;

function unnamed(columns: string[]): string[] {
  const places = columns.flatMap((name, index) => (name === '' ? [index + 1] : []));
  const more = places.length > maxShown ? ', …' : '';
  return places.length === 0 ? [] : [`no name for column ${places.slice(0, maxShown).join(', ')}${more}`];
}

function repeated(columns: string[]): string[] {
  const names = columns.filter((name, index) => name !== '' && columns.indexOf(name) !== index);
  return [...new Set(names)].map((name) => {
    const places = columns.flatMap((other, index) => (other === name ? [index + 1] : []));
    return `columns ${places.join(' and ')} have the same name, "${name}"`;
  });
}

async function* readRows(
  groups: AsyncIterable<TableRecord[]>,
  columns: string[],
  layout: Layout,
  notes: string[],
): AsyncGenerator<ManifestEntry[]> {
  const seeming: number[] = [];
  for await (const group of groups) {
    for (const { line, seemsComment } of group) if (seemsComment === true) seeming.push(line);
    for (let start = 0; start < group.length; start += maxBatchRows) {
      const batch = group.slice(start, start + maxBatchRows).filter((record) => !isEmpty(record, layout));
      yield batch.map((record) => readRow(record, columns, layout));
    }
  }
  notes.push(...commentNotes(seeming));
}

/** True for a row without values. Spreadsheet programs write rows that were cleared. */
function isEmpty({ values, problem }: TableRecord, { reading }: Layout): boolean {
  return reading.readsSpreadsheets && problem === undefined && values.length > 0 && values.every(isBlank);
}

function readRow(record: TableRecord, columns: string[], layout: Layout): ManifestEntry {
  const { line, values } = record;
  const problem = record.problem ?? problemOfCount(record, columns.length, layout);
  if (problem !== undefined)
    return {
      kind: 'bad',
      line,
      problem,
      ...idOf(values, columns, layout.reading),
      ...(record.isOpen && { isOpen: true }),
    };
  const row: JsonObject = {};
  columns.forEach((name, index) => {
    row[name] = values[index] ?? '';
  });
  return { kind: 'row', columns: row, line };
}

function problemOfCount(
  { line, lineCount, values, seemsComment }: TableRecord,
  expected: number,
  { delimiter, reading }: Layout,
): string | undefined {
  const found = values.length;
  const isMore = found > expected;
  if (found === expected) return undefined;
  const isEmptyRest = isMore && values.slice(expected).every(isBlank);
  if (isEmptyRest && reading.readsSpreadsheets) return undefined;
  const names = reading.header === undefined ? 'the header has' : '`header` has';
  const counts = `has ${found} ${found === 1 ? 'column' : 'columns'}; ${names} ${expected}`;
  if (isEmptyRest) return `${counts} (${keptReading})`;
  if (seemsComment === true) return `${counts} (${commentsHint})`;
  if (lineCount > 1) return `${counts} (its quotes join lines ${line} to ${line + lineCount - 1})`;
  const mark = { ',': 'commas', ';': 'semicolons', '\t': undefined }[delimiter];
  return isMore && mark !== undefined ? `${counts} (put texts with ${mark} in quotes)` : counts;
}

const keptReading =
  'remove the empty values at its end: only batches that began with this version or later ignore them';

const commentsHint = `comments: '#' in pipeline.yaml leaves out lines that begin with "# "`;

function idOf(values: string[], columns: string[], reading: ListReading): { id?: string } {
  const id = values[columns.indexOf(idColumnOf(columns, reading) ?? 'id')] ?? '';
  const isReadable = id !== '' && !id.includes('\u{FFFD}') && !id.includes('\0');
  return isReadable ? { id } : {};
}

const maxLines = 50;

/** True for a name that shows that its row is a header. */
export function isKnownColumn(name: string): boolean {
  return /^(?:id|scene|prompt)$/i.test(name.trim());
}

/**
 * Returns the delimiter of a list. `lines`: the header and rows below it. `usual`: the delimiter that the
 * file extension suggests. Another one is chosen only if it fits more rows, and if `usual` leaves the header
 * in one piece or without a known column. `readsSpreadsheets`: as in `SceneRules`. Without it, only a CSV
 * header in one piece may turn out to have semicolons, which earlier programs refused. Spreadsheet programs
 * write semicolons if the comma is the decimal sign.
 */
function findDelimiter(lines: readonly string[], usual: Delimiter, readsSpreadsheets: boolean): Delimiter {
  const start = lines.slice(0, maxLines);
  const [names = []] = recordsOf(start, usual);
  if (names.length > 1 && (names.some(isKnownColumn) || !readsSpreadsheets)) return usual;
  const refusedBefore = delimiters.filter((each) => each === ';' && usual === ',');
  const others = readsSpreadsheets ? delimiters : refusedBefore;
  const found = others.map((delimiter) => ({ delimiter, share: fittingShare(start, delimiter) }));
  const [best] = found.toSorted((a, b) => b.share - a.share);
  return best !== undefined && best.share > fittingShare(start, usual) ? best.delimiter : usual;
}

/** True if the first line looks like the lines below it, so that it names no columns: `an owl` above `a red fox`. */
function isHeaderless(lines: readonly string[], delimiter: Delimiter): boolean {
  const [header = [], ...rows] = recordsOf(lines.slice(0, maxLines), delimiter);
  const kinds = header.map(kindOf);
  if (rows.length < 2 || header.some(isKnownColumn) || kinds.every((kind) => kind === 'word')) return false;
  const isAlike = (row: string[]): boolean => kinds.every((kind, at) => kindOf(row[at] ?? '') === kind);
  return rows.filter(isAlike).length > rows.length / 2;
}

function kindOf(value: string): 'number' | 'word' | 'words' | 'text' {
  if (/^-?\d+(?:[.,]\d+)?$/.test(value.trim())) return 'number';
  const words = value.trim().split(/\s+/).length;
  if (words === 1) return 'word';
  return words < 4 ? 'words' : 'text';
}

/** Returns the share of rows that have as many values as the header; 0 if the header is in one piece. */
function fittingShare(lines: string[], delimiter: Delimiter): number {
  const [header = [], ...rows] = recordsOf(lines, delimiter);
  if (header.length < 2) return 0;
  return rows.length === 0 ? 1 : rows.filter((row) => row.length === header.length).length / rows.length;
}
