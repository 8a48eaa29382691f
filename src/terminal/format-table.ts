/** A table of the manual on a terminal: in columns where they fit, else a paragraph a row. */
import { bold, spanWidth, wrapped } from './wrap-spans.ts';

const gap = '  ';
/** A column of prose that is narrower than this is no pleasure. */
const minProseColumns = 18;

/** The second row is the line between head and body. Columns of pictures are left out. */
export function tableLines([titled = [], , ...body]: string[][], columns: number): string[] {
  const isShown = titled.map((_, i) => body.some((row) => row[i] !== ''));
  const [head = [], ...rows] = [titled, ...body].map((row) => row.filter((_cell, i) => isShown[i]));
  const widths = columnWidths([head, ...rows], columns);
  if (widths === undefined)
    return rows.flatMap((row, i) => [...(i === 0 ? [] : ['']), ...asParagraph(head, row, columns)]);
  const titles = head.map((title) => (title === '' ? '' : bold(title)));
  const laidOut = [titles, ...rows].map((row) => rowLines(row, widths));
  const isDense = laidOut.every((lines) => lines.length === 1);
  return laidOut.flatMap((lines, i) => [...(isDense || i < 2 ? [] : ['']), ...lines]);
}

/** Each as wide as its text, the widest ones narrowed until all fit; undefined where that leaves too little. */
function columnWidths(rows: string[][], columns: number): number[] | undefined {
  const count = Math.max(...rows.map((row) => row.length));
  const over = (measure: (cell: string) => number): number[] =>
    Array.from({ length: count }, (_, i) => Math.max(...rows.map((row) => measure(row[i] ?? ''))));
  const natural = over(spanWidth);
  const longestWord = over((cell) => Math.max(...cell.split(' ').map(spanWidth)));
  const room = columns - gap.length * (count - 1);
  for (let most = Math.max(...natural); most >= minProseColumns; most--) {
    const widths = natural.map((width, i) => Math.min(width, Math.max(most, longestWord[i] ?? 0)));
    if (widths.reduce((sum, width) => sum + width, 0) <= room) return widths;
  }
  return undefined;
}

function rowLines(row: string[], widths: number[]): string[] {
  const cells = widths.map((width, i) => wrapped(row[i] ?? '', width));
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, i) => padded(lines[line] ?? '', widths[i] ?? 0))
      .join(gap)
      .trimEnd(),
  );
}

function padded(text: string, width: number): string {
  return `${text}${' '.repeat(Math.max(0, width - spanWidth(text)))}`;
}

/** What the row is of, and under it each other cell behind its title. */
function asParagraph(head: string[], [first = '', ...rest]: string[], columns: number): string[] {
  const lines = rest.flatMap((cell, i) => {
    const title = head[i + 1] ?? '';
    return cell === '' ? [] : wrapped(title === '' ? cell : `${title}: ${cell}`, columns - gap.length);
  });
  return [...wrapped(first, columns), ...lines.map((line) => `${gap}${line}`)];
}
