/** Reads CSV and TSV: a header, and rows with as many values as it has names. */
import type { JsonObject } from '../../lib/text/json.ts';
import { ManifestError, maxBatchRows, type ManifestEntry } from './manifest.ts';
import { startingWith } from './open-bytes.ts';
import type { LineBlock } from './split-lines.ts';
import { readRecords, type TableFormat, type TableRecord } from './table-records.ts';

export async function readTable(
  path: string,
  blocks: AsyncIterable<LineBlock>,
  format: TableFormat,
): Promise<{ columns: string[]; batches: AsyncIterable<ManifestEntry[]> }> {
  const groups = readRecords(blocks, format);
  const { header, records } = await firstRecord(path, groups);
  const columns = readHeader(path, header, format);
  return { columns, batches: readRows(startingWith(records, groups), columns, format) };
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

function readHeader(path: string, header: TableRecord, format: TableFormat): string[] {
  if (header.problem !== undefined)
    throw new ManifestError(path, `the header ${header.problem}`, header.line);
  const columns = header.values.map((name) => name.trim());
  if (format === 'csv' && columns.length === 1 && columns[0]?.includes(';') === true)
    throw new ManifestError(path, separatedBySemicolons, header.line);
  const problems = [...unnamed(columns), ...repeated(columns)];
  // Assigning to this name sets an object's prototype instead of a value.
  if (columns.includes('__proto__')) problems.push('a column cannot be called __proto__');
  if (problems.length > 0) throw new ManifestError(path, `the header: ${problems.join('; ')}`, header.line);
  return columns;
}

const separatedBySemicolons =
  'the header is one column: the values seem to be separated by semicolons; save the list with commas, or with tabs as .tsv';

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

async function* readRows(
  groups: AsyncIterable<TableRecord[]>,
  columns: string[],
  format: TableFormat,
): AsyncGenerator<ManifestEntry[]> {
  for await (const group of groups) {
    for (let start = 0; start < group.length; start += maxBatchRows) {
      yield group.slice(start, start + maxBatchRows).map((record) => readRow(record, columns, format));
    }
  }
}

function readRow(record: TableRecord, columns: string[], format: TableFormat): ManifestEntry {
  const { line, values } = record;
  const problem = record.problem ?? problemOfCount(record, columns.length, format);
  if (problem !== undefined)
    return { kind: 'bad', line, problem, ...idOf(values, columns), ...(record.isOpen && { isOpen: true }) };
  const row: JsonObject = {};
  columns.forEach((name, index) => {
    row[name] = values[index] ?? '';
  });
  return { kind: 'row', columns: row, line };
}

function problemOfCount(
  { line, lineCount, values }: TableRecord,
  expected: number,
  format: TableFormat,
): string | undefined {
  const found = values.length;
  if (found === expected) return undefined;
  const counts = `has ${found} ${found === 1 ? 'column' : 'columns'}; the header has ${expected}`;
  if (lineCount > 1) return `${counts} (its quotes join lines ${line} to ${line + lineCount - 1})`;
  return found > expected && format === 'csv' ? `${counts} (put texts with commas in quotes)` : counts;
}

function idOf(values: string[], columns: string[]): { id?: string } {
  const id = values[columns.indexOf('id')] ?? '';
  const isReadable = id !== '' && !id.includes('\u{FFFD}') && !id.includes('\0');
  return isReadable ? { id } : {};
}
