/** How many scenes and attempts are in which state. */
import { attemptMoves, type AttemptState } from '../core/attempt.ts';
import { sceneMoves, type SceneCounts, type SceneState } from '../core/scene.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { readLostSubmissions } from './commits.ts';

export function readCounts(db: Database): SceneCounts {
  const bad = db.prepare<[], { n: number }>('SELECT count(*) AS n FROM bad_rows').get();
  return { ...countStates(db, 'scenes', Object.keys(sceneMoves) as SceneState[]), invalid: bad?.n ?? 0 };
}

/** With those whose record was lost. */
export function readAttemptStates(db: Database): Record<AttemptState, number> {
  const counts = countStates(db, 'attempts', Object.keys(attemptMoves) as AttemptState[]);
  return { ...counts, unanswered: counts.unanswered + readLostSubmissions(db) };
}

/**
 * In a long batch most are saved: these are what the others leave of all, which SQLite counts without a look at each. One
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
