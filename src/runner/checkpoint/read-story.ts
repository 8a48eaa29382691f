/** All that the checkpoint knows of one id. */
import type { AttemptState, Endpoint } from '../core/attempt.ts';
import { failureRules, isFailureKind } from '../core/failure.ts';
import { formatOfFile } from '../core/picture-format.ts';
import { nameKey } from '../core/naming.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { sentColumns, sentInput, type SceneState } from '../core/scene.ts';
import type { AttemptStory, SceneStory, SceneVersion } from '../core/scene-story.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { storedJson, storedSeed } from './damage.ts';
import { savedReader } from './recorded-pictures.ts';

/** Undefined where there is no such id. */
export function readStory(db: Database, id: string): SceneStory | undefined {
  const scenes = db
    .prepare<[string], SceneRow>("SELECT * FROM scenes WHERE id = ? ORDER BY state = 'withdrawn', scene DESC")
    .all(id);
  const invalid = db
    .prepare<[string], { source: string; problem: string }>(
      'SELECT source, problem FROM bad_rows WHERE id = ? ORDER BY position',
    )
    .all(id);
  if (scenes.length + invalid.length === 0) return undefined;
  return { id, versions: scenes.map((scene) => readVersion(db, scene)), invalid };
}

/** The id of the scene that a picture is of; `file` is relative to the folder of pictures. */
export function readOwner(db: Database, file: string): string | undefined {
  return db
    .prepare<[string], string>(
      `SELECT s.id FROM pictures p JOIN attempts a USING (attempt) JOIN scenes s USING (scene) WHERE p.file_key = ?`,
    )
    .pluck()
    .get(nameKey(file));
}

/** Whether exactly this file is one of its pictures. */
export function isRecorded(db: Database, file: string): boolean {
  const known = db
    .prepare<[string], string>('SELECT file FROM pictures WHERE file_key = ?')
    .pluck()
    .get(nameKey(file));
  return known !== undefined && formatOfFile(known) === formatOfFile(file);
}

/** Every id of the batch. */
export function* readIds(db: Database): Generator<string> {
  yield* db.prepare<[], string>('SELECT id FROM scenes').pluck().iterate();
}

interface SceneRow {
  id: string;
  scene: number;
  position: number | null;
  state: SceneState;
  fingerprint: string;
  source: string;
  columns: string;
  input: string;
  failure_kind: string | null;
  failure_text: string | null;
  due_at: number;
  deaths: number;
  counted_from: number;
  seed: string | null;
}

interface AttemptRow {
  attempt: number;
  number: number;
  run: number;
  state: AttemptState;
  base_url: string;
  endpoint_id: string;
  version: Endpoint['version'];
  job_id: string | null;
  status: string | null;
  intended_at: number;
  submitted_at: number | null;
  executing_at: number | null;
  completed_at: number | null;
  settled_at: number | null;
  delay_time_ms: number | null;
  execution_time_ms: number | null;
  polls: number;
  failure_kind: string | null;
  failure_text: string | null;
}

function readVersion(db: Database, row: SceneRow): SceneVersion {
  const savedOf = savedReader(db);
  const of = `scene ${row.id}`;
  const seed = storedSeed(row.seed, of);
  const attempts = db
    .prepare<[number], AttemptRow>('SELECT * FROM attempts WHERE scene = ? ORDER BY number')
    .all(row.scene);
  return {
    state: row.state,
    fingerprint: row.fingerprint,
    source: row.source,
    columns: sentColumns(storedJson(row.columns, of) as JsonObject, seed),
    input: sentInput(storedJson(row.input, of) as JsonObject, seed),
    failureKind: row.failure_kind,
    failureText: row.failure_text,
    dueAt: row.due_at,
    ahead: row.state === 'waiting' && row.due_at === 0 ? countAhead(db, row.position ?? 0) : 0,
    deaths: row.deaths,
    attempts: attempts.map((attempt) => readAttempt(attempt, row.counted_from, savedOf)),
  };
}

function countAhead(db: Database, position: number): number {
  return (
    db
      .prepare<[number], number>(
        "SELECT count(*) FROM scenes WHERE state = 'waiting' AND due_at = 0 AND position < ?",
      )
      .pluck()
      .get(position) ?? 0
  );
}

function readAttempt(
  row: AttemptRow,
  countedFrom: number,
  savedOf: ReturnType<typeof savedReader>,
): AttemptStory {
  const kind = row.failure_kind;
  const isPutBack = kind !== null && isFailureKind(kind) && failureRules[kind].next === 'put-back';
  return {
    number: row.number,
    run: row.run,
    state: row.state,
    endpoint: { baseUrl: row.base_url, id: row.endpoint_id, version: row.version },
    jobId: row.job_id,
    status: row.status,
    intendedAt: row.intended_at,
    submittedAt: row.submitted_at,
    executingAt: row.executing_at,
    completedAt: row.completed_at,
    settledAt: row.settled_at,
    delayTimeMs: row.delay_time_ms,
    executionTimeMs: row.execution_time_ms,
    polls: row.polls,
    failureKind: kind,
    failureText: row.failure_text,
    isCounted: row.number > countedFrom && !isPutBack,
    ...savedOf(row.attempt),
  };
}
