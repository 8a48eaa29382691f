/** Finding the rows that a query asks for, in all files, without holding the page up. */
import type { GalleryRow } from '../../runner/core/gallery-data.ts';
import { sortKey, type Order } from './query.ts';
import type { Rows } from './rows.ts';

/** Files that are asked for at once. */
const atOnce = 8;

export interface Watch {
  signal: AbortSignal;
  /** Told how many rows were looked at. */
  onPart(done: number): void;
}

/** Visits every row that matches; resolves to false where `signal` aborts before. */
export async function scanRows(
  rows: Rows,
  matches: (row: GalleryRow) => boolean,
  visit: (row: GalleryRow, index: number) => void,
  { signal, onPart }: Watch,
): Promise<boolean> {
  for (let first = 0; first < rows.chunks; first += atOnce) {
    const numbers = Array.from({ length: Math.min(atOnce, rows.chunks - first) }, (_, i) => first + i);
    const chunks = await Promise.all(numbers.map((number) => rows.chunk(number)));
    // What was loaded before is there at once: without a pause, no key would be heard.
    await new Promise((resume) => setTimeout(resume));
    if (signal.aborted) return false;
    for (const [i, chunk] of chunks.entries()) {
      const start = rows.startOf(first + i);
      for (const [offset, row] of chunk.entries()) if (matches(row)) visit(row, start + offset);
    }
    onPart(rows.startOf(first + chunks.length - 1) + (chunks.at(-1)?.length ?? 0));
  }
  return true;
}

interface Found {
  index: number;
  key: string | number | undefined;
}

/** The numbers of the rows that match, in order; undefined where `signal` aborts before. */
export async function selectRows(
  rows: Rows,
  matches: (row: GalleryRow) => boolean,
  order: Order,
  watch: Watch,
): Promise<number[] | undefined> {
  const found: Found[] = [];
  const visit = (row: GalleryRow, index: number): void =>
    void found.push({ index, key: sortKey(row, order) });
  if (!(await scanRows(rows, matches, visit, watch))) return undefined;
  if (order !== 'listed') found.sort(byKey);
  return found.map(({ index }) => index);
}

const words = new Intl.Collator('en', { numeric: true });

function byKey(a: Found, b: Found): number {
  if (a.key === undefined || b.key === undefined)
    return Number(a.key === undefined) - Number(b.key === undefined) || a.index - b.index;
  const isNumber = typeof a.key === 'number' && typeof b.key === 'number';
  const difference = isNumber ? Number(a.key) - Number(b.key) : words.compare(String(a.key), String(b.key));
  return difference || a.index - b.index;
}
