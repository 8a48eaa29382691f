/** The job book's statements, prepared once. */
import type { Database } from '../sqlite/database.ts';
import type { JobState } from './job-moves.ts';

/** A job that a worker has been given. */
export interface TakenJob {
  id: string;
  /** JSON text of an object. */
  input: string;
}

/** A job as its status is told. Instants in epoch ms. */
export interface JobRecord {
  id: string;
  endpointId: string;
  state: JobState;
  queuedAt: number;
  startedAt: number | null;
  endedAt: number | null;
  error: string | null;
  /** JSON text as bytes: the input while `IN_PROGRESS`, the output once `COMPLETED`. */
  payload: Buffer | null;
}

/** A job without its texts. */
export type JobStanding = Pick<JobRecord, 'endpointId' | 'state' | 'endedAt'>;

/** What a move writes; what is not given becomes empty, but `queuedAt` and `startedAt` stay. */
export interface JobChange {
  queuedAt?: number;
  startedAt?: number;
  endedAt?: number;
  output?: string;
  error?: string;
}

type StoredChange = { [Key in keyof JobChange]-?: JobChange[Key] | null } & { id: string; state: JobState };

export function prepareJobStatements(db: Database) {
  return {
    insert: db.prepare<[{ id: string; endpointId: string; now: number; input: string }]>(
      `INSERT INTO job (id, endpointId, state, acceptedAt, queuedAt, input)
       VALUES (@id, @endpointId, 'IN_QUEUE', @now, @now, @input)`,
    ),
    nextInQueue: db.prepare<[{ endpointId: string; max: number }], TakenJob>(
      `SELECT id, input FROM job WHERE endedAt IS NULL AND endpointId = @endpointId AND state = 'IN_QUEUE'
       ORDER BY number LIMIT @max`,
    ),
    // The payload goes out as it is: bytes are handed on without being decoded, let alone parsed.
    find: db.prepare<[string], JobRecord>(
      `SELECT id, endpointId, state, queuedAt, startedAt, endedAt, error,
         CAST(CASE state WHEN 'IN_PROGRESS' THEN input WHEN 'COMPLETED' THEN output END AS BLOB) AS payload
       FROM job WHERE id = ?`,
    ),
    standing: db.prepare<[string], JobStanding>('SELECT endpointId, state, endedAt FROM job WHERE id = ?'),
    tally: db.prepare<[string], { what: JobState | 'retried'; jobs: number }>(
      'SELECT what, jobs FROM tally WHERE endpointId = ?',
    ),
    move: db.prepare<[StoredChange]>(
      `UPDATE job SET state = @state, queuedAt = coalesce(@queuedAt, queuedAt),
         startedAt = coalesce(@startedAt, startedAt), endedAt = @endedAt, output = @output, error = @error
       WHERE id = @id`,
    ),
    running: db.prepare<[], { id: string }>(
      `SELECT id FROM job WHERE endedAt IS NULL AND state = 'IN_PROGRESS' ORDER BY number`,
    ),
    open: db.prepare<[], { one: 1 }>('SELECT 1 AS one FROM job WHERE endedAt IS NULL LIMIT 1'),
    deleteExpired: db.prepare<[{ until: number; max: number }]>(
      'DELETE FROM job WHERE number IN (SELECT number FROM job WHERE endedAt <= @until ORDER BY endedAt LIMIT @max)',
    ),
  };
}
