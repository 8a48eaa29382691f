/** Reads CSV and TSV: a header, and rows with as many values as the header has names. */
import { type ListReading, idColumnOf } from '../core/list-reading.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { commentNotes } from './comment-lines.ts';
import {
  ManifestError,
  maxBatchRows,
  type Delimiter,
  type Manifest,
  type ManifestEntry,
} from './manifest.ts';
import { startingWith } from './open-bytes.ts';
import { findDelimiter, isHeaderless } from './find-delimiter.ts';
import { isBlank, type LineBlock } from './split-lines.ts';
import { readRecords, type TableRecord } from './table-records.ts';

/** The beginning of a text. */
export interface Start {
  /** The lines read so far, from the first one that is not empty. */
  lines: string[];
  /** Delimiter that the list states on a line of its own, which is left out. */
  stated: Delimiter | undefined;
  /** The whole text. */
  blocks: AsyncIterable<LineBlock>;
}

/** `usual`: the delimiter that the file extension suggests. */
export async function readTable(
  path: string,
  { lines, stated, blocks }: Start,
  usual: Delimiter,
  reading: ListReading,
  notes: string[],
): Promise<Pick<Manifest, 'batches' | 'delimiter' | 'isHeaderless'> & { columns: string[] }> {
  const delimiter = stated ?? findDelimiter(lines, usual, reading.readsSpreadsheets);
  const groups = readRecords(blocks, delimiter, reading.comments);
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
    return `"${name}" is the name of columns ${places.join(' and ')}`;
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
