/** Reads what a plan needs to know of a batch: times, costs, failures and the edits of its list. */
import { type Experience, forecast } from '../core/forecast.ts';
import type { RunStats } from '../core/run-stats.ts';
import { costOf, type Pricing } from '../core/spending.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import type { SetAside, Edits } from '../core/batch-plan.ts';
import { storedJson } from './damage.ts';
import { openCheckpointForReading } from './open-checkpoint.ts';
import type { SceneRow } from './checkpoint-schema.ts';
import { readSpending, readCounts } from './read-totals.ts';
import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { filesIn } from '../core/file-text.ts';
import { seedNumberColumn } from '../core/expansion.ts';
import type { ListedScene } from '../core/scene.ts';
import type { ManifestScenes } from '../pipeline/ports.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { readBatch } from './batch-identity.ts';

/** Number of recent jobs that count, because a batch's speed changes. */
const latestJobs = 512;

export function readExperience(db: Database, pricing: Pricing | undefined): Experience {
  const spending = readSpending(db, pricing?.at);
  const latest = db
    .prepare<[number], { executionMs: number | null; inFlightMs: number | null }>(
      `SELECT execution_time_ms AS executionMs, settled_at - submitted_at AS inFlightMs
       FROM attempts WHERE +state = 'saved' ORDER BY attempt DESC LIMIT ?`,
    )
    .all(latestJobs);
  const saved = db.prepare<[], { n: number }>("SELECT count(*) AS n FROM attempts WHERE state = 'saved'");
  return {
    saved: saved.get()?.n ?? 0,
    spent: pricing && costOf(spending, pricing).spent,
    jobs: spending.jobs,
    sample: latest.length,
    executionMs: median(latest.map(({ executionMs }) => executionMs)),
    inFlightMs: median(latest.map(({ inFlightMs }) => inFlightMs)),
    lastRun: readThroughput(db),
  };
}

function median(values: (number | null)[]): number | null {
  const sorted = values.filter((value) => value !== null).toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}

/** Returns the throughput of the latest run that ended in order and rendered anything; null if there is none. */
function readThroughput(db: Database): Experience['lastRun'] {
  const rows = db
    .prepare<[], { stats: string }>(
      'SELECT stats FROM runs WHERE stats IS NOT NULL ORDER BY run DESC LIMIT 20',
    )
    .all();
  for (const { stats } of rows) {
    const { jobs, tookMs, concurrency } = storedJson(stats, 'a run') as RunStats;
    const all = jobs.submitted + jobs.resumed;
    if (all > 0 && tookMs > 0) return { jobs: all, tookMs, concurrency };
  }
  return null;
}

/** Returns where in its output the latest picture was found by its content; null if by a setting or shape. */
export function readFoundAt(db: Database): string | null {
  const newest = db.prepare<[], string | null>(
    `SELECT json_extract(output, '$.at')
     FROM (SELECT output FROM pictures ORDER BY picture DESC LIMIT ${latestJobs})
     WHERE CASE WHEN json_valid(output) THEN json_type(output, '$.at') = 'text' END LIMIT 1`,
  );
  return newest.pluck().get() ?? null;
}

/** Maximum number of invalid rows that are shown. The others are only counted. */
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

/** Counts earlier attempts of the same scene that the service may have billed. */
export function readPaidBefore(db: Database, attempt: number): number {
  const paid = db.prepare<[number], { n: number }>(
    `SELECT count(*) AS n FROM attempts a JOIN attempts b ON b.scene = a.scene AND b.number < a.number
     WHERE a.attempt = ? AND b.state <> 'refused'`,
  );
  return paid.get(attempt)?.n ?? 0;
}

/** Counts the failed scenes of each kind of failure, the most frequent kind first. */
export function readFailedKinds(db: Database): SetAside['failed'] {
  return db
    .prepare<[], SetAside['failed'][number]>(
      `SELECT coalesce(failure_kind, 'unknown') AS kind, count(*) AS scenes FROM scenes WHERE state = 'failed'
       GROUP BY kind ORDER BY scenes DESC, kind`,
    )
    .all();
}

export interface EditedList {
  scenes: ManifestScenes;
  /** Columns that do not come from the list itself. */
  added: readonly string[];
  /** True if the rows are pictures of another batch. A picture that was rendered anew there is no edit. */
  isStage: boolean;
  pricing: Pricing | undefined;
}

/**
 * Compares a list with the checkpoint; undefined if there is none or few scenes change. Throws the reason
 * of `signal`, and SQLite's errors for damage.
 */
export async function readEdits(
  dir: string,
  list: EditedList,
  signal: AbortSignal,
): Promise<Edits | undefined> {
  const db = openCheckpointForReading(dir);
  try {
    return db && (await editsIn(db, list, signal));
  } finally {
    db?.close();
  }
}

async function editsIn(
  db: Database,
  { scenes: list, added, isStage, pricing }: EditedList,
  signal: AbortSignal,
): Promise<Edits | undefined> {
  const { saved } = readCounts(db);
  if (saved === 0) return undefined;
  const find = sceneFinder(db);
  let same = 0;
  for await (const scene of paced(list.scenes(), signal)) {
    if (find(scene)?.state === 'saved') same += 1;
    // Most lists end here early, so that the rest of a long list need not be looked up.
    if (same * 3 >= saved * 2) return undefined;
  }
  const others = new Set([...added, ...(readBatch(db)?.axes ?? []), 'seed', seedNumberColumn, 'row']);
  const namesOf = ({ columns }: Row): string[] =>
    Object.keys(columnsOf(columns)).filter((name) => !others.has(name));
  const [kept, before, after] = [new Set<number>(), new Set<string>(), new Set<string>()];
  for await (const scene of paced(list.scenes(), signal)) {
    const known = find(scene);
    if (known?.state === 'saved') kept.add(known.scene);
    else if (known?.isRendered !== 1) for (const name of namesOf(scene)) after.add(name);
  }
  const gone = (): Iterable<Row> => savedScenes(db, kept);
  const coming = (): Iterable<Row> => filtered(list.scenes(), (scene) => find(scene)?.isRendered !== 1);
  for await (const row of paced(gone(), signal)) for (const name of namesOf(row)) before.add(name);
  const both = [...after].filter((name) => before.has(name)).toSorted();
  const names = both.includes('id') && !isStage ? ['id'] : both;
  const keyOf = (row: Row): string => keyOfRow(row, names.length > 0 ? names : namesOf(row), isStage);
  const rows = new Map<string, number>();
  for await (const row of paced(gone(), signal)) {
    const key = keyOf(row);
    rows.set(key, (rows.get(key) ?? 0) + 1);
  }
  let scenes = 0;
  for await (const row of paced(coming(), signal)) {
    const key = keyOf(row);
    const left = rows.get(key) ?? 0;
    if (left === 0) continue;
    rows.set(key, left - 1);
    scenes += 1;
  }
  if (scenes * 3 <= saved) return undefined;
  const asked = { scenes, concurrency: 1, pricing, expectMs: undefined, limits: {}, leftMs: undefined };
  return { scenes, saved, cost: forecast(asked, readExperience(db, pricing)).cost };
}

type Row = Pick<ListedScene, 'columns' | 'input'>;

/** `isRendered` is 1 if nothing is submitted for the scene when it is listed. */
type KnownScene = Pick<SceneRow, 'scene' | 'state'> & { isRendered: 0 | 1 };

function sceneFinder(db: Database): (scene: ListedScene) => KnownScene | undefined {
  const find = db.prepare<[string, string], KnownScene>(`
    SELECT scene, state, state <> 'withdrawn' OR EXISTS (
      SELECT 1 FROM attempts a JOIN pictures USING (attempt) WHERE a.scene = s.scene) AS isRendered
    FROM scenes s WHERE id = ? AND fingerprint = ?`);
  return ({ id, fingerprint }) => find.get(id, fingerprint);
}

const pageRows = 500;

function* savedScenes(db: Database, without: ReadonlySet<number>): Generator<Row> {
  const page = db.prepare<[number], Row & { sceneKey: number }>(`
    SELECT scene AS sceneKey, columns, input FROM scenes WHERE scene > ? AND +state = 'saved' ORDER BY scene LIMIT ${pageRows}`);
  for (let rows = page.all(0); rows.length > 0; rows = page.all(rows.at(-1)?.sceneKey ?? 0))
    yield* rows.filter(({ sceneKey }) => !without.has(sceneKey));
}

function* filtered<T>(all: Iterable<T>, test: (each: T) => boolean): Generator<T> {
  for (const each of all) if (test(each)) yield each;
}

async function* paced<T>(items: Iterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  let count = 0;
  for (const item of items) {
    yield item;
    count += 1;
    if (count % pageRows !== 0) continue;
    await nextTurn();
    signal.throwIfAborted();
  }
}

function columnsOf(text: string): JsonObject {
  return storedJson(text, 'a scene') as JsonObject;
}

/** Returns the same key for a row before and after an edit. `names`: the columns that tell rows apart. */
function keyOfRow({ columns, input }: Row, names: string[], isStage: boolean): string {
  const row = columnsOf(columns);
  // Sorting hides renames, because all columns may have been renamed.
  const values = names.map((name) => plainText(row[name] ?? null)).toSorted();
  const files = isStage ? filesIn(storedJson(input, 'a scene') as JsonValue) : [];
  return hash('sha256', JSON.stringify([values, files.map(({ sha256 }) => sha256)])).slice(0, 16);
}

/** Returns the same text for a value that was text before and has a type now. */
function plainText(value: JsonValue): string {
  if (typeof value !== 'string') return canonicalJson(value);
  const text = value.trim();
  if (text === '') return 'null';
  if (/^(true|false)$/i.test(text)) return text.toLowerCase();
  try {
    return canonicalJson(JSON.parse(text) as JsonValue);
  } catch {
    return text;
  }
}
