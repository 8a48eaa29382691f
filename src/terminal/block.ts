/** Lines at the bottom of a terminal that are redrawn in place. */
import { widthOf } from './fit-text.ts';

interface Terminal {
  columns?: number;
  rows?: number;
  write(text: string): unknown;
}

export interface Block {
  /** Draws lines, each narrower than the terminal; writes nothing if they are unchanged. */
  draw(lines: string[]): void;
  /** Writes permanent lines above the block. */
  above(text: string): void;
  clear(): void;
}

export function createBlock(terminal: Terminal): Block {
  let drawn: string[] = [];
  let width = 0;
  const write = (before: string, lines: string[]): void => {
    const up = upOver(drawn, terminal.columns || 80);
    const body = lines.map((line) => `${line}${eraseRight}\n`).join('');
    terminal.write(`${beginFrame}${up}${before}${body}${eraseBelow}${endFrame}`);
    drawn = lines;
    width = terminal.columns || 80;
  };
  return {
    draw: (lines) => {
      const shown = lines.slice(0, Math.max(1, (terminal.rows || 24) - 1));
      const isSame = width === (terminal.columns || 80) && shown.join('\n') === drawn.join('\n');
      if (!isSame) write('', shown);
    },
    above: (text) => write(`${text.replaceAll('\n', `${eraseRight}\n`)}${eraseRight}\n`, drawn),
    clear: () => {
      if (drawn.length > 0) write('', []);
    },
  };
}

/** Synchronized output: a terminal that supports it shows the frame at once, others ignore the sequence. */
const beginFrame = '\u001B[?2026h';
const endFrame = '\u001B[?2026l';
const eraseRight = '\u001B[K';
const eraseBelow = '\u001B[J';

/** Moves the cursor to the first line of the block, counting lines that a narrower terminal has wrapped. */
function upOver(lines: string[], columns: number): string {
  const rows = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0);
  return rows === 0 ? '\r' : `\r\u001B[${rows}A`;
}
