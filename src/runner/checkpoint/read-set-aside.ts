/** What a run does not render by itself, and what is not over: read from the checkpoint for a plan. */
import type { SetAside } from '../core/plan.ts';
import type { Database } from '../../lib/sqlite/database.ts';

/** The rest is counted. */
const maxBadRows = 5;

export function readSetAside(db: Database): SetAside {
  const attempts = db.prepare<[string], { n: number }>('SELECT count(*) AS n FROM attempts WHERE state = ?');
  return {
    inFlight: attempts.get('submitted')?.n ?? 0,
    intended: attempts.get('intended')?.n ?? 0,
    failed: readFailedKinds(db),
    badRows: db
      .prepare<[number], SetAside['badRows'][number]>(
        'SELECT source, problem FROM bad_rows ORDER BY position LIMIT ?',
      )
      .all(maxBadRows),
  };
}

/** How many scenes have failed by which kind, the most first. */
export function readFailedKinds(db: Database): SetAside['failed'] {
  return db
    .prepare<[], SetAside['failed'][number]>(
      `SELECT coalesce(failure_kind, 'unknown') AS kind, count(*) AS scenes FROM scenes WHERE state = 'failed'
       GROUP BY kind ORDER BY scenes DESC, kind`,
    )
    .all();
}
