/** What the submissions of a batch took so far, read from the checkpoint. */
import type { BatchSpending, ExecutionTimes } from '../core/spending.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { readLostSubmissions } from './commits.ts';

const latestTimes = 512;

/** Its submission is on no record: it was paid for, and nobody knows how much. */
export const isAdopted = "state = 'saved' AND submitted_at IS NULL";

export function readSpending(db: Database): BatchSpending {
  const row = db
    .prepare<[], { jobs: number; executedMs: number; untold: number }>(
      `SELECT coalesce(sum(state <> 'refused'), 0) AS jobs,
         coalesce(sum(coalesce(execution_time_ms, settled_at - executing_at)), 0) AS executedMs,
         coalesce(sum(state IN ('unanswered', 'expired') OR ${isAdopted}), 0) AS untold
       FROM attempts`,
    )
    .get() ?? { jobs: 0, executedMs: 0, untold: 0 };
  const lost = readLostSubmissions(db);
  return { ...row, jobs: row.jobs + lost, untold: row.untold + lost, times: readLatestTimes(db) };
}

/** Of the latest jobs whose time the service has told. */
export function readLatestTimes(db: Database): ExecutionTimes {
  const times = db
    .prepare<[number], { ms: number }>(
      'SELECT execution_time_ms AS ms FROM attempts WHERE execution_time_ms IS NOT NULL ORDER BY attempt DESC LIMIT ?',
    )
    .all(latestTimes);
  return times.map(({ ms }) => ms).toSorted((a, b) => a - b);
}
