/** The warning of `serve` where it does wrong on purpose. */
import { writeError } from './console.ts';
import type { Paint } from './frame.ts';
import { hanging } from './hanging.ts';
import { createPaint } from './paint.ts';

/** `lines`: loud ones, the first of which says it all. */
export function showFaults(lines: readonly string[]): void {
  const { isTTY, columns } = process.stderr;
  const room = isTTY ? columns || 80 : Infinity;
  writeError(faultLines(lines, room, createPaint(process.stderr)).join('\n'));
}

export function faultLines(
  [first = '', ...others]: readonly string[],
  columns: number,
  paint: Paint,
): string[] {
  return [
    ...hanging('', first, columns, 0).map((line) => paint(line, 'red')),
    ...others.flatMap((line) => hanging('', line.trim(), columns, indentCells)),
  ];
}

const indentCells = 2;
