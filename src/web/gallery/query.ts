/** The filter and order of scenes that a reader chooses, and the command that lists the same scenes. */
import { conditionName, numberOf, quotedName } from '../../runner/core/condition.ts';
import type { GalleryColumn, GalleryData, GalleryRow, Mark } from '../../runner/core/gallery-data.ts';

export interface Query {
  /** Words that must all occur in the columns or the id. */
  text: string;
  /** State of the scene; empty for all states except `unneeded`. */
  state: string;
  /** Kind of failure; empty for any. */
  kind: string;
  /** Wanted values by column index: an equal choice, a range such as `0.6..0.9`, words, or `=` and a text. */
  columns: Record<number, string>;
  /** Mark of the scene; empty for any scene. */
  mark: Mark | '';
  /** Scenes with words of this kind; empty for any scene. */
  lost: LostWords | '';
  order: Order;
}

/** Words of a prompt that a picture doesn't show as they are. */
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

/** Order by the column with this index, ascending or descending. */
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

/** True if nothing is filtered and the order is that of the list. */
export function isEverything({ text, state, kind, columns, mark, lost, order }: Query): boolean {
  const wanted = [text.trim(), state, kind, mark, lost, ...Object.values(columns)];
  return order === 'listed' && wanted.every((each) => each === '');
}

/** Returns how a column is filtered: by its few values, by a range of numbers, or by words. */
export function kindOf({ choices = [], range }: Partial<GalleryColumn> = {}): 'choice' | 'range' | 'text' {
  if (range !== undefined) return 'range';
  return choices === null ? 'text' : 'choice';
}

/** Returns the filter for exactly this value of a column; undefined if there is none. */
export function exactly(value: string, column: GalleryColumn | undefined): string | undefined {
  if (value === '') return undefined;
  const kind = kindOf(column);
  return kind === 'choice' ? value : kind === 'text' ? `=${value}` : `${value}..${value}`;
}

/** Information that a filter needs besides the row. */
export interface Matching {
  /** Kind of a column: few values to choose from, numbers only, or text. */
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

/** Splits `0.6..0.9` into its bounds; a missing bound is empty. */
export function boundsOf(text: string): { least: string; most: string } {
  const [least = '', most = ''] = text.split('..');
  return { least, most };
}

function wordsOf(text: string): string[] {
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

/** Returns the row's prompt; empty if it has none. A number in `prompt` is the index of the column that holds it. */
export function promptOf({ prompt, values }: GalleryRow): string {
  return typeof prompt === 'number' ? textOf(values?.[prompt]) : (prompt ?? '');
}

/** Value of a column as text; empty if the row has none. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Rounds to four significant digits. */
export function fewDigits(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** Returns the key to sort rows by. Rows without a key come last. In the order of the list, no row has a key. */
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

/** Index of the column that an order uses; undefined for other orders. */
export function columnOf(order: Order): number | undefined {
  return isByColumn(order) ? Number(order.split(':')[1]) : undefined;
}

/** The marks that a reader can give a scene. */
export const marks = {
  star: { key: 's', sign: '★', act: 'Star', word: 'starred', file: 'starred.txt' },
  reject: { key: 'x', sign: '✕', act: 'Reject', word: 'rejected', file: 'rejected.txt' },
  again: { key: 'r', sign: '↻', act: 'Render again', word: 'to render again', file: 'render-again.txt' },
} as const satisfies Record<Mark, object>;

/**
 * Returns the command that lists these scenes; undefined if nothing is filtered or no condition fits. `areMarksKept`: true if
 * the command finds the marks with the batch. Otherwise it reads a list that the reader downloads.
 */
export function listCommand(
  query: Query,
  { batch, columns }: GalleryData,
  areMarksKept = false,
): string | undefined {
  if (query.text.trim() !== '' || query.lost !== '') return undefined;
  const wanted = Object.entries(query.columns).flatMap(([index, value]) => {
    const column = columns[Number(index)];
    if (column === undefined || value === '') return [];
    const name = quotedName(conditionName(column.name));
    const { least, most } = boundsOf(value);
    switch (kindOf(column)) {
      case 'choice':
        return [`${name} = ${quoted(value)}`];
      case 'text':
        if (value.startsWith('=')) return [`${name} = ${quoted(value.slice(1))}`];
        return wordsOf(value).map((word) => `${name} contains ${quoted(word)}`);
      case 'range':
        return [least === '' ? '' : `${name} >= ${least}`, most === '' ? '' : `${name} <= ${most}`];
    }
  });
  const conditions = [
    query.state === '' ? '' : `state = ${quoted(query.state)}`,
    query.kind === '' ? '' : `kind = ${quoted(query.kind)} and state != "saved"`,
    ...wanted,
  ].filter((each) => each !== '');
  const options = [
    query.mark === ''
      ? ''
      : query.mark === 'star' && areMarksKept
        ? ' --starred'
        : ` --ids ${marks[query.mark].file}`,
    conditions.length === 0 ? '' : ` --where ${inShell(conditions.join(' and '))}`,
  ].join('');
  return options === '' ? undefined : `nightrender list ${batch}${options}`;
}

function quoted(text: string): string {
  if (text === 'true' || text === 'false') return text;
  return `"${text.replaceAll('"', '""')}"`;
}

function inShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
