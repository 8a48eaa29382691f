/** Cuts lines into the records of CSV and TSV, which go over line breaks where these stand in quotes. */
import { scanRecord, type MalformedScan, type TableFormat } from './scan-record.ts';
import { isBlank, type LineBlock } from './split-lines.ts';

/** One record in a form that a reader of RFC 4180 takes apart in one way only. */
export interface TextRecord {
  /** Where it starts, 1-based. */
  line: number;
  /** How many lines it goes over. */
  lineCount: number;
  /** Without the line break at its end; empty where nothing of it can be read. */
  text: string;
  problem?: string;
}

/** A quote that is never closed costs its own row and no other: reading goes on in the line after it. */
export async function* cutRecords(
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
      const problem = `holds a quote that may belong to the one that opens in line ${this.#suspect.opened}`;
      return this.#judged({ line, lineCount, text: '', problem });
    }
    return this.#judged({ line, lineCount, text: scan.text });
  }

  #malformed(start: number, scan: MalformedScan): TextRecord {
    const opened = this.#first + scan.openedAt;
    // The line where the scan ended may be a row of its own, or the rest of this one: then it is no row.
    if (scan.endedAt !== scan.openedAt) this.#suspect = { line: this.#first + scan.endedAt, opened };
    const problem = `${scan.problem} (the quote opens in line ${opened})`;
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
