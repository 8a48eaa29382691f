/** Lines on a terminal that the next ones replace, in one piece and without clearing what is there. */
import { outColumns, outRows, writeOutPart } from './console.ts';
import { cutTo, widthOf } from './fit-text.ts';

/** Draws the lines where the ones before stand; false where nobody reads any more. */
export function block(): (lines: string[]) => Promise<boolean> {
  let before: string[] = [];
  return (lines) => {
    // One cell stays free: a full line would have the terminal begin the next one.
    const columns = outColumns() - 1;
    const shown = lines.slice(0, outRows() - 1).map((line) => cutTo(line, columns));
    const up = before.reduce((rows, line) => rows + rowsOf(line, columns + 1), 0);
    const text = shown.map((line) => `${line}${eraseLine}\n`).join('');
    before = shown;
    return writeOutPart(`${up > 0 ? `\u001B[${up}F` : ''}${text}${eraseBelow}`);
  };
}

const eraseLine = '\u001B[K';
const eraseBelow = '\u001B[J';

/** A terminal that was made narrower has broken its lines. */
function rowsOf(line: string, columns: number): number {
  return Math.max(1, Math.ceil(widthOf(line) / columns));
}
