/** Reads CSV and TSV: a header, and rows with as many values as it has names. */
import { parse } from 'csv-parse/sync';
import type { JsonObject } from '../../lib/text/json.ts';
import { ManifestError, maxBatchRows, type ManifestEntry } from './manifest.ts';
import { delimiters, type TableFormat, scanRecord, type MalformedScan } from './scan-record.ts';
import { type LineBlock, isBlank } from './split-lines.ts';

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
  return `${counts} (its quotes join lines ${record.line} to ${record.line + record.lineCount - 1})`;
}

function idOf(values: string[], columns: string[]): { id?: string } {
  const id = values[columns.indexOf('id')] ?? '';
  const isReadable = id !== '' && !id.includes('\u{FFFD}') && !id.includes('\0');
  return isReadable ? { id } : {};
}

/** One record in a form that a reader of RFC 4180 takes apart in one way only. */
interface TextRecord {
  /** Where it starts, 1-based. */
  line: number;
  /** How many lines it goes over. */
  lineCount: number;
  /** Without the line break at its end; empty where nothing of it can be read. */
  text: string;
  problem?: string;
}

/** A quote that is never closed costs its own row and no other: reading continues in the next line. */
async function* cutRecords(
  blocks: AsyncIterable<LineBlock>,
  format: TableFormat,
): AsyncGenerator<TextRecord[]> {
  const cutter = new RecordCutter(format);
  for await (const block of blocks) yield cutter.cut(block);
  yield cutter.end();
}

class RecordCutter {
  readonly #format: TableFormat;
  #first = 1;
  /** Lines not cut yet: those of a record whose end has not been seen, and what came after. */
  #lines: string[] = [];
  #problems = new Map<number, string>();
  /** Looking again at a long record with every few lines would take quadratic time. */
  #worthCuttingAt = 0;
  #suspect: { line: number; opened: number } | undefined;

  constructor(format: TableFormat) {
    this.#format = format;
  }

  cut(block: LineBlock): TextRecord[] {
    if (this.#lines.length === 0) {
      this.#first = block.first;
      this.#lines = block.lines;
    } else {
      for (const line of block.lines) this.#lines.push(line);
    }
    for (const [line, problem] of block.problems) this.#problems.set(line, problem);
    return this.#lines.length < this.#worthCuttingAt ? [] : this.#cutLines(false);
  }

  end(): TextRecord[] {
    return this.#cutLines(true);
  }

  #cutLines(isEnd: boolean): TextRecord[] {
    const records: TextRecord[] = [];
    let start = 0;
    while (start < this.#lines.length) {
      const cut = this.#cutOne(start, isEnd);
      if (cut === undefined) break;
      if (cut.text !== '' || cut.problem !== undefined) records.push(cut);
      start += cut.lineCount;
    }
    this.#first += start;
    this.#lines = this.#lines.slice(start);
    this.#worthCuttingAt = 2 * this.#lines.length;
    for (const line of this.#problems.keys()) if (line < this.#first) this.#problems.delete(line);
    return records;
  }

  /** The record that starts with a line, without text where the line is blank; undefined where its end is not seen yet. */
  #cutOne(start: number, isEnd: boolean): TextRecord | undefined {
    const line = this.#first + start;
    const text = this.#lines[start] ?? '';
    if (!text.includes('"')) return this.#judged({ line, lineCount: 1, text: plain(text, this.#format) });
    const scan = scanRecord(this.#lines, start, { format: this.#format, isEnd });
    if (scan.kind === 'unfinished') return undefined;
    if (scan.kind === 'malformed') return this.#malformed(start, scan);
    const { lineCount } = scan;
    if (this.#suspect?.line === line && scan.hasInnerQuote) {
      const problem = `has a quote that may belong to the one at line ${this.#suspect.opened}`;
      return this.#judged({ line, lineCount, text: '', problem });
    }
    return this.#judged({ line, lineCount, text: scan.text });
  }

  #malformed(start: number, scan: MalformedScan): TextRecord {
    const opened = this.#first + scan.openedAt;
    // The line where the scan ended may be a row of its own, or the rest of this one: then it is no row.
    if (scan.endedAt !== scan.openedAt) this.#suspect = { line: this.#first + scan.endedAt, opened };
    const problem = `${scan.problem} (the quote opens at line ${opened})`;
    return this.#judged({
      line: this.#first + start,
      lineCount: scan.openedAt - start + 1,
      text: '',
      problem,
    });
  }

  /** The record with what is known to be wrong with its lines. */
  #judged(record: TextRecord): TextRecord {
    if (this.#problems.size === 0) return record;
    for (let line = record.line; line < record.line + record.lineCount; line++) {
      const problem = this.#problems.get(line);
      if (problem === undefined) continue;
      return { ...record, problem: record.lineCount === 1 ? problem : `${problem} (in line ${line})` };
    }
    return record;
  }
}

/** In TSV a line of tabs is a row of empty values, as a line of commas is in CSV. */
function plain(line: string, format: TableFormat): string {
  if (isBlank(line) && !(format === 'tsv' && line.includes('\t'))) return '';
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
