/** Splits bytes into lines, and lines of CSV and TSV into records. A misplaced quotation mark spoils only its own record. */
import { isUtf8 } from 'node:buffer';
import { type CsvError, parse } from 'csv-parse/sync';
import { type Delimiter, isComment, maxRowBytes, seemsComment } from './manifest.ts';
import { notUtf8 } from './open-bytes.ts';

export const delimiters: readonly Delimiter[] = [',', ';', '\t'];

export interface TableRecord {
  /** Line where it starts, 1-based. */
  line: number;
  lineCount: number;
  /** Empty if the values cannot be determined. */
  values: string[];
  problem?: string | undefined;
  /** True if its quotation mark is not closed within 1 MiB. */
  isOpen?: boolean;
  /** True if its first line begins with "# " and no comments are configured. */
  seemsComment?: true;
}

/** Lines per call of csv-parse, few after a misplaced quotation mark, where lines are read again. */
const maxLines = 5000;
const fewLines = 8;

const tooLong = 'has a quote that is not closed within 1 MiB';
const neverClosed = 'has a quote that is never closed';

export async function* readTableRecords(
  blocks: AsyncIterable<LineBlock>,
  delimiter: Delimiter,
  comments?: string,
): AsyncGenerator<TableRecord[]> {
  const reader = new RecordReader(delimiter, comments);
  for await (const block of blocks) {
    reader.add(block);
    if (reader.isWorthReading) yield reader.read(false);
  }
  yield reader.read(true);
}

class RecordReader {
  readonly #delimiter: Delimiter;
  readonly #comments: string | undefined;
  #first = 1;
  /** Lines not read yet: a record whose end has not been seen, and what came after it. */
  #lines: string[] = [];
  #problems = new Map<number, string>();
  /** Number of lines to wait for. Reading a long record again with every few lines would take quadratic time. */
  #worthReadingAt = 0;
  /** A line that seems to close a wrong quotation mark, alone or as the end of its row. */
  #suspect: { line: number; opened: number } | undefined;

  constructor(delimiter: Delimiter, comments: string | undefined) {
    this.#delimiter = delimiter;
    this.#comments = comments;
  }

  add({ first, lines, problems }: LineBlock): void {
    if (this.#lines.length === 0) this.#first = first;
    for (const line of lines) this.#lines.push(line);
    for (const [line, problem] of problems) this.#problems.set(line, problem);
  }

  get isWorthReading(): boolean {
    return this.#lines.length >= this.#worthReadingAt;
  }

  /** Returns the records whose end has been seen. */
  read(isEnd: boolean): TableRecord[] {
    const records: TableRecord[] = [];
    let start = 0;
    let count = maxLines;
    // Lines before this index are within an open quotation mark, so they are no comments.
    let quotedTo = 0;
    while (start < this.#lines.length) {
      if (start >= quotedTo && this.#isComment(start)) {
        start += 1;
        continue;
      }
      // Comments are never parsed, because a quotation mark in one would swallow the rows after it.
      const stop = this.#nextComment(Math.max(start, quotedTo), start + count);
      const sawAll = stop >= this.#lines.length;
      const { rows, open } = parseLines(this.#lines.slice(start, stop), this.#delimiter);
      const { end, isWhole } = this.#take(start, rows, records);
      start = end;
      quotedTo = open === undefined || !isWhole ? start : this.#afterQuote(stop);
      if (!isWhole) count = fewLines;
      else if (open === undefined) count = Math.min(2 * count, maxLines);
      else if (open.isTooLong || (sawAll && isEnd)) {
        const record = this.#misread(start, open.line, open.isTooLong ? tooLong : neverClosed);
        records.push(open.isTooLong && record.problem !== undefined ? { ...record, isOpen: true } : record);
        start += record.lineCount;
        quotedTo = start;
        count = fewLines;
      } else if (sawAll) break;
      else if (rows.length === 0) count *= 2;
    }
    this.#forget(start);
    return records;
  }

  #isComment(at: number): boolean {
    return isComment(this.#lines[at] ?? '', this.#comments);
  }

  /** Returns the index of the first comment from `from` on; `end` if there is none before it. */
  #nextComment(from: number, end: number): number {
    if (this.#comments === undefined) return end;
    const last = Math.min(end, this.#lines.length);
    for (let at = from; at < last; at++) if (this.#isComment(at)) return at;
    return end;
  }

  /** Returns the index after the next line that may close a quotation mark that is open at `from`. */
  #afterQuote(from: number): number {
    let at = from;
    while (at < this.#lines.length && this.#lines[at]?.includes('"') !== true) at += 1;
    return Math.min(at + 1, this.#lines.length);
  }

  /** Adds rows up to one that was misread across several lines. The rows after it have to be read again. */
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
    const misread = values.findIndex((value) => isMisread(value, this.#delimiter, raw));
    if (misread !== -1) {
      const before = linesOf(values.slice(0, misread)) - 1;
      const opened = line + before;
      const closed = line + linesOf(values.slice(0, misread + 1)) - 1;
      if (this.#delimiter !== '\t' && closed > opened) this.#suspect = { line: closed, opened };
      return this.#misread(start, before, 'has text after the quote that closes a value');
    }
    if (this.#suspect?.line === line && values.some((value) => hasInnerQuote(value, this.#delimiter, raw))) {
      const problem = `has a quote that may belong to the one at line ${this.#suspect.opened}`;
      return this.#judged({ line, lineCount, values: [], problem });
    }
    return this.#judged({ line, lineCount, values });
  }

  /** Returns a record for a misplaced quotation mark: an error in CSV, text in TSV. */
  #misread(start: number, linesBefore: number, problem: string): TableRecord {
    const line = this.#first + start;
    if (this.#delimiter === '\t')
      return this.#judged({ line, lineCount: 1, values: textValues(this.#lines[start] ?? '') });
    const opens = `the quote opens at line ${line + linesBefore}`;
    return this.#judged({ line, lineCount: linesBefore + 1, values: [], problem: `${problem} (${opens})` });
  }

  /** Returns the record with the known problems of its lines. */
  #judged(read: TableRecord): TableRecord {
    const isSeeming =
      this.#comments === undefined && seemsComment(this.#lines[read.line - this.#first] ?? '');
    const record = isSeeming ? { ...read, seemsComment: true as const } : read;
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
  /** Line where the value begins, counted from the first line of the record. */
  line: number;
  /** True if the record is longer than 1 MiB. Otherwise the lines end within it. */
  isTooLong: boolean;
}

function parseLines(
  lines: string[],
  delimiter: Delimiter,
): { rows: string[][]; open: OpenQuote | undefined } {
  const text = Buffer.from(`${lines.join('\n')}\n`);
  let failed: CsvError | undefined;
  const rows = parse(text, {
    delimiter,
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

/** Returns the values of lines without blank ones. A quotation mark that is not closed yields nothing. */
export function recordsOf(lines: string[], delimiter: Delimiter): string[][] {
  return parseLines(lines, delimiter).rows.filter((values) => values.length > 1 || !isBlank(values[0] ?? ''));
}

function linesOf(values: string[]): number {
  let count = 1;
  for (const value of values)
    for (let at = value.indexOf('\n'); at !== -1; at = value.indexOf('\n', at + 1)) count += 1;
  return count;
}

/**
 * True if csv-parse misread the value. It takes text after a closing quotation mark as part of the value,
 * which then begins with a mark. In TSV, such a value is text if the record contains it unchanged. Quoted
 * values of TSV contain tabs or line breaks, never both, because the marks of two prompts would swallow the
 * rows between them.
 */
function isMisread(value: string, delimiter: Delimiter, raw: () => string): boolean {
  if (delimiter === '\t' && value.includes('\t') && value.includes('\n')) return true;
  if (!value.startsWith('"') || isField(quoted(value), delimiter, raw())) return false;
  return delimiter !== '\t' || /[\t\n]/.test(value) || !isField(value, delimiter, raw());
}

function hasInnerQuote(value: string, delimiter: Delimiter, raw: () => string): boolean {
  return value.includes('"') && !isField(quoted(value), delimiter, raw());
}

function isField(text: string, delimiter: Delimiter, raw: string): boolean {
  return `${delimiter}${raw}${delimiter}`.includes(`${delimiter}${text}${delimiter}`);
}

function quoted(value: string): string {
  return `"${value.replaceAll('"', '""')}"`;
}

/** Returns the values of a line of TSV. A quotation mark is text unless a pair encloses a whole value. */
function textValues(line: string): string[] {
  const fields = withoutReturn(line).match(/(?<=^|\t)(?:"(?:[^"]|"")*"(?=\t|$)|[^\t]*)/g) ?? [];
  return fields.map((field) =>
    /^"(?:[^"]|"")*"$/.test(field) ? field.slice(1, -1).replaceAll('""', '"') : field,
  );
}

/** Consecutive lines. */
export interface LineBlock {
  /** The number of the first line, 1-based. */
  first: number;
  /** Lines without the line feed. A carriage return stays: within quotation marks it is part of the value. */
  lines: string[];
  /** Problems by line number. The text of such a line is what could be read of it. */
  problems: ReadonlyMap<number, string>;
}

const lineFeed = 10;
const longLine = 'is longer than 1 MiB';

/** Splits bytes into numbered lines of up to `maxRowBytes`. `endInReturns`: lines end with CR alone. */
export async function* splitLines(
  bytes: AsyncIterable<Buffer>,
  endInReturns: boolean,
): AsyncGenerator<LineBlock> {
  const started = new StartedLine();
  let first = 1;
  for await (const chunk of endInReturns ? withLineFeeds(bytes) : bytes) {
    const end = chunk.lastIndexOf(lineFeed);
    if (end !== -1) {
      const block = readBlock(first, started.finish(chunk.subarray(0, end)));
      first += block.lines.length;
      yield block;
    }
    started.add(chunk.subarray(end + 1));
  }
  if (started.bytes > 0) yield readBlock(first, started.finish(Buffer.alloc(0)));
}

export function isBlank(line: string): boolean {
  return line.trim() === '';
}

export function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

/** A line that has begun in earlier chunks and not ended. Of a line that is too long, nothing is kept. */
class StartedLine {
  bytes = 0;
  #pieces: Buffer[] = [];

  add(piece: Buffer): void {
    this.bytes += piece.length;
    if (this.bytes <= maxRowBytes) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  /** Returns whole lines and resets: the begun line with its continuation in `rest`, then the other lines in `rest`. */
  finish(rest: Buffer): { bytes: Buffer; isFirstCut: boolean } {
    const isFirstCut = this.bytes > maxRowBytes;
    const firstBreak = rest.indexOf(lineFeed);
    const kept = isFirstCut ? rest.subarray(firstBreak === -1 ? rest.length : firstBreak) : rest;
    const bytes = this.#pieces.length === 0 ? kept : Buffer.concat([...this.#pieces, kept]);
    this.bytes = 0;
    this.#pieces = [];
    return { bytes, isFirstCut };
  }
}

function readBlock(first: number, { bytes, isFirstCut }: { bytes: Buffer; isFirstCut: boolean }): LineBlock {
  const problems = new Map<number, string>();
  if (isFirstCut) problems.set(first, longLine);
  // Checking the whole block is many times faster than checking each line, and almost always enough.
  if (bytes.length <= maxRowBytes && isUtf8(bytes) && !bytes.includes(0)) {
    return { first, lines: bytes.toString().split('\n'), problems };
  }
  const lines: string[] = [];
  for (let start = 0; start <= bytes.length;) {
    const found = bytes.indexOf(lineFeed, start);
    const end = found === -1 ? bytes.length : found;
    const line = bytes.subarray(start, end);
    const problem = problemOf(line);
    if (problem !== undefined) problems.set(first + lines.length, problem);
    lines.push(problem === longLine ? '' : line.toString());
    start = end + 1;
  }
  return { first, lines, problems };
}

function problemOf(line: Buffer): string | undefined {
  if (line.length > maxRowBytes) return longLine;
  if (!isUtf8(line)) return notUtf8(line);
  return line.includes(0) ? 'contains a NUL character' : undefined;
}

/** Replaces carriage returns that end lines. Before a line feed, within quotation marks, one is part of the value. */
async function* withLineFeeds(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pending = '';
  for await (const chunk of bytes) {
    const text = pending + chunk.toString('latin1');
    pending = text.endsWith('\r') ? '\r' : '';
    yield Buffer.from(text.slice(0, text.length - pending.length).replaceAll(/\r(?!\n)/g, '\n'), 'latin1');
  }
  if (pending !== '') yield Buffer.from('\n');
}
