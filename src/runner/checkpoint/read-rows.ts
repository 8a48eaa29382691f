/** The rows of the report, read from the checkpoint. */
import { endpointAddress, type Endpoint } from '../core/attempt.ts';
import type { FailureKind } from '../core/failure.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { ReportRow } from '../core/report-row.ts';
import { sentColumns, sentInput, type SceneState } from '../core/scene.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { storedJson, storedSeed } from './damage.ts';
import { readBatch } from './batch-identity.ts';
import { savedReader } from './recorded-pictures.ts';
import { withValues } from '../core/output-value.ts';

/** All conditions given must hold. */
export interface RowChoice {
  /** States of a scene, and `invalid`. */
  states?: string[];
  /** Kinds of failure, and `invalid-row`. */
  kinds?: string[];
  /** Text in the id, a column's value or the failure's text, in any case. */
  search?: string;
}

/** Rows at these positions, `to` not included, and some of the withdrawn scenes in their order. */
export interface ListPart {
  from: number;
  to: number;
  withdrawn: { from: number; count: number };
}

const everyRow: ListPart = { from: 0, to: 2 ** 53, withdrawn: { from: 0, count: -1 } };

/**
 * Rows that fulfil every condition given: those of the manifest in its order, with its invalid rows between them, then the
 * withdrawn scenes. Read in pages, so that no statement stays open; outside a transaction, rows that change meanwhile come
 * as they were or as they are.
 */
export function* readRows(
  db: Database,
  choice: RowChoice = {},
  part: ListPart = everyRow,
): Generator<ReportRow> {
  const toRow = rowReader(db);
  const scenes = sceneReader(db, choice, part);
  const badRows = readBadRows(db, choice, part);
  let bad = badRows.next();
  for (const scene of scenes.listed()) {
    for (; bad.done !== true && bad.value.position < (scene.position ?? 0); bad = badRows.next())
      yield invalidRow(bad.value);
    yield toRow(scene);
  }
  for (; bad.done !== true; bad = badRows.next()) yield invalidRow(bad.value);
  for (const scene of scenes.withdrawn()) yield toRow(scene);
}

/** A statement that stayed open while a terminal's reader thinks would keep a run from truncating its log. */
const pageRows = 200;

/** The unary plus rules out indexes in another order than that of the list, which each page would have to sort. */
function sceneReader(
  db: Database,
  { states, kinds, search }: RowChoice,
  { from: start, to, withdrawn: gone }: ListPart,
) {
  if (search !== undefined) db.function('has_text', { deterministic: true }, hasText(search));
  const conditions = [
    ...(states === undefined ? [] : ['+s.state IN (SELECT value FROM json_each(@states))']),
    ...(kinds === undefined
      ? []
      : [
          "+s.state <> 'saved' AND s.attempts > 0",
          'coalesce(s.failure_kind, a.failure_kind) IN (SELECT value FROM json_each(@kinds))',
        ]),
    ...(search === undefined
      ? []
      : ["has_text(s.id, s.columns, coalesce(s.failure_text, a.failure_text, ''))"]),
  ];
  const values = {
    ...(states !== undefined && { states: JSON.stringify(states) }),
    ...(kinds !== undefined && { kinds: JSON.stringify(kinds) }),
  };
  const pages = (among: string, key: string) =>
    db.prepare<[object], SceneRow>(
      `${sceneColumns} WHERE ${[among, ...conditions].join(' AND ')} ORDER BY ${key} LIMIT ${pageRows}`,
    );
  return {
    *listed(): Generator<SceneRow> {
      const page = pages('s.position > @after AND s.position < @to', 's.position');
      const after = (position: number) => page.all({ ...values, to, after: position });
      let rows = after(start - 1);
      for (; rows.length > 0; rows = after(rows.at(-1)?.position ?? to)) yield* rows;
    },
    *withdrawn(): Generator<SceneRow> {
      const page = pages('s.scene IN (SELECT value FROM json_each(@keys))', 's.scene');
      // The index has these keys: scenes that are listed are not read for it.
      const withdrawn = db.prepare<[ListPart['withdrawn']], number>(
        "SELECT scene FROM scenes WHERE state = 'withdrawn' ORDER BY +scene LIMIT @count OFFSET @from",
      );
      const keys = withdrawn.pluck().all(gone);
      for (let from = 0; from < keys.length; from += pageRows)
        yield* page.all({ ...values, keys: JSON.stringify(keys.slice(from, from + pageRows)) });
    },
  };
}

/** Characters. Some send pictures along. */
const maxInputLength = 65_536;

/**
 * A scene with the attempt that says most of it: the saved one, else the latest. Most scenes have one attempt alone, and
 * only of others there is something to choose or to count.
 */
const sceneColumns = `
  SELECT s.scene AS sceneKey, s.id, s.position, s.state, s.source,
         ${attemptCount("c.state <> 'refused'")} AS attempts,
         ${attemptCount("c.state = 'unanswered'")} AS unanswered,
         ${attemptCount("c.state = 'expired'")} AS expired,
         s.columns, CASE WHEN length(s.input) <= ${maxInputLength} THEN s.input END AS input, s.seed, s.failure_kind, s.failure_text,
         a.attempt, a.job_id, a.base_url AS baseUrl, a.endpoint_id AS endpointId, a.version, a.delay_time_ms, a.execution_time_ms, a.submitted_at, a.completed_at, a.settled_at,
         a.state AS attempt_state, a.failure_kind AS attempt_failure_kind, a.failure_text AS attempt_failure_text
  FROM scenes s LEFT JOIN attempts a ON a.scene = s.scene AND a.number = CASE WHEN s.attempts <= 1 THEN s.attempts ELSE
    (SELECT number FROM attempts l WHERE l.scene = s.scene
     ORDER BY EXISTS (SELECT 1 FROM pictures p WHERE p.attempt = l.attempt) DESC, l.state = 'refused', l.number DESC LIMIT 1)
    END`;

function attemptCount(which: string): string {
  const counted = `(SELECT count(*) FROM attempts c WHERE c.scene = s.scene AND ${which})`;
  return `CASE s.attempts WHEN 0 THEN 0 WHEN 1 THEN ${which.replace('c.', 'a.')} ELSE ${counted} END`;
}

interface SceneRow {
  sceneKey: number;
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

interface BadRowRow {
  position: number;
  source: string;
  id: string | null;
  problem: string;
}

function* readBadRows(
  db: Database,
  { states, kinds, search }: RowChoice,
  { from, to }: ListPart,
): Generator<BadRowRow> {
  if (states?.includes('invalid') === false || kinds?.includes('invalid-row') === false) return;
  const page = db.prepare<[number, number], BadRowRow>(
    `SELECT * FROM bad_rows WHERE position > ? AND position < ? ORDER BY position LIMIT ${pageRows}`,
  );
  const has = search === undefined ? () => 1 : hasText(search);
  let after = from - 1;
  for (let rows = page.all(after, to); rows.length > 0; rows = page.all(after, to)) {
    for (const row of rows) if (has(row.id ?? '', '{}', row.problem) === 1) yield row;
    after = rows.at(-1)?.position ?? Infinity;
  }
}

type HasText = (id: string, columns: string, failure: string) => 0 | 1;

/** Parses the JSON only of rows that may hold the text. */
function hasText(search: string): HasText {
  const wanted = search.toLowerCase();
  const inJson = JSON.stringify(wanted).slice(1, -1);
  const has = (text: string): boolean => text.toLowerCase().includes(wanted);
  return (id, columns, failure) => {
    if (has(id) || has(failure)) return 1;
    const lower = columns.toLowerCase();
    if (!lower.includes(inJson) && !lower.includes(wanted)) return 0;
    const read = storedJson(columns, `scene ${id}`) as JsonValue;
    const values = isJsonObject(read) ? Object.values(read) : [];
    return values.some((value) => has(typeof value === 'string' ? value : JSON.stringify(value))) ? 1 : 0;
  };
}

function rowReader(db: Database): (row: SceneRow) => ReportRow {
  const savedOf = savedReader(db);
  const { values = [] } = readBatch(db) ?? {};
  return (row) => {
    const { pictures, files } = row.attempt === null ? { pictures: [], files: [] } : savedOf(row.attempt);
    const isSaved = pictures.length + files.length > 0;
    const of = `scene ${row.id}`;
    const seed = storedSeed(row.seed, of);
    const columns = sentColumns(storedJson(row.columns, of) as JsonObject, seed);
    return {
      id: row.id,
      state: row.state,
      pictures,
      files,
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
      columns: withValues(columns, (pictures[0] ?? files[0])?.output, values),
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
    files: [],
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
