/** Turns the elements of a worksheet into rows of JSON values (ECMA-376, part 1, 18.3). */
import { maxRowBytes } from './manifest.ts';

/** Called at the end of an element. `text` is the content of an element without children. */
export type OnElement = (name: string, attributes: Record<string, string>, text: string) => void;

type CellValue = string | number | boolean;

export interface SheetRow {
  /** Row number as a spreadsheet shows it. */
  line: number;
  /** Values by column, up to the last cell that is not empty. */
  values: (CellValue | undefined)[];
  problem: string | undefined;
}

export interface CellTables {
  strings: string[];
  /** True if a cell of this style shows its number as a date or a time. */
  isDate: boolean[];
  /** Epoch ms of day 0. */
  dayZero: number;
}

/** Collects the text of a cell or a shared string: its runs joined, without phonetic hints. */
export class CellText {
  #runs: string[] = [];
  #length = 0;

  /** Drops runs beyond the maximum length of a row, because the row is invalid anyway. */
  addElement(name: string, text: string): void {
    if (name === 'rPh') this.#runs.pop();
    if (name !== 't' && name !== 'v') return;
    if (this.#length <= maxRowBytes) this.#runs.push(text);
    this.#length += text.length;
  }

  /** Returns the text, '' if only white space. Decodes `_x000D_` and the like; `_x005F_` is an underscore. */
  take(): string {
    const text = this.#runs.join('');
    this.#runs = [];
    this.#length = 0;
    return text.trim() === '' ? '' : text.replaceAll(/_x00(?!00)([01][\dA-F]|5F)_/gi, character);
  }
}

function character(_: string, hex: string): string {
  return String.fromCodePoint(Number.parseInt(hex, 16));
}

/** Limits of Excel. */
const maxLine = 1_048_576;
const maxColumns = 16_384;

export class SheetReader {
  /** Ranges of cells that are merged across several rows. */
  readonly merged: string[] = [];
  readonly #tables: CellTables;
  readonly #text = new CellText();
  #rows: SheetRow[] = [];
  #line = 0;
  #values: SheetRow['values'] = [];
  #bytes = 0;
  #problem: { column: number; text: string } | undefined;
  #column = -1;
  #hasFormula = false;
  #hasValue = false;
  /** Set at the end of the cells. Drawings, which come later, have rows too. */
  #hasEnded = false;

  constructor(tables: CellTables) {
    this.#tables = tables;
  }

  /** Returns the finished rows, without blank ones. */
  take(): SheetRow[] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }

  readonly onElement: OnElement = (name, attributes, text) => {
    if (name === 'sheetData') this.#hasEnded = true;
    if (name === 'mergeCell') this.#addMerged(attributes['ref'] ?? '');
    if (this.#hasEnded) return;
    this.#text.addElement(name, text);
    if (name === 'f') this.#hasFormula = true;
    if (name === 'v' || name === 'is') this.#hasValue = true;
    if (name === 'c') this.#endCell(attributes);
    if (name === 'row') this.#endRow(Number(attributes['r'] ?? this.#line + 1));
  };

  #addMerged(range: string): void {
    const [first, last] = range.split(':').map((cell) => cell.replace(/^[A-Z]+/, ''));
    if (first !== last) this.merged.push(range);
  }

  #endCell({ r, t = 'n', s = '0' }: Record<string, string>): void {
    this.#column = r === undefined ? this.#column + 1 : columnOf(r);
    if (this.#column < 0 || this.#column >= maxColumns) throw new Error(`cell ${r} after row ${this.#line}`);
    const value = this.#valueOf(this.#text.take(), t, this.#tables.isDate[Number(s)] ?? false);
    this.#hasFormula = false;
    this.#hasValue = false;
    if (value !== '') this.#values[this.#column] = value;
    if (typeof value === 'string') this.#bytes += Buffer.byteLength(value);
  }

  #endRow(line: number): void {
    if (!(line > this.#line && line <= maxLine)) throw new Error(`row ${line} after row ${this.#line}`);
    const { column, text } = this.#problem ?? {};
    const problem = text?.replace('<cell>', cellName(column ?? 0, line));
    const tooLong = this.#bytes > maxRowBytes ? 'is longer than 1 MiB' : undefined;
    if (this.#values.length > 0 || problem !== undefined)
      this.#rows.push({ line, values: this.#values, problem: problem ?? tooLong });
    this.#line = line;
    this.#values = [];
    this.#bytes = 0;
    this.#problem = undefined;
    this.#column = -1;
  }

  #valueOf(text: string, type: string, isDate: boolean): CellValue {
    if (type === 'e') return this.#refuse(`has the error ${text} in <cell>`);
    if (this.#hasFormula && (!this.#hasValue || (text === '' && type === 'n')))
      return this.#refuse(notStored);
    if (text === '' || ['str', 'inlineStr', 'd'].includes(type)) return text;
    if (type === 'b') return text === '1' || text === 'true';
    const number = Number(text);
    const shared = this.#tables.strings[number];
    if (type === 's' && shared !== undefined) return shared;
    if (type === 's' || !Number.isFinite(number)) throw new Error(`value ${text} after row ${this.#line}`);
    if (isDate && number >= 0 && number < endOfDays) return instantText(number, this.#tables.dayZero);
    if (!/^-?\d+$/.test(text)) return Number(number.toPrecision(shownDigits));
    return Number.isSafeInteger(number) ? number : this.#refuse(losesDigits);
  }

  #refuse(text: string): CellValue {
    this.#problem ??= { column: this.#column, text };
    return '';
  }
}

const notStored =
  'has a formula without a stored value in <cell>; open the file in a spreadsheet program and save it';
const losesDigits = 'has a number in <cell> that would lose digits; write it as text';
/** Digits that a spreadsheet shows: 0.1 + 0.2 appears as 0.3. */
const shownDigits = 15;
/** Day number of the first day of the year 10000. */
const endOfDays = 2_958_466;

function columnOf(reference: string): number {
  const letters = /^[A-Z]{0,3}/.exec(reference)?.[0] ?? '';
  let column = 0;
  for (const letter of letters) column = 26 * column + letter.charCodeAt(0) - 64;
  return column - 1;
}

/** Returns the name of a cell as a spreadsheet shows it: C7. */
export function cellName(column: number, line: number): string {
  let letters = '';
  for (let rest = column; rest >= 0; rest = Math.floor(rest / 26) - 1)
    letters = String.fromCodePoint(65 + (rest % 26)) + letters;
  return `${letters}${line}`;
}

/** Returns ISO text without a time zone, because spreadsheets have none. Values below 60 days become hours. */
function instantText(days: number, dayZero: number): string {
  const ms = Math.round(days * 86_400_000);
  const iso = new Date(dayZero + ms).toISOString().replace(/(\.000)?Z$/, '');
  if (days >= 60) return iso.replace('T00:00:00', '');
  const hours = Math.floor(ms / 3_600_000);
  return `${String(hours).padStart(2, '0')}${iso.slice(iso.indexOf(':'))}`;
}
