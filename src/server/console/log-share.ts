/** How much of their logs workers are shown with where all of them are shown at once. */
import type { WorkerView } from '../worker-view.ts';

const mostLines = 50;

/** The page asks for all of them again and again. */
const mostCharacters = 8_000;
const mostCharactersOfAll = 256_000;

export class LogShare {
  #left = mostCharactersOfAll;

  /** The latest lines, as far as there is room for them. */
  of({ log }: WorkerView): string[] {
    const lines: string[] = [];
    let length = 0;
    for (const line of log.slice(-mostLines).toReversed()) {
      length += line.length + 1;
      if (length > Math.min(mostCharacters, this.#left)) break;
      lines.unshift(line);
    }
    this.#left -= lines.reduce((sum, line) => sum + line.length + 1, 0);
    return lines;
  }
}
