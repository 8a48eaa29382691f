/** Computes totals of a batch: scenes and attempts by state, and the time and pictures of its submissions. */
import { attemptMoves, type AttemptState } from '../core/attempt.ts';
import { sceneMoves, type SceneCounts, type SceneState } from '../core/scene.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import {
  addBrought,
  kindsWithoutPicture,
  nothingBrought,
  nothingStated,
  type BatchSpending,
  type Brought,
  type ExecutionTimes,
} from '../core/spending.ts';
import { readLostSubmissions } from './find-loss.ts';
import { storedJson } from './damage.ts';

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

/** Counts attempts by state. Submissions whose record was lost count as unanswered. */
export function readAttemptStates(db: Database): Record<AttemptState, number> {
  const counts = countStates(db, 'attempts', Object.keys(attemptMoves) as AttemptState[]);
  return { ...counts, unanswered: counts.unanswered + readLostSubmissions(db) };
}

/** Counts rows by state, saved ones as the rest, in one statement, because a run may be writing. */
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

/** Number of recent jobs whose times are used. */
const latestTimes = 512;

/** SQL: the attempt was adopted. Its submission has no record, so it was paid for at an unknown price. */
const isAdopted = "state = 'saved' AND submitted_at IS NULL";

/** SQL, also for PostgreSQL: the attempt is over, and the service may have billed it for pictures. */
const isRendered = `(state IN ('saved', 'unanswered', 'expired') OR state = 'failed'
  AND coalesce(failure_kind, '') NOT IN (${kindsWithoutPicture.map((kind) => `'${kind}'`).join()}))`;

/** Returns SQL for the ms that the submitting run saw the job executing; null if another run began. */
const seenMs = (
  s: string,
): string => `CASE WHEN executing_at <= coalesce(completed_at, settled_at) AND NOT EXISTS (
    SELECT 1 FROM ${s}runs r WHERE r.started_at > submitted_at AND r.started_at <= settled_at)
  THEN coalesce(completed_at, settled_at) - executing_at END`;

/** Returns SQL that is true if the answer about the attempt's job was searched for a price at this path. */
function isAsked(at: string): string {
  return `coalesce(cost_from, '') = '${at.replaceAll("'", "''")}'`;
}

/**
 * Returns SQL for what each attempt adds to `BatchSpending`, as `withEnd` does. `s`: table prefix. `at`: path of
 * stated prices, without which they do not count. `isPicture`: a row of `pictures` is a picture of a job that stated
 * no price.
 */
export function spentSql(
  s = '',
  at?: string,
): { each: Record<keyof Spent, string>; sums: string; isPicture: string } {
  const asked = at === undefined ? 'false' : isAsked(at);
  const isStated = at === undefined ? 'false' : `(${asked} AND cost IS NOT NULL)`;
  const ms = `coalesce(execution_time_ms, CASE WHEN state IN ('saved', 'failed') THEN ${seenMs(s)} END)`;
  const each = {
    jobs: "CAST(state <> 'refused' AS integer)",
    executedMs: `CASE WHEN NOT ${isStated} THEN ${ms} END`,
    untold: `CAST(state IN ('unanswered', 'expired') OR ${isAdopted} AS integer)`,
    untimed: `CAST(${isRendered} AND NOT ${isStated} AND ${ms} IS NULL AS integer)`,
    rendered: `CAST(${isRendered} AND NOT ${isStated} AS integer)`,
    statedJobs: `CAST(${isStated} AS integer)`,
    stated: at === undefined ? '0' : `CASE WHEN ${isStated} THEN cost ELSE 0 END`,
    unstated: `CAST(${asked} AND state = 'saved' AND NOT ${isStated} AS integer)`,
  };
  const sums = Object.entries(each).map(([name, value]) => `coalesce(sum(${value}), 0) AS "${name}"`);
  const isOfStated = `EXISTS (SELECT 1 FROM ${s}attempts a WHERE a.attempt = pictures.attempt AND ${isStated})`;
  return {
    each,
    sums: sums.join(),
    isPicture: `label IS NULL${at === undefined ? '' : ` AND NOT ${isOfStated}`}`,
  };
}

/** Numbers of `BatchSpending` that are sums over attempts. */
type Spent = Omit<BatchSpending, 'brought' | 'times' | 'prices'>;

/** Returns queries of the latest times and, with `at`, stated prices of saved jobs, also for PostgreSQL. `s`: table prefix. */
export function latestQueries(
  s: string,
  at: string | undefined,
): { times: string; prices: string | undefined } {
  const ms = `coalesce(execution_time_ms, CASE WHEN state = 'saved' THEN ${seenMs(s)} END)`;
  const latest = `ORDER BY attempt DESC LIMIT ${latestTimes}`;
  const times = `SELECT ${ms} AS value FROM ${s}attempts WHERE ${ms} IS NOT NULL ${latest}`;
  if (at === undefined) return { times, prices: undefined };
  const isPrice = `${isAsked(at)} AND cost IS NOT NULL AND state = 'saved'`;
  return { times, prices: `SELECT cost AS value FROM ${s}attempts WHERE ${isPrice} ${latest}` };
}

/** SQL that sums pictures, also for PostgreSQL. Pictures are numbered from 1 within their job. */
export const broughtColumns = `count(*) FILTER (WHERE number = 1) AS jobs, count(*) AS pictures,
  CAST(coalesce(sum(width * height), 0) AS bigint) AS pixels, coalesce(max(number), 0) AS "mostPictures",
  coalesce(max(width * height), 0) AS "mostPixels"`;

/** `at`: path of stated prices (`pricing.at`). */
export function readSpending(db: Database, at?: string): BatchSpending {
  const lost = readLostSubmissions(db);
  const spent = db.prepare<[], Spent>(`SELECT ${spentSql('', at).sums} FROM attempts`).get();
  return {
    ...nothingStated,
    ...spent,
    jobs: (spent?.jobs ?? 0) + lost,
    executedMs: spent?.executedMs ?? 0,
    untold: (spent?.untold ?? 0) + lost,
    untimed: (spent?.untimed ?? 0) + lost,
    rendered: (spent?.rendered ?? 0) + lost,
    brought: addBrought(readBrought(db, at), readForgotten(db)),
    ...readLatest(db, at),
  };
}

/** Sums the pictures with keys above `after` of jobs that stated no price at the path `at`. */
export function readBrought(db: Database, at: string | undefined, after = 0): Brought {
  const { isPicture } = spentSql('', at);
  const brought = db
    .prepare<[number], Brought>(`SELECT ${broughtColumns} FROM pictures WHERE picture > ? AND ${isPicture}`)
    .get(after);
  return brought ?? nothingBrought;
}

/**
 * Forgets the pictures of `attempts`, a list or query of their keys, but not that they were paid for. Jobs that
 * stated a price are paid with that.
 */
export function forgetPictures(db: Database, attempts: string): void {
  const gone = `FROM pictures WHERE attempt IN (${attempts})`;
  const isStated = 'attempt IN (SELECT attempt FROM attempts WHERE cost IS NOT NULL)';
  const brought = db
    .prepare<[], Brought>(`SELECT ${broughtColumns} ${gone} AND label IS NULL AND NOT ${isStated}`)
    .get();
  const before = readForgotten(db);
  const { changes } = db.prepare(`DELETE ${gone}`).run();
  if (changes === 0 || brought === undefined) return;
  // New pictures may get the keys of these. A live reader sees by the number of rows that it must read all again.
  const rows = (before.rows ?? 0) + changes;
  const all = JSON.stringify({ ...addBrought(before, brought), rows });
  db.prepare("INSERT OR REPLACE INTO batch VALUES ('brought', ?)").run(all);
}

/** Returns the query for the record of forgotten pictures, also for PostgreSQL. `s`: prefix of the table names. */
export const forgottenQuery = (s = ''): string => `SELECT value FROM ${s}batch WHERE name = 'brought'`;

/** Returns the totals of forgotten pictures. `value` is the result of `forgottenQuery`. */
export function forgottenOf(value: string | undefined): Brought & { rows?: number } {
  return value === undefined ? nothingBrought : (storedJson(value, 'the batch') as Brought);
}

export function readForgotten(db: Database): ReturnType<typeof forgottenOf> {
  return forgottenOf(db.prepare<[], string>(forgottenQuery()).pluck().get());
}

/** Reads the latest times and stated prices, ascending. */
export function readLatest(
  db: Database,
  at: string | undefined,
): { times: ExecutionTimes; prices: readonly number[] } {
  const { times, prices } = latestQueries('', at);
  const read = (query: string): number[] =>
    db
      .prepare<[], number>(query)
      .pluck()
      .all()
      .toSorted((a, b) => a - b);
  return { times: read(times), prices: prices === undefined ? [] : read(prices) };
}

export function hasAttempts(db: Database): boolean {
  return db.prepare('SELECT 1 FROM attempts LIMIT 1').get() !== undefined;
}

/** True if a picture is saved, or a job is or may be in flight. */
export function hasPicturesOrJobs(db: Database): boolean {
  const some =
    "SELECT 1 FROM pictures UNION ALL SELECT 1 FROM attempts WHERE state IN ('intended', 'submitted') LIMIT 1";
  return db.prepare(some).get() !== undefined;
}

/** True if a run crashed while it saved pictures. */
export function hasUnfinishedPictures(db: Database): boolean {
  return db.prepare('SELECT 1 FROM attempts WHERE writing IS NOT NULL LIMIT 1').get() !== undefined;
}
