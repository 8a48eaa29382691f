/** The values of a scene by name: its inputs, and those of its output. Also the differences between texts. */
import type { GalleryData, GalleryRow } from '../../runner/core/gallery-data.ts';

type Named = [name: string, value: unknown][];

/** Returns the file name of a picture or another file. */
export function nameOf(address: string): string {
  return decodeURIComponent(address.replace(/\?.*$/, '')).replace(/^(.*?\/)?images\//, '');
}

/** Inputs of a scene, except its id and prompt. */
export function inputsOf(row: GalleryRow, data: GalleryData): Named {
  return [...columnsOf(row, data, false), ...Object.entries(row.input ?? {})];
}

/** Values of `output.values`. */
export function valuesOf(row: GalleryRow, data: GalleryData): Named {
  return columnsOf(row, data, true);
}

function columnsOf(row: GalleryRow, { columns }: GalleryData, isOfOutput: boolean): Named {
  return columns.flatMap(({ name, isValue = false }, index): Named =>
    name === 'id' || index === row.prompt || isValue !== isOfOutput ? [] : [[name, row.values?.[index]]],
  );
}

type Apart = [before: string, own: string, after: string];

/**
 * Splits texts into their common beginning and end, and the words between: long prompts may differ in a single
 * word.
 */
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
