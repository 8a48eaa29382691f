/** What a reader asks for: which scenes, in which order. */
import type { GalleryColumn, GalleryRow } from '../../runner/core/gallery-data.ts';
import { numberOf } from '../../runner/core/number-of.ts';
import type { Mark } from './marks.ts';

export interface Query {
  /** Words that all have to be there, in any column or the id. */
  text: string;
  /** Empty for any but seeds that were not needed. */
  state: string;
  /** A kind of failure; empty for any. */
  kind: string;
  /** By the number of the column; a choice has to be equal, a number within `0.6..0.9`, another is looked for within, or is all of it: `=a fox`. */
  columns: Record<number, string>;
  /** Empty for any scene, marked or not. */
  mark: Mark | '';
  /** Scenes with words of this kind; empty for any scene. */
  lost: LostWords | '';
  order: Order;
}

/** What became of words that a picture does not show as they are. */
export const lostKinds = {
  labelled_words: 'drawn as labelled boxes',
  ignored_words: 'left out',
} as const;

export type LostWords = keyof typeof lostKinds;

export const orders = {
  listed: 'in the order of the list',
  id: 'by id',
  first: 'saved first',
  last: 'saved last',
  fast: 'shortest execution',
  slow: 'longest execution',
} as const;

/** Or by the number of a column of numbers, the least first or the most. */
type ByColumn = `up:${number}` | `down:${number}`;

export type Order = keyof typeof orders | ByColumn;

export const everything: Query = {
  text: '',
  state: '',
  kind: '',
  columns: {},
  mark: '',
  lost: '',
  order: 'listed',
};

/** Whether it is every scene, in the order of the list. */
export function isEverything({ text, state, kind, columns, mark, lost, order }: Query): boolean {
  const wanted = [text.trim(), state, kind, mark, lost, ...Object.values(columns)];
  return order === 'listed' && wanted.every((each) => each === '');
}

export function kindOf({ choices = [], range }: Partial<GalleryColumn> = {}): 'choice' | 'range' | 'text' {
  if (range !== undefined) return 'range';
  return choices === null ? 'text' : 'choice';
}

/** What finds the rows that have just this value in a column; undefined where nothing does. */
export function exactly(value: string, column: GalleryColumn | undefined): string | undefined {
  if (value === '') return undefined;
  const kind = kindOf(column);
  return kind === 'choice' ? value : kind === 'text' ? `=${value}` : `${value}..${value}`;
}

/** What a row is compared with, besides itself. */
export interface Matching {
  /** Whether the values of a column are a few to choose from, or all of them numbers. */
  kindOf(column: number): ReturnType<typeof kindOf>;
  markOf(id: string | undefined): Mark | undefined;
}

export function matcher(query: Query, matching: Matching): (row: GalleryRow) => boolean {
  const words = wordsOf(query.text);
  const wanted = Object.entries(query.columns).filter(([, value]) => value !== '');
  const tests = wanted.map(([column, value]) =>
    columnTest(Number(column), value, matching.kindOf(Number(column))),
  );
  return (row) =>
    (query.state === '' ? row.state !== 'unneeded' : row.state === query.state) &&
    (query.kind === '' || row.failure?.[0] === query.kind) &&
    (query.mark === '' || matching.markOf(row.id) === query.mark) &&
    (query.lost === '' || hasLost(row, query.lost)) &&
    tests.every((test) => test(row)) &&
    (words.length === 0 || hasWords(row, words));
}

function columnTest(
  column: number,
  wanted: string,
  kind: ReturnType<typeof kindOf>,
): (row: GalleryRow) => boolean {
  if (kind === 'choice') return (row) => textOf(row.values?.[column]) === wanted;
  const { least, most } = boundsOf(wanted);
  if (kind === 'range')
    return (row) => {
      const value = numberOf(row.values?.[column]);
      if (value === undefined) return false;
      return (least === '' || value >= Number(least)) && (most === '' || value <= Number(most));
    };
  if (wanted.startsWith('=')) return (row) => textOf(row.values?.[column]) === wanted.slice(1);
  const words = wordsOf(wanted);
  return (row) => {
    const text = textOf(row.values?.[column]).toLowerCase();
    return words.every((word) => text.includes(word));
  };
}

function hasLost({ pictures = [] }: GalleryRow, kind: LostWords): boolean {
  return pictures.some(({ output }) => (output?.[kind] ?? []).length > 0);
}

/** Of `0.6..0.9`; empty where it is open. */
export function boundsOf(text: string): { least: string; most: string } {
  const [least = '', most = ''] = text.split('..');
  return { least, most };
}

export function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
}

function hasWords(row: GalleryRow, words: string[]): boolean {
  const texts = [row.id ?? '', promptOf(row), ...(row.values ?? []).map(textOf)];
  const all = texts.join('\n').toLowerCase();
  return words.every((word) => all.includes(word));
}

export function promptOf({ prompt, values }: GalleryRow): string {
  return typeof prompt === 'number' ? textOf(values?.[prompt]) : (prompt ?? '');
}

/** A value of a manifest as text; empty where the row has none. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Enough to compare by. */
export function fewDigits(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** What the rows are sorted by; undefined is last. */
export function sortKey(row: GalleryRow, order: Order): string | number | undefined {
  if (isByColumn(order)) {
    const value = numberOf(row.values?.[columnOf(order) ?? -1]);
    return value !== undefined && order.startsWith('down') ? -value : value;
  }
  switch (order) {
    case 'listed':
      return undefined;
    case 'id':
      return row.id;
    case 'first':
      return row.savedAt;
    case 'last':
      return row.savedAt === undefined ? undefined : -row.savedAt;
    case 'fast':
      return row.executionMs;
    case 'slow':
      return row.executionMs === undefined ? undefined : -row.executionMs;
  }
}

function isByColumn(order: Order): order is ByColumn {
  return order.includes(':');
}

/** The number of the column that an order goes by. */
export function columnOf(order: Order): number | undefined {
  return isByColumn(order) ? Number(order.split(':')[1]) : undefined;
}
