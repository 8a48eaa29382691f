/** Totals of a batch: scenes and attempts by state, and what its submissions took. */
import { attemptMoves, type AttemptState } from '../core/attempt.ts';
import { sceneMoves, type SceneCounts, type SceneState } from '../core/scene.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import {
  kindsWithoutPicture,
  nothingBrought,
  type BatchSpending,
  type Brought,
  type ExecutionTimes,
} from '../core/spending.ts';
import { readLostSubmissions } from './commit-mark.ts';
import { hasColumn } from './damage.ts';

export function readCounts(db: Database): SceneCounts {
  const bad = db.prepare<[], { n: number }>('SELECT count(*) AS n FROM bad_rows').get();
  const states = countStates(db, 'scenes', Object.keys(sceneMoves) as SceneState[]);
  return sceneCounts((state) => states[state], bad?.n ?? 0);
}

export function sceneCounts(countOf: (state: SceneState) => number, invalid: number): SceneCounts {
  const states = (Object.keys(sceneMoves) as SceneState[]).map((state) => [state, countOf(state)] as const);
  const shown = states.filter(([state, n]) => state !== 'unneeded' || n > 0);
  return { ...(Object.fromEntries(shown) as Omit<SceneCounts, 'invalid'>), invalid };
}

/** With those whose record was lost. */
export function readAttemptStates(db: Database): Record<AttemptState, number> {
  const counts = countStates(db, 'attempts', Object.keys(attemptMoves) as AttemptState[]);
  return { ...counts, unanswered: counts.unanswered + readLostSubmissions(db) };
}

/**
 * In a long batch most are saved: these are what the others leave of all, which SQLite counts without reading each. One
 * statement, since a run may be writing meanwhile.
 */
function countStates<State extends string>(
  db: Database,
  table: 'scenes' | 'attempts',
  states: State[],
): Record<State, number> {
  const others = states.filter((state) => state !== 'saved');
  const listed = others.map((state) => `'${state}'`).join();
  const rows = db
    .prepare<[], { state: State | 'every'; n: number }>(
      `SELECT state, count(*) AS n FROM ${table} WHERE state IN (${listed}) GROUP BY state
       UNION ALL SELECT 'every', (SELECT count(*) FROM ${table})`,
    )
    .all();
  const counts = new Map(rows.map(({ state, n }) => [state, n]));
  const of = (state: State | 'every'): number => counts.get(state) ?? 0;
  const saved = others.reduce((left, state) => left - of(state), of('every'));
  const entries = states.map((state) => [state, state === 'saved' ? saved : of(state)]);
  return Object.fromEntries(entries) as Record<State, number>;
}

/** Jobs. */
export const latestTimes = 512;

/** Its submission is on no record: it was paid for, at an unknown price. */
export const isAdopted = "state = 'saved' AND submitted_at IS NULL";

/** Of attempts, also in PostgreSQL: what each adds to `BatchSpending`. */
export const spentColumns = {
  jobs: "CAST(state <> 'refused' AS integer)",
  executedMs: 'coalesce(execution_time_ms, settled_at - executing_at)',
  untold: `CAST(state IN ('unanswered', 'expired') OR ${isAdopted} AS integer)`,
};

/** Of attempts: neither in flight nor refused, nor ended by the service itself without a picture; as above. */
export const isRendered = `(state IN ('saved', 'unanswered', 'expired') OR state = 'failed'
  AND coalesce(failure_kind, '') NOT IN (${kindsWithoutPicture.map((kind) => `'${kind}'`).join()}))`;

/** Of pictures, as above; they are numbered within their job. */
export const broughtColumns = `count(*) FILTER (WHERE number = 1) AS jobs, count(*) AS pictures,
  CAST(coalesce(sum(width * height), 0) AS bigint) AS pixels, coalesce(max(number), 0) AS "mostPictures",
  coalesce(max(width * height), 0) AS "mostPixels"`;

export function readSpending(db: Database): BatchSpending {
  const row = db
    .prepare<[], Record<'jobs' | 'executedMs' | 'untold' | 'rendered', number>>(
      `SELECT coalesce(sum(${spentColumns.jobs}), 0) AS jobs, coalesce(sum(${spentColumns.executedMs}), 0) AS executedMs,
         coalesce(sum(${spentColumns.untold}), 0) AS untold,
         count(*) FILTER (WHERE ${isRendered}) AS rendered FROM attempts`,
    )
    .get() ?? { jobs: 0, executedMs: 0, untold: 0, rendered: 0 };
  const lost = readLostSubmissions(db);
  return {
    ...row,
    jobs: row.jobs + lost,
    untold: row.untold + lost,
    rendered: row.rendered + lost,
    brought: readBrought(db),
    times: readLatestTimes(db),
  };
}

/** By the pictures with keys above `after`. */
export function readBrought(db: Database, after = 0): Brought {
  const isPicture = hasColumn(db, 'pictures', 'label') ? 'label IS NULL' : 'true';
  const brought = db
    .prepare<[number], Brought>(`SELECT ${broughtColumns} FROM pictures WHERE picture > ? AND ${isPicture}`)
    .get(after);
  return brought ?? nothingBrought;
}

/** Of the latest jobs whose time is known. */
export function readLatestTimes(db: Database): ExecutionTimes {
  const times = db
    .prepare<[number], { ms: number }>(
      'SELECT execution_time_ms AS ms FROM attempts WHERE execution_time_ms IS NOT NULL ORDER BY attempt DESC LIMIT ?',
    )
    .all(latestTimes);
  return times.map(({ ms }) => ms).toSorted((a, b) => a - b);
}
