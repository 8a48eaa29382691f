/** Rules for reading a list, and for finding its column of ids. */

/** Rules for reading a list, from pipeline.yaml and from the version of the rules that the batch began with. */
export interface ListReading {
  /** Column names of a CSV or TSV file without a header. Undefined if the first row is the header. */
  header?: readonly string[] | undefined;
  /**
   * Prefix of comment lines in text, CSV and TSV: lines that begin with it and a space are skipped. Undefined
   * for none.
   */
  comments?: string | undefined;
  /** Undefined for UTF-8, or UTF-16 with a byte order mark. */
  encoding?: 'windows-1252' | undefined;
  /** The following fields are documented in `SceneRules`. */
  trimsLines: boolean;
  readsSpreadsheets: boolean;
  findsIds: boolean;
}

/** Rules for a list without a batch and a pipeline.yaml. */
export const plainReading: ListReading = { trimsLines: false, readsSpreadsheets: true, findsIds: true };

/**
 * Returns the name of the id column, or undefined if there is none. An exact `id` takes precedence over `ID`,
 * `Id` and the like.
 */
export function idColumnOf(
  columns: readonly string[],
  { findsIds }: Pick<ListReading, 'findsIds'>,
): string | undefined {
  if (columns.includes('id')) return 'id';
  return findsIds ? columns.find((name) => name.trim().toLowerCase() === 'id') : undefined;
}
