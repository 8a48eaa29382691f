/** How a list is read, and where it has its ids. */

/** How a list is read: what pipeline.yaml says of it, and the rules that its batch began with. */
export interface ListReading {
  /** Names of the columns of CSV and TSV without a header; undefined if the first row has them. */
  header?: readonly string[] | undefined;
  /** Lines of text, CSV and TSV that begin with this and a space are left out; undefined for none. */
  comments?: string | undefined;
  /** Undefined for UTF-8, and UTF-16 with a byte order mark. */
  encoding?: 'windows-1252' | undefined;
  /** As in `SceneRules`. */
  trimsLines: boolean;
  readsSpreadsheets: boolean;
  findsIds: boolean;
}

/** For a list of which neither a batch nor a pipeline.yaml says anything. */
export const plainReading: ListReading = { trimsLines: false, readsSpreadsheets: true, findsIds: true };

/** The column of ids; undefined if there is none. An exact `id` counts before `ID`, `Id` and the like. */
export function idColumnOf(
  columns: readonly string[],
  { findsIds }: Pick<ListReading, 'findsIds'>,
): string | undefined {
  if (columns.includes('id')) return 'id';
  return findsIds ? columns.find((name) => name.trim().toLowerCase() === 'id') : undefined;
}
