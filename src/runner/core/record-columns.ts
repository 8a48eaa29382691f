/** The single values of a scene's record that every form of the results shows, in their order: one table of their names. */

/**
 * `column` is the name in the checkpoint and in results.csv, `json` that in results.jsonl, `gallery` that in the gallery. A
 * `count` is a number; of all others null means that it is not known, or not yet.
 */
const recordColumns = {
  jobId: { is: 'text', column: 'job_id', json: 'jobId', gallery: 'job' },
  // Submissions so far.
  attempts: { is: 'count', column: 'attempts', json: 'attempts', gallery: 'attempts' },
  // Submissions that were sent without an answer: each may have run and been billed for nothing.
  unanswered: { is: 'count', column: 'unanswered', json: 'unanswered', gallery: 'unanswered' },
  // Submissions whose result was gone before it was collected: billed for nothing.
  expired: { is: 'count', column: 'expired', json: 'expired', gallery: 'expired' },
  delayTimeMs: { is: 'ms', column: 'delay_time_ms', json: 'delayTime', gallery: 'delayMs' },
  executionTimeMs: { is: 'ms', column: 'execution_time_ms', json: 'executionTime', gallery: 'executionMs' },
  submittedAt: { is: 'instant', column: 'submitted_at', json: 'submittedAt', gallery: 'submittedAt' },
  completedAt: { is: 'instant', column: 'completed_at', json: 'completedAt', gallery: 'completedAt' },
  savedAt: { is: 'instant', column: 'saved_at', json: 'savedAt', gallery: 'savedAt' },
} as const satisfies Record<string, RecordColumn>;

interface RecordColumn {
  is: keyof ValueTypes;
  column: string;
  json: string;
  gallery: string;
}

type Columns = typeof recordColumns;

export type RecordKey = keyof Columns;

interface ValueTypes {
  text: string | null;
  count: number;
  ms: number | null;
  instant: number | null;
}

/** Instants are epoch ms. */
export type RecordValues = { [Key in RecordKey]: ValueTypes[Columns[Key]['is']] };

/** Instants are ISO 8601 in UTC. */
export type RecordJson = {
  [Key in RecordKey as Columns[Key]['json']]: Columns[Key]['is'] extends 'instant'
    ? string | null
    : RecordValues[Key];
};

/** What is null or 0 is left out. */
export type RecordGallery = {
  [Key in RecordKey as Columns[Key]['gallery']]?: NonNullable<RecordValues[Key]>;
};

const entries = Object.entries(recordColumns) as [RecordKey, RecordColumn][];

/** Returns what `make` makes of each column, by its names in one of the forms. */
export function byColumn<Made>(
  form: 'column' | 'json' | 'gallery',
  make: (key: RecordKey, is: RecordColumn['is']) => Made,
): Record<string, Made> {
  const made: Record<string, Made> = {};
  // A report does this for each scene: a list of entries in between takes twice as long.
  for (const [key, column] of entries) made[column[form]] = make(key, column.is);
  return made;
}

/** Returns a copy of `like` with the values of `row`. */
export function withValuesOf<Like extends RecordValues>(row: RecordValues, like: Like): Like {
  const copy = { ...like };
  const values: Record<string, unknown> = copy;
  for (const [key] of entries) values[key] = row[key];
  return copy;
}

/** The values of a row that nothing was sent for. */
export const nothingSent = Object.fromEntries(
  entries.map(([key, { is }]) => [key, is === 'count' ? 0 : null]),
) as RecordValues;
