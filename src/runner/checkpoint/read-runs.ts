/** The starts of the program on a batch. */
import type { RunRecord, RunSpan } from '../core/report-row.ts';
import type { RunStats } from '../core/run-stats.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { storedJson } from './damage.ts';

const columns = 'run, pid, host, started_at AS startedAt, ended_at AS endedAt, exit_code AS exitCode, ending';

/** The newest one, with what it needed. */
export function readLastRun(db: Database): RunRecord | null {
  const [span] = readRuns(db, 1);
  if (span === undefined) return null;
  // A checkpoint that is only read may be of a version that had no stats yet.
  const hasStats =
    db.prepare("SELECT 1 FROM pragma_table_info('runs') WHERE name = 'stats'").get() !== undefined;
  const stats = hasStats
    ? db.prepare<[number], string | null>('SELECT stats FROM runs WHERE run = ?').pluck().get(span.run)
    : undefined;
  return { ...span, stats: typeof stats === 'string' ? (storedJson(stats, 'a run') as RunStats) : null };
}

/** The latest ones, oldest first. */
export function readRuns(db: Database, limit: number): RunSpan[] {
  return db
    .prepare<[number], RunSpan>(`SELECT ${columns} FROM runs ORDER BY run DESC LIMIT ?`)
    .all(limit)
    .toReversed();
}
