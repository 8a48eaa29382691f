/** Makes rows of JSON values out of the elements of a worksheet (ECMA-376, part 1, 18.3). */
import { maxRowBytes } from './manifest.ts';

/** Hears of an element at its end; `text` is what stands in an element without others in it. */
export type OnElement = (name: string, attributes: Record<string, string>, text: string) => void;

type CellValue = string | number | boolean;

export interface SheetRow {
  /** The number that a spreadsheet shows beside the row. */
  line: number;
  /** By column, up to the last cell that is not empty. */
  values: (CellValue | undefined)[];
  problem: string | undefined;
}

/** What cells refer to. */
export interface CellTables {
  strings: string[];
  /** True if a cell of this style shows its number as a date or a time. */
  isDate: boolean[];
  /** Epoch ms of the day 0. */
  dayZero: number;
}

/** The text of a cell or a shared string: its runs joined, without their pronunciation. */
export class CellText {
  #runs: string[] = [];
  #length = 0;

  /** Runs beyond the limit of a row are not kept: the row is bad anyway. */
  addElement(name: string, text: string): void {
    if (name === 'rPh') this.#runs.pop();
    if (name !== 't' && name !== 'v') return;
    if (this.#length <= maxRowBytes) this.#runs.push(text);
    this.#length += text.length;
  }

  /** Returns '' for white space alone. Control characters are written as `_x000D_`, and an underscore as `_x005F_`. */
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
  /** Ranges of cells that are merged over several rows. */
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
  /** Drawings, which come later, have rows, too. */
  #hasEnded = false;

  constructor(tables: CellTables) {
    this.#tables = tables;
  }

  /** Returns the rows that have ended, without blank ones. */
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
/** A spreadsheet shows 0.1 + 0.2 as 0.3. */
const shownDigits = 15;
/** The first day of the year 10000. */
const endOfDays = 2_958_466;

function columnOf(reference: string): number {
  const letters = /^[A-Z]{0,3}/.exec(reference)?.[0] ?? '';
  let column = 0;
  for (const letter of letters) column = 26 * column + letter.charCodeAt(0) - 64;
  return column - 1;
}

/** As a spreadsheet names it: C7. */
export function cellName(column: number, line: number): string {
  let letters = '';
  for (let rest = column; rest >= 0; rest = Math.floor(rest / 26) - 1)
    letters = String.fromCodePoint(65 + (rest % 26)) + letters;
  return `${letters}${line}`;
}

/** Returns ISO text without a time zone, which spreadsheets do not have; hours for less than 60 days. */
function instantText(days: number, dayZero: number): string {
  const ms = Math.round(days * 86_400_000);
  const iso = new Date(dayZero + ms).toISOString().replace(/(\.000)?Z$/, '');
  if (days >= 60) return iso.replace('T00:00:00', '');
  const hours = Math.floor(ms / 3_600_000);
  return `${String(hours).padStart(2, '0')}${iso.slice(iso.indexOf(':'))}`;
}
