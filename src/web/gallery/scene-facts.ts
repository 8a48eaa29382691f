/** What stands in the columns of a scene, by name: what it was given, and what its job said of it; and how its files are called. */
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
