/** Choices for filters of the gallery in each column: a few values, or a range of numbers. */
import type { GalleryColumn, GalleryRange } from '../core/gallery-data.ts';
import { numberOf } from '../core/number-of.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';

const maxChoices = 50;

/** Maximum length in characters. Longer values are texts and not names. */
const maxChoiceLength = 80;

/** Maximum number of columns whose values are counted, because the page contains all of them. */
const maxColumns = 100;

interface CountedColumn {
  name: string;
  isValue: boolean;
  /** Number of rows of the first values. Null if values are not counted. */
  choices: Map<string, number> | null;
  /** True if there are too many values, or too long ones, to choose from. */
  isLong: boolean;
  /** Null once the column had a value that is not a number. */
  numbers: NumberBins | null;
}

export class ColumnCounts {
  readonly #columns: CountedColumn[];

  constructor(columns: string[], values: string[]) {
    this.#columns = columns.map((name, index) => {
      const isCounted = index < maxColumns && name !== 'id';
      // Seeds are searched for exactly, so a range of them is useless.
      const isAmount = isCounted && name !== 'seed';
      return {
        name,
        isValue: values.includes(name),
        choices: isCounted ? new Map<string, number>() : null,
        isLong: !isCounted,
        numbers: isAmount ? new NumberBins() : null,
      };
    });
  }

  add(columns: JsonObject): void {
    for (const column of this.#columns) {
      const value = columns[column.name];
      const text = choiceOf(value);
      if (text === undefined) continue;
      const number = numberOf(value);
      if (number !== undefined && Number.isFinite(number)) column.numbers?.add(number);
      else column.numbers = null;
      if (column.choices === null) continue;
      const count = column.choices.get(text) ?? 0;
      const isBeyond = count === 0 && column.choices.size >= maxChoices;
      if (isBeyond || text.length > maxChoiceLength) column.isLong = true;
      if (!isBeyond) column.choices.set(text, count + 1);
    }
  }

  /** Returns the columns. Numbers are sorted; texts stay in the order of the manifest, such as dawn, noon, dusk. */
  result(): GalleryColumn[] {
    return this.#columns.map(({ name, choices, isLong, isValue, numbers }) => {
      const range = isValue || isLong ? numbers?.result() : undefined;
      const counts = [...(choices ?? [])];
      return {
        name,
        choices: isLong || range ? null : inOrder(counts),
        ...(counts.some(([, rows]) => rows > 1) && { isShared: true }),
        ...(isValue && { isValue }),
        ...(range && { range }),
      };
    });
  }
}

function inOrder(choices: [text: string, rows: number][]): [text: string, rows: number][] {
  const isNumeric = choices.every(([text]) => numberOf(text) !== undefined);
  return isNumeric ? choices.toSorted(([a], [b]) => Number(a) - Number(b)) : choices;
}

/** Returns the text of a value, exactly as the page derives it. Undefined if the row has no value. */
function choiceOf(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const maxBins = 48;

/** Finer than any useful resolution, and still exact. */
const leastExponent = -60;

/** Histogram of numbers with few bins, whose range need not be known in advance. */
export class NumberBins {
  #least = Infinity;
  #most = -Infinity;
  /** The width is a power of two, so two bins merge into one of twice the width. */
  #exponent = leastExponent;
  #bins = new Map<number, number>();

  add(value: number): void {
    this.#least = Math.min(this.#least, value);
    this.#most = Math.max(this.#most, value);
    while (this.#isTooFine()) this.#double();
    this.#count(this.#binOf(value), 1);
  }

  /** Undefined if there were no numbers. */
  result(): GalleryRange | undefined {
    if (this.#bins.size === 0) return undefined;
    const [least, most, width] = [this.#least, this.#most, 2 ** this.#exponent];
    const first = this.#binOf(least);
    const length = this.#binOf(most) - first + 1;
    const bins = Array.from({ length }, (_, index) => this.#bins.get(first + index) ?? 0);
    return { least, most, from: first * width, width, bins };
  }

  #isTooFine(): boolean {
    const [first, last] = [this.#binOf(this.#least), this.#binOf(this.#most)];
    const areCountable = Number.isSafeInteger(first) && Number.isSafeInteger(last);
    return !areCountable || last - first >= maxBins;
  }

  #double(): void {
    const before = this.#bins;
    this.#exponent += 1;
    this.#bins = new Map();
    for (const [bin, count] of before) this.#count(Math.floor(bin / 2), count);
  }

  #binOf(value: number): number {
    return Math.floor(value / 2 ** this.#exponent);
  }

  #count(bin: number, count: number): void {
    this.#bins.set(bin, (this.#bins.get(bin) ?? 0) + count);
  }
}
