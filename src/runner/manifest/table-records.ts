/** Takes lines of CSV and TSV apart into records; a quote out of place costs its own record and no other. */
import { parse, type CsvError } from 'csv-parse/sync';
import { maxRowBytes } from './manifest.ts';
import { isBlank, type LineBlock, withoutReturn } from './split-lines.ts';

export type TableFormat = 'csv' | 'tsv';

export interface TableRecord {
  /** Where it starts, 1-based. */
  line: number;
  /** How many lines it goes over. */
  lineCount: number;
  /** None where they cannot be told. */
  values: string[];
  problem?: string | undefined;
  /** Its quote is not closed within 1 MiB. */
  isOpen?: boolean;
}

/** Lines that csv-parse is given at a time: few after a quote out of place, since what comes after it is read again. */
const maxLines = 5000;
const fewLines = 8;

const tooLong = 'has a quote that is not closed within 1 MiB';
const neverClosed = 'has a quote that is never closed';

export async function* readRecords(
  blocks: AsyncIterable<LineBlock>,
  format: TableFormat,
): AsyncGenerator<TableRecord[]> {
  const reader = new RecordReader(format);
  for await (const block of blocks) {
    reader.add(block);
    if (reader.isWorthReading) yield reader.read(false);
  }
  yield reader.read(true);
}

class RecordReader {
  readonly #format: TableFormat;
  /** The number of the first of the lines. */
  #first = 1;
  /** Lines not read yet: those of a record whose end has not been seen, and what came after. */
  #lines: string[] = [];
  #problems = new Map<number, string>();
  /** Reading a long record again with every few lines would take quadratic time. */
  #worthReadingAt = 0;
  /** A line in which a wrong quote seemed to be closed: a row of its own, or the rest of the row of that quote. */
  #suspect: { line: number; opened: number } | undefined;

  constructor(format: TableFormat) {
    this.#format = format;
  }

  add({ first, lines, problems }: LineBlock): void {
    if (this.#lines.length === 0) this.#first = first;
    for (const line of lines) this.#lines.push(line);
    for (const [line, problem] of problems) this.#problems.set(line, problem);
  }

  get isWorthReading(): boolean {
    return this.#lines.length >= this.#worthReadingAt;
  }

  /** The records whose end is seen. */
  read(isEnd: boolean): TableRecord[] {
    const records: TableRecord[] = [];
    let start = 0;
    let count = maxLines;
    while (start < this.#lines.length) {
      const sawAll = start + count >= this.#lines.length;
      const { rows, open } = parseLines(this.#lines.slice(start, start + count), this.#format);
      const { end, isWhole } = this.#take(start, rows, records);
      start = end;
      if (!isWhole) count = fewLines;
      else if (open === undefined) count = Math.min(2 * count, maxLines);
      else if (open.isTooLong || (sawAll && isEnd)) {
        const record = this.#misread(start, open.line, open.isTooLong ? tooLong : neverClosed);
        records.push(open.isTooLong && record.problem !== undefined ? { ...record, isOpen: true } : record);
        start += record.lineCount;
        count = fewLines;
      } else if (sawAll) break;
      else if (rows.length === 0) count *= 2;
    }
    this.#forget(start);
    return records;
  }

  /** Adds the rows up to one that was misread over several lines: those after it have to be read again. */
  #take(start: number, rows: string[][], records: TableRecord[]): { end: number; isWhole: boolean } {
    let end = start;
    for (const values of rows) {
      const lineCount = linesOf(values);
      const record = this.#recordOf(end, lineCount, values);
      if (!this.#isBlank(end, record)) records.push(record);
      end += record.lineCount;
      if (record.lineCount !== lineCount) return { end, isWhole: false };
    }
    return { end, isWhole: true };
  }

  #isBlank(start: number, { values, problem }: TableRecord): boolean {
    return values.length === 1 && problem === undefined && isBlank(this.#lines[start] ?? '');
  }

  #forget(count: number): void {
    this.#first += count;
    this.#lines = this.#lines.slice(count);
    this.#worthReadingAt = 2 * this.#lines.length;
    for (const line of this.#problems.keys()) if (line < this.#first) this.#problems.delete(line);
  }

  #recordOf(start: number, lineCount: number, values: string[]): TableRecord {
    const line = this.#first + start;
    const raw = (): string => withoutReturn(this.#lines.slice(start, start + lineCount).join('\n'));
    const misread = values.findIndex((value) => isMisread(value, this.#format, raw));
    if (misread !== -1) {
      const before = linesOf(values.slice(0, misread)) - 1;
      const opened = line + before;
      const closed = line + linesOf(values.slice(0, misread + 1)) - 1;
      if (this.#format === 'csv' && closed > opened) this.#suspect = { line: closed, opened };
      return this.#misread(start, before, 'has text after the quote that closes a value');
    }
    if (this.#suspect?.line === line && values.some((value) => hasInnerQuote(value, this.#format, raw))) {
      const problem = `has a quote that may belong to the one at line ${this.#suspect.opened}`;
      return this.#judged({ line, lineCount, values: [], problem });
    }
    return this.#judged({ line, lineCount, values });
  }

  /** A quote out of place is an error in CSV, and text in TSV, which most programs write without quoting. */
  #misread(start: number, linesBefore: number, problem: string): TableRecord {
    const line = this.#first + start;
    if (this.#format === 'tsv')
      return this.#judged({ line, lineCount: 1, values: textValues(this.#lines[start] ?? '') });
    const opens = `the quote opens at line ${line + linesBefore}`;
    return this.#judged({ line, lineCount: linesBefore + 1, values: [], problem: `${problem} (${opens})` });
  }

  /** The record with what is known to be wrong with its lines. */
  #judged(record: TableRecord): TableRecord {
    if (this.#problems.size === 0) return record;
    for (let line = record.line; line < record.line + record.lineCount; line++) {
      const problem = this.#problems.get(line);
      if (problem === undefined) continue;
      return { ...record, problem: record.lineCount === 1 ? problem : `${problem} (in line ${line})` };
    }
    return record;
  }
}

interface OpenQuote {
  /** The index of the line, after the first of the record, in which the value begins. */
  line: number;
  /** The record is longer than 1 MiB, otherwise the lines end within it. */
  isTooLong: boolean;
}

const delimiters = { csv: ',', tsv: '\t' } as const;

function parseLines(lines: string[], format: TableFormat): { rows: string[][]; open: OpenQuote | undefined } {
  const text = Buffer.from(`${lines.join('\n')}\n`);
  let failed: CsvError | undefined;
  const rows = parse(text, {
    delimiter: delimiters[format],
    record_delimiter: ['\r\n', '\n'],
    max_record_size: maxRowBytes,
    relax_column_count: true,
    relax_quotes: true,
    skip_records_with_error: true,
    on_skip: (error) => {
      failed = error;
    },
  });
  if (failed === undefined) return { rows, open: undefined };
  const before = text.toString('latin1', 0, Number(failed['bytes'])).split('\n').length - 1;
  const line = before - rows.reduce((sum, values) => sum + linesOf(values), 0);
  return { rows, open: { line, isTooLong: failed.code === 'CSV_MAX_RECORD_SIZE' } };
}

function linesOf(values: string[]): number {
  let count = 1;
  for (const value of values)
    for (let at = value.indexOf('\n'); at !== -1; at = value.indexOf('\n', at + 1)) count += 1;
  return count;
}

/**
 * csv-parse takes text after a closing quote for part of the value, which then begins with a quote. In TSV such a value is
 * text if it stands there as it is. Quotes of TSV hold tabs or line breaks but not both: those of two prompts would swallow
 * the rows between.
 */
function isMisread(value: string, format: TableFormat, raw: () => string): boolean {
  if (format === 'tsv' && value.includes('\t') && value.includes('\n')) return true;
  if (!value.startsWith('"') || isField(quoted(value), format, raw())) return false;
  return format === 'csv' || /[\t\n]/.test(value) || !isField(value, format, raw());
}

function hasInnerQuote(value: string, format: TableFormat, raw: () => string): boolean {
  return value.includes('"') && !isField(quoted(value), format, raw());
}

/** Whether a text stands in a record as a whole field. */
function isField(text: string, format: TableFormat, raw: string): boolean {
  const delimiter = delimiters[format];
  return `${delimiter}${raw}${delimiter}`.includes(`${delimiter}${text}${delimiter}`);
}

function quoted(value: string): string {
  return `"${value.replaceAll('"', '""')}"`;
}

/** Of a line of TSV, where quotes are text unless they enclose a whole value. */
function textValues(line: string): string[] {
  const fields = withoutReturn(line).match(/(?<=^|\t)(?:"(?:[^"]|"")*"(?=\t|$)|[^\t]*)/g) ?? [];
  return fields.map((field) =>
    /^"(?:[^"]|"")*"$/.test(field) ? field.slice(1, -1).replaceAll('""', '"') : field,
  );
}
