/** The rows of the report, read from the checkpoint. */
import { endpointAddress, type Endpoint } from '../core/attempt.ts';
import type { FailureKind } from '../core/failure.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { ReportRow } from '../core/report-row.ts';
import { sentColumns, sentInput, type SceneState } from '../core/scene.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { seedColumn, storedJson, storedSeed } from './damage.ts';
import { pictureReader } from './read-pictures.ts';

/** Every scene: those of the manifest in its order, with its skipped rows between them, then the withdrawn ones. */
export function* readRows(db: Database): Generator<ReportRow> {
  const scenes = (which: string): Iterable<SceneRow> =>
    db.prepare<[], SceneRow>(`${sceneColumns(db)} ${which}`).iterate();
  yield* inOrder(db, {
    listed: () => scenes(listedScenes),
    bad: () => db.prepare<[], BadRowRow>('SELECT * FROM bad_rows ORDER BY position').iterate(),
    withdrawn: () => scenes(withdrawnScenes),
  });
}

/** Each is begun when it is read: a statement that is open keeps others from the database. */
export interface FoundRows {
  listed: () => Iterable<SceneRow>;
  bad: () => Iterator<BadRowRow>;
  withdrawn: () => Iterable<SceneRow>;
}

/** As rows of the report, in its order. */
export function* inOrder(db: Database, { listed, bad, withdrawn }: FoundRows): Generator<ReportRow> {
  const toRow = rowReader(db);
  const badRows = bad();
  let next = badRows.next();
  for (const scene of listed()) {
    for (; next.done !== true && next.value.position < (scene.position ?? 0); next = badRows.next())
      yield invalidRow(next.value);
    yield toRow(scene);
  }
  for (; next.done !== true; next = badRows.next()) yield invalidRow(next.value);
  for (const scene of withdrawn()) yield toRow(scene);
}

/** Characters. Some send pictures along. */
const maxInputLength = 65_536;

/**
 * A scene with the attempt that says most of it: the saved one, else the latest. Most scenes have one attempt alone, and
 * only of others there is something to choose or to count.
 */
export const sceneColumns = (db: Database): string => `
  SELECT s.scene, s.id, s.position, s.state, s.source,
         ${attemptCount("c.state <> 'refused'")} AS attempts,
         ${attemptCount("c.state = 'unanswered'")} AS unanswered,
         ${attemptCount("c.state = 'expired'")} AS expired,
         s.columns, CASE WHEN length(s.input) <= ${maxInputLength} THEN s.input END AS input, ${seedColumn(db)} AS seed, s.failure_kind, s.failure_text,
         a.attempt, a.job_id, a.base_url AS baseUrl, a.endpoint_id AS endpointId, a.version, a.delay_time_ms, a.execution_time_ms, a.submitted_at, a.completed_at, a.settled_at,
         a.state AS attempt_state, a.failure_kind AS attempt_failure_kind, a.failure_text AS attempt_failure_text
  FROM scenes s LEFT JOIN attempts a ON a.scene = s.scene AND a.number = CASE WHEN s.attempts <= 1 THEN s.attempts ELSE
    (SELECT number FROM attempts l WHERE l.scene = s.scene
     ORDER BY EXISTS (SELECT 1 FROM pictures p WHERE p.attempt = l.attempt) DESC, l.state = 'refused', l.number DESC LIMIT 1)
    END`;
const listedScenes = 'WHERE s.position IS NOT NULL ORDER BY s.position';
const withdrawnScenes = "WHERE s.state = 'withdrawn' ORDER BY s.scene";

function attemptCount(which: string): string {
  const counted = `(SELECT count(*) FROM attempts c WHERE c.scene = s.scene AND ${which})`;
  return `CASE s.attempts WHEN 0 THEN 0 WHEN 1 THEN ${which.replace('c.', 'a.')} ELSE ${counted} END`;
}

export interface SceneRow {
  id: string;
  position: number | null;
  state: SceneState;
  attempts: number;
  unanswered: number;
  expired: number;
  source: string;
  columns: string;
  input: string | null;
  seed: string | null;
  failure_kind: FailureKind | null;
  failure_text: string | null;
  attempt: number | null;
  job_id: string | null;
  baseUrl: string | null;
  endpointId: string | null;
  version: Endpoint['version'] | null;
  delay_time_ms: number | null;
  execution_time_ms: number | null;
  submitted_at: number | null;
  completed_at: number | null;
  settled_at: number | null;
  attempt_state: string | null;
  attempt_failure_kind: FailureKind | null;
  attempt_failure_text: string | null;
}

export interface BadRowRow {
  position: number;
  source: string;
  id: string | null;
  problem: string;
}

function rowReader(db: Database): (row: SceneRow) => ReportRow {
  const picturesOf = pictureReader(db);
  return (row) => {
    const pictures = row.attempt === null ? [] : picturesOf(row.attempt);
    const isSaved = pictures.length > 0;
    const of = `scene ${row.id}`;
    const seed = storedSeed(row.seed, of);
    return {
      id: row.id,
      state: row.state,
      pictures,
      jobId: row.job_id,
      endpoint: endpointOf(row),
      attempts: row.attempts,
      unanswered: row.unanswered,
      expired: row.expired,
      delayTimeMs: row.delay_time_ms,
      executionTimeMs: row.execution_time_ms,
      submittedAt: row.submitted_at,
      completedAt: row.completed_at,
      savedAt: isSaved ? row.settled_at : null,
      failureKind: row.failure_kind ?? row.attempt_failure_kind,
      failureText: row.failure_text ?? row.attempt_failure_text,
      source: row.source,
      columns: sentColumns(storedJson(row.columns, of) as JsonObject, seed),
      input: row.input === null ? null : sentInput(storedJson(row.input, of) as JsonObject, seed),
    };
  };
}

function endpointOf({ baseUrl, endpointId: id, version }: SceneRow): string | null {
  if (baseUrl === null || id === null || version === null) return null;
  return endpointAddress({ baseUrl, id, version });
}

function invalidRow({ source, id, problem }: BadRowRow): ReportRow {
  return {
    id,
    state: 'invalid',
    pictures: [],
    jobId: null,
    endpoint: null,
    attempts: 0,
    unanswered: 0,
    expired: 0,
    delayTimeMs: null,
    executionTimeMs: null,
    submittedAt: null,
    completedAt: null,
    savedAt: null,
    failureKind: 'invalid-row',
    failureText: problem,
    source,
    columns: {},
    input: null,
  };
}
