/** Detects what separates the values of a list. Spreadsheet programs write semicolons if the comma is the decimal sign. */
import type { Delimiter } from './manifest.ts';
import { delimiters, recordsOf } from './table-records.ts';

const maxLines = 50;

/** Returns the delimiter that a first line such as `sep=;` states, as Excel reads it; undefined for other lines. */
export function statedDelimiter(line: string): Delimiter | undefined {
  const [, stated] = /^"?sep=(.)"?\s*$/i.exec(line) ?? [];
  return delimiters.find((delimiter) => delimiter === stated);
}

/** True for a name that shows that its row is a header. */
export function isKnownColumn(name: string): boolean {
  return /^(?:id|scene|prompt)$/i.test(name.trim());
}

/**
 * Returns the delimiter of a list. `lines`: the header and rows below it. `usual`: the delimiter that the
 * file extension suggests. Another one is chosen only if it fits more rows, and if `usual` leaves the header
 * in one piece or without a known column. `readsSpreadsheets`: as in `SceneRules`. Without it, only a CSV
 * header in one piece may turn out to have semicolons, which earlier programs refused.
 */
export function findDelimiter(
  lines: readonly string[],
  usual: Delimiter,
  readsSpreadsheets: boolean,
): Delimiter {
  const start = lines.slice(0, maxLines);
  const [names = []] = recordsOf(start, usual);
  if (names.length > 1 && (names.some(isKnownColumn) || !readsSpreadsheets)) return usual;
  const refusedBefore = delimiters.filter((each) => each === ';' && usual === ',');
  const others = readsSpreadsheets ? delimiters : refusedBefore;
  const found = others.map((delimiter) => ({ delimiter, share: fittingShare(start, delimiter) }));
  const [best] = found.toSorted((a, b) => b.share - a.share);
  return best !== undefined && best.share > fittingShare(start, usual) ? best.delimiter : usual;
}

/** True if the first line looks like the lines below it, so that it names no columns: `an owl` above `a red fox`. */
export function isHeaderless(lines: readonly string[], delimiter: Delimiter): boolean {
  const [header = [], ...rows] = recordsOf(lines.slice(0, maxLines), delimiter);
  const kinds = header.map(kindOf);
  if (rows.length < 2 || header.some(isKnownColumn) || kinds.every((kind) => kind === 'word')) return false;
  const isAlike = (row: string[]): boolean => kinds.every((kind, at) => kindOf(row[at] ?? '') === kind);
  return rows.filter(isAlike).length > rows.length / 2;
}

function kindOf(value: string): 'number' | 'word' | 'words' | 'text' {
  if (/^-?\d+(?:[.,]\d+)?$/.test(value.trim())) return 'number';
  const words = value.trim().split(/\s+/).length;
  if (words === 1) return 'word';
  return words < 4 ? 'words' : 'text';
}

/** Returns the share of rows that have as many values as the header; 0 if the header is in one piece. */
function fittingShare(lines: string[], delimiter: Delimiter): number {
  const [header = [], ...rows] = recordsOf(lines, delimiter);
  if (header.length < 2) return 0;
  return rows.length === 0 ? 1 : rows.filter((row) => row.length === header.length).length / rows.length;
}
