/** Table of the simple values in a scene's record, with their names in every form of the results, in order. */

/**
 * Name of each value: `column` in the checkpoint and results.csv, `json` in results.jsonl, `gallery` in the
 * gallery. A value that is not known is null, but a `count` is always known.
 */
const recordColumns = {
  jobId: { is: 'text', column: 'job_id', json: 'jobId', gallery: 'job' },
  attempts: { is: 'count', column: 'attempts', json: 'attempts', gallery: 'attempts' },
  // Sent without an answer. Each may have run and been billed for nothing.
  unanswered: { is: 'count', column: 'unanswered', json: 'unanswered', gallery: 'unanswered' },
  // Deleted before the result was collected. Each was billed for nothing.
  expired: { is: 'count', column: 'expired', json: 'expired', gallery: 'expired' },
  delayTimeMs: { is: 'ms', column: 'delay_time_ms', json: 'delayTime', gallery: 'delayMs' },
  executionTimeMs: { is: 'ms', column: 'execution_time_ms', json: 'executionTime', gallery: 'executionMs' },
  // As the service stated it for this job.
  statedCost: { is: 'amount', column: 'stated_cost', json: 'statedCost', gallery: 'statedCost' },
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
  amount: number | null;
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

/** Values that are null or 0 are left out. */
export type RecordGallery = {
  [Key in RecordKey as Columns[Key]['gallery']]?: NonNullable<RecordValues[Key]>;
};

const entries = Object.entries(recordColumns) as [RecordKey, RecordColumn][];

export function byColumn<Made>(
  form: 'column' | 'json' | 'gallery',
  make: (key: RecordKey, is: RecordColumn['is']) => Made,
): Record<string, Made> {
  const made: Record<string, Made> = {};
  // Runs for each scene of a report. An intermediate list of entries would take twice as long.
  for (const [key, column] of entries) made[column[form]] = make(key, column.is);
  return made;
}

export function withValuesOf<Like extends RecordValues>(row: RecordValues, like: Like): Like {
  const copy = { ...like };
  const values: Record<string, unknown> = copy;
  for (const [key] of entries) values[key] = row[key];
  return copy;
}

export const nothingSent = Object.fromEntries(
  entries.map(([key, { is }]) => [key, is === 'count' ? 0 : null]),
) as RecordValues;
