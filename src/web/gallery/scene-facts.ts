/** What stands in the columns of a scene, by name: what it was given, and what its job said of it; how its files are called, and in what such texts differ. */
import type { GalleryData, GalleryRow } from '../../runner/core/gallery-data.ts';

type Named = [name: string, value: unknown][];

/** Of a picture or another file. */
export function nameOf(address: string): string {
  return decodeURIComponent(address.replace(/\?.*$/, '')).replace(/^(.*?\/)?images\//, '');
}

/** Besides id and prompt. */
export function inputsOf(row: GalleryRow, data: GalleryData): Named {
  return [...columnsOf(row, data, false), ...Object.entries(row.input ?? {})];
}

/** Those of `output.values`. */
export function valuesOf(row: GalleryRow, data: GalleryData): Named {
  return columnsOf(row, data, true);
}

function columnsOf(row: GalleryRow, { columns }: GalleryData, isOfOutput: boolean): Named {
  return columns.flatMap(({ name, isValue = false }, index): Named =>
    name === 'id' || index === row.prompt || isValue !== isOfOutput ? [] : [[name, row.values?.[index]]],
  );
}

type Apart = [before: string, own: string, after: string];

/** Without the words that all of them begin and end with: two prompts may differ by one word of a hundred. */
export function apart(texts: string[]): Apart[] {
  const all = texts.map((text) => text.split(/(?<=\s)/));
  const fewest = Math.min(...all.map((words) => words.length));
  const isShared = (at: number): boolean => all.every((words) => words.at(at) === all[0]?.at(at));
  let head = 0;
  while (head < fewest && isShared(head)) head += 1;
  let tail = 0;
  while (tail < fewest - head && isShared(-1 - tail)) tail += 1;
  return all.map((words) => {
    const end = words.length - tail;
    return [words.slice(0, head).join(''), words.slice(head, end).join(''), words.slice(end).join('')];
  });
}
