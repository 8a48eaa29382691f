/** The axes of a grid: columns with several values, and seeds by number. */
import type { GalleryColumn, GalleryData, GalleryRow } from '../../runner/core/gallery-data.ts';
import { numberOf } from '../../runner/core/number-of.ts';
import type { Place } from './place.ts';
import { promptOf, textOf } from './query.ts';

export interface Axis {
  name: string;
  /** Index of the column; undefined for seeds by number. */
  column?: number;
  /** Number of values; undefined if it is unknown without reading the rows. */
  count?: number;
  /** True if the column has too many values to list. */
  isLong: boolean;
  /** Returns a function that reads the value of a row. It must be called for all rows in order. */
  reader(): (row: GalleryRow) => string;
}

/** Returns axes added by `scenes` of pipeline.yaml first, then those with few values. */
export function gridAxes({ columns, axes }: GalleryData): Axis[] {
  const isNumbered = columns.some(({ name }) => name === 'seed_number');
  // Rows have different seeds, so the grid compares them by number.
  const added = new Set(axes.map((name) => (name === 'seed' && isNumbered ? 'seed_number' : name)));
  const rank = ({ name, isLong }: Axis): number => (added.has(name) ? 0 : isLong ? 2 : 1);
  return columns
    .flatMap((column, index) => axesOf(column, index, isNumbered))
    .toSorted((a, b) => rank(a) - rank(b));
}

export interface ChosenAxes {
  down: Axis;
  across: Axis;
  steps: Axis[];
}

/**
 * Returns the axes of the place, or default ones. An axis with many values becomes the rows. Undefined if there
 * are less than two.
 */
export function chosenAxes(axes: Axis[], { down, across, steps }: Place): ChosenAxes | undefined {
  const [one, two] = axes;
  const usual = two?.isLong && !one?.isLong ? [two, ...axes] : axes;
  const pick = (wanted: string, others: (string | undefined)[]): Axis | undefined =>
    axes.find(({ name }) => name === wanted && !others.includes(name)) ??
    usual.find(({ name }) => !others.includes(name));
  const first = pick(down, [across]);
  const second = pick(across, [first?.name]);
  if (first === undefined || second === undefined) return undefined;
  const stepped = axes.filter((axis) => axis !== first && axis !== second && steps.includes(axis.name));
  return {
    down: first,
    across: second,
    steps: stepped.toSorted((a, b) => steps.indexOf(a.name) - steps.indexOf(b.name)),
  };
}

/** Sorts numbers by value and keeps texts in their order. Empty values come last. */
export function inOrder(values: string[]): string[] {
  const all = values.toSorted((a, b) => Number(a === '') - Number(b === ''));
  const areNumbers = all.every((text) => text === '' || numberOf(text) !== undefined);
  return areNumbers ? all.toSorted((a, b) => (numberOf(a) ?? Infinity) - (numberOf(b) ?? Infinity)) : all;
}

const seedsByNumber = 'seed, by number';

function axesOf(
  { name, choices, isShared, isValue, range }: GalleryColumn,
  index: number,
  isNumbered: boolean,
): Axis[] {
  if (name === 'id' || (isValue && range)) return [];
  const read = (row: GalleryRow): string => textOf(row.values?.[index]);
  if (name === 'seed' && choices === null)
    return isNumbered ? [] : [{ name: seedsByNumber, isLong: false, reader: () => numbering(read) }];
  if (choices === null ? !isShared : choices.length < 2) return [];
  const axis = { name, column: index, isLong: choices === null, reader: () => read };
  return [{ ...axis, ...(choices && { count: choices.length }) }];
}

/** Numbers the seeds of each prompt from 1, in order of appearance. */
function numbering(seedOf: (row: GalleryRow) => string): (row: GalleryRow) => string {
  const byPrompt = new Map<string, Map<string, number>>();
  return (row) => {
    const seed = seedOf(row);
    if (seed === '') return '';
    const numbers = byPrompt.get(promptOf(row)) ?? new Map<string, number>();
    const number = numbers.get(seed) ?? numbers.size + 1;
    byPrompt.set(promptOf(row), numbers.set(seed, number));
    return String(number);
  };
}
