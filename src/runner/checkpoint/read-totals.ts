/** Computes totals of a batch: scenes and attempts by state, and the time and pictures of its submissions. */
import { attemptMoves, type AttemptState, type Endpoint } from '../core/attempt.ts';
import { sceneMoves, type SceneCounts, type SceneState } from '../core/scene.ts';
import type { Database, Statement } from '../../lib/sqlite/database.ts';
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
import type { AttemptRow } from './attempt-records.ts';

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

/** Counts the submissions that may have been billed and whose outcome is unknown. */
export function countUntold(db: Database): number {
  const { unanswered, expired } = readAttemptStates(db);
  return unanswered + expired;
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

/** SQL that sums pictures. Pictures are numbered from 1 within their job. The databases read JSON in different ways. */
export const broughtColumns = {
  sqlite: broughtSql('output'),
  postgres: broughtSql('CAST(output AS json)'),
};

function broughtSql(json: string): string {
  // Few rows have a clip, and reading JSON takes long.
  const ms = `CASE WHEN output LIKE '%"clip":%' THEN CAST(${json} -> 'clip' ->> 'durationMs' AS double precision) END`;
  return `count(*) FILTER (WHERE number = 1) AS jobs, count(*) AS pictures,
    CAST(coalesce(sum(width * height), 0) AS bigint) AS pixels, coalesce(max(number), 0) AS "mostPictures",
    coalesce(max(width * height), 0) AS "mostPixels", count(${ms}) AS clips,
    coalesce(sum(${ms}), 0) AS "clipMs", coalesce(max(${ms}), 0) AS "mostClipMs"`;
}

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
function readBrought(db: Database, at: string | undefined, after = 0): Brought {
  const { isPicture } = spentSql('', at);
  const brought = db
    .prepare<[number], Brought>(
      `SELECT ${broughtColumns.sqlite} FROM pictures WHERE picture > ? AND ${isPicture}`,
    )
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
    .prepare<[], Brought>(`SELECT ${broughtColumns.sqlite} ${gone} AND label IS NULL AND NOT ${isStated}`)
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
  // Earlier versions knew no clips.
  return value === undefined
    ? nothingBrought
    : { ...nothingBrought, ...(storedJson(value, 'the batch') as Partial<Brought>) };
}

function readForgotten(db: Database): ReturnType<typeof forgottenOf> {
  return forgottenOf(db.prepare<[], string>(forgottenQuery()).pluck().get());
}

/** Reads the latest times and stated prices, ascending. */
function readLatest(
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

export interface JobsInFlight {
  endpoint: Endpoint;
  jobs: number;
  /** When the oldest of them was submitted, epoch ms. */
  oldestAt: number;
}

export function jobsInFlight(db: Database): JobsInFlight[] {
  return db
    .prepare<[], Endpoint & Omit<JobsInFlight, 'endpoint'>>(
      `SELECT base_url AS baseUrl, endpoint_id AS id, version, count(*) AS jobs, min(submitted_at) AS oldestAt
       FROM attempts WHERE state = 'submitted' GROUP BY base_url, endpoint_id, version`,
    )
    .all()
    .map(({ jobs, oldestAt, ...endpoint }) => ({ endpoint, jobs, oldestAt }));
}

/** True if a picture is saved, or a job is or may be in flight. */
export function hasPicturesOrJobs(db: Database): boolean {
  const some =
    "SELECT 1 FROM pictures UNION ALL SELECT 1 FROM attempts WHERE state IN ('intended', 'submitted') LIMIT 1";
  return db.prepare(some).get() !== undefined;
}

/** True if a run crashed while it saved results. */
export function hasUnfinishedPictures(db: Database): boolean {
  return db.prepare('SELECT 1 FROM attempts WHERE writing IS NOT NULL LIMIT 1').get() !== undefined;
}

/** Rows per turn of the event loop. */
const pageRows = 10_000;

const spentKeys = [
  'executedMs',
  'untold',
  'untimed',
  'rendered',
  'statedJobs',
  'stated',
  'unstated',
] as const;

type TalliedSums = Record<(typeof spentKeys)[number], number>;

type TalliedAttempt = Pick<AttemptRow, 'state' | 'failureKind'> &
  TalliedSums & { attempt: number; scene: number; settled_at: number | null };

interface KindTally {
  attempts: number;
  /** Key of the latest of these attempts. */
  last: number;
}

/** Running totals of attempts. Settled ones are counted once; those in flight are read again. */
export class AttemptTally {
  total = 0;
  /** Attempts that the service did not accept: no job, no bill. */
  refused = 0;
  unanswered = 0;
  expired = 0;
  /** Sums that mean the same as in `BatchSpending`. */
  readonly #spent = Object.fromEntries(spentKeys.map((key) => [key, 0])) as TalliedSums;
  /** Path of stated prices (`pricing.at`). */
  readonly #at: string | undefined;
  readonly #columns: string;
  #brought: Brought = nothingBrought;
  readonly kinds = new Map<string, KindTally>();
  readonly #open = new Set<number>();
  /** Scenes whose attempts began or ended since this set was last emptied. */
  readonly touched = new Set<number>();
  #lost = 0;
  #seen = 0;
  #lastPicture = 0;

  constructor(at?: string) {
    this.#at = at;
    const sums = Object.entries(spentSql('', at).each).filter(([key]) => key !== 'jobs');
    const spent = sums.map(([key, value]) => `coalesce(${value}, 0) AS ${key}`);
    this.#columns = `attempt, scene, state, settled_at, failure_kind AS failureKind, ${spent.join()}`;
  }

  get inFlight(): number {
    return this.#open.size;
  }

  /** Reads most of a long batch, with turns of the event loop between pages. `catchUp` reads the rest. */
  async catchUpSlowly(db: Database, breathe: () => Promise<void>): Promise<void> {
    const page = this.#pageOf(db);
    while (this.#readPage(page) === pageRows) await breathe();
  }

  catchUp(db: Database): void {
    const again = db.prepare<[string], TalliedAttempt>(
      `SELECT ${this.#columns} FROM attempts WHERE attempt IN (SELECT value FROM json_each(?)) AND settled_at IS NOT NULL`,
    );
    for (const row of again.all(JSON.stringify([...this.#open]))) {
      this.#open.delete(row.attempt);
      this.#addSettled(row);
    }
    const page = this.#pageOf(db);
    while (this.#readPage(page) === pageRows);
    const lost = readLostSubmissions(db) - this.#lost;
    this.#lost += lost;
    this.total += lost;
    this.unanswered += lost;
    this.#spend({ untold: lost, untimed: lost, rendered: lost });
    this.#brought = addBrought(this.#brought, readBrought(db, this.#at, this.#lastPicture));
    this.#lastPicture = db.prepare<[], number | null>('SELECT max(picture) FROM pictures').pluck().get() ?? 0;
  }

  /** Returns what was spent until the last `catchUp`. */
  spending(db: Database): BatchSpending {
    const brought = addBrought(this.#brought, readForgotten(db));
    return { ...this.#spent, jobs: this.total - this.refused, brought, ...readLatest(db, this.#at) };
  }

  #pageOf(db: Database): Statement<[number]> {
    return db.prepare<[number]>(
      `SELECT ${this.#columns} FROM attempts WHERE attempt > ? ORDER BY attempt LIMIT ${pageRows}`,
    );
  }

  #readPage(page: Statement<[number]>): number {
    const rows = page.all(this.#seen) as TalliedAttempt[];
    for (const row of rows) {
      this.total += 1;
      this.touched.add(row.scene);
      if (row.settled_at === null) this.#open.add(row.attempt);
      else this.#addSettled(row);
    }
    this.#seen = rows.at(-1)?.attempt ?? this.#seen;
    return rows.length;
  }

  #addSettled({ attempt, scene, state, failureKind, ...spent }: TalliedAttempt): void {
    this.touched.add(scene);
    this.#spend(spent);
    if (state === 'refused') this.refused += 1;
    if (state === 'unanswered') this.unanswered += 1;
    if (state === 'expired') this.expired += 1;
    if (failureKind !== null) this.#addFailure(failureKind, attempt);
  }

  #spend(spent: Partial<TalliedSums>): void {
    for (const key of spentKeys) this.#spent[key] += spent[key] ?? 0;
  }

  #addFailure(kind: string, attempt: number): void {
    const { attempts, last } = this.kinds.get(kind) ?? { attempts: 0, last: 0 };
    this.kinds.set(kind, { attempts: attempts + 1, last: Math.max(last, attempt) });
  }
}
