/** Reads CSV and TSV: a header, and rows with as many values as it has names. */
import { parse } from 'csv-parse/sync';
import type { JsonObject } from '../../lib/text/json.ts';
import { cutRecords, type TextRecord } from './cut-records.ts';
import { ManifestError, maxBatchRows, type ManifestEntry } from './manifest.ts';
import { delimiters, type TableFormat } from './scan-record.ts';
import type { LineBlock } from './split-lines.ts';

export async function readTable(
  path: string,
  blocks: AsyncIterable<LineBlock>,
  format: TableFormat,
): Promise<{ columns: string[]; batches: AsyncIterable<ManifestEntry[]> }> {
  const groups = cutRecords(blocks, format);
  const { header, records } = await firstRecord(path, groups);
  const columns = readHeader(path, header, format);
  return { columns, batches: readRows(startingWith(records, groups), columns, format) };
}

async function firstRecord(
  path: string,
  groups: AsyncGenerator<TextRecord[]>,
): Promise<{ header: TextRecord; records: TextRecord[] }> {
  for (;;) {
    const next = await groups.next();
    if (next.done === true) throw new ManifestError(path, 'has no header');
    const [header, ...records] = next.value;
    if (header !== undefined) return { header, records };
  }
}

function readHeader(path: string, header: TextRecord, format: TableFormat): string[] {
  if (header.problem !== undefined)
    throw new ManifestError(path, `the header ${header.problem}`, header.line);
  const columns = (takeApart([header], format)[0] ?? []).map((name) => name.trim());
  const problems = [...unnamed(columns), ...repeated(columns)];
  // Assigning to this name sets an object's prototype instead of a value.
  if (columns.includes('__proto__')) problems.push('a column cannot be called __proto__');
  if (problems.length > 0) throw new ManifestError(path, `the header: ${problems.join('; ')}`, header.line);
  return columns;
}

function unnamed(columns: string[]): string[] {
  const places = columns.flatMap((name, index) => (name === '' ? [index + 1] : []));
  return places.length === 0 ? [] : [`no name for column ${places.join(', ')}`];
}

function repeated(columns: string[]): string[] {
  const names = columns.filter((name, index) => name !== '' && columns.indexOf(name) !== index);
  return [...new Set(names)].map((name) => {
    const places = columns.flatMap((other, index) => (other === name ? [index + 1] : []));
    return `"${name}" is the name of columns ${places.join(' and ')}`;
  });
}

async function* startingWith<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first;
  yield* rest;
}

async function* readRows(
  groups: AsyncIterable<TextRecord[]>,
  columns: string[],
  format: TableFormat,
): AsyncGenerator<ManifestEntry[]> {
  for await (const group of groups) {
    for (let start = 0; start < group.length; start += maxBatchRows) {
      const records = group.slice(start, start + maxBatchRows);
      const rows = takeApart(records, format);
      yield records.map((record, index) => readRow(record, rows[index] ?? [], columns));
    }
  }
}

/**
 * The values of each record. Many records a call and without `info`, since their lines are known: this is
 * twice as fast as asking csv-parse for them, and a malformed record cannot take others with it.
 */
function takeApart(records: TextRecord[], format: TableFormat): string[][] {
  const text = records.map((record) => `${record.text}\n`).join('');
  const rows = parse(text, {
    delimiter: delimiters[format],
    record_delimiter: '\n',
    relax_quotes: true,
    relax_column_count: true,
  });
  if (rows.length !== records.length)
    throw new Error(`${records.length} records were read as ${rows.length}`);
  return rows;
}

function readRow(record: TextRecord, values: string[], columns: string[]): ManifestEntry {
  const { line } = record;
  const problem = record.problem ?? problemOfCount(record, values.length, columns.length);
  if (problem !== undefined) return { kind: 'bad', line, problem, ...idOf(values, columns) };
  const row: JsonObject = {};
  columns.forEach((name, index) => {
    row[name] = values[index] ?? '';
  });
  return { kind: 'row', columns: row, line };
}

function problemOfCount(record: TextRecord, found: number, expected: number): string | undefined {
  if (found === expected) return undefined;
  const counts = `has ${found} ${found === 1 ? 'column' : 'columns'}; the header has ${expected}`;
  if (record.lineCount === 1) return counts;
  return `${counts} (quotes make lines ${record.line} to ${record.line + record.lineCount - 1} one row)`;
}

function idOf(values: string[], columns: string[]): { id?: string } {
  const id = values[columns.indexOf('id')] ?? '';
  const isReadable = id !== '' && !id.includes('\u{FFFD}') && !id.includes('\0');
  return isReadable ? { id } : {};
}
