/** Which columns of a manifest have so few values that a reader may choose among them. */
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { GalleryColumn } from '../core/gallery-data.ts';

const mostChoices = 50;

/** Characters: longer values are no names of anything. */
const longestChoice = 80;

/** Columns whose values are counted: the page holds the values of all of these. */
const mostColumns = 100;

export class ColumnChoices {
  readonly #columns: { name: string; counts: Map<string, number> | null }[];

  constructor(columns: string[]) {
    this.#columns = columns.map((name, index) => ({
      name,
      counts: index < mostColumns && name !== 'id' ? new Map<string, number>() : null,
    }));
  }

  add(columns: JsonObject): void {
    for (const column of this.#columns) {
      if (column.counts === null) continue;
      const text = choiceOf(columns[column.name]);
      if (text === undefined) continue;
      column.counts.set(text, (column.counts.get(text) ?? 0) + 1);
      if (column.counts.size > mostChoices || text.length > longestChoice) column.counts = null;
    }
  }

  /** Numbers in their order, words in that of the manifest: dawn, noon, dusk. */
  result(): GalleryColumn[] {
    return this.#columns.map(({ name, counts }) => ({
      name,
      choices: counts === null || counts.size === 0 ? null : inOrder([...counts]),
    }));
  }
}

function inOrder(choices: [text: string, rows: number][]): [text: string, rows: number][] {
  const isNumeric = choices.every(([text]) => text.trim() !== '' && Number.isFinite(Number(text)));
  return isNumeric ? choices.toSorted(([a], [b]) => Number(a) - Number(b)) : choices;
}

/** As the page reads it, too; undefined where the row has none. */
function choiceOf(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
