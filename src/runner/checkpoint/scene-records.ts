/** Reads recorded scenes: one record each, in list order, or the whole story of one id. */
import { endpointAddress, type Endpoint } from '../core/attempt.ts';
import { failureRules, isFailureKind, type FailureKind } from '../core/failure.ts';
import { withValues } from '../core/seeds-until.ts';
import type { BadRow } from '../core/scene.ts';
import {
  byColumn,
  nothingSent,
  withValuesOf,
  type RecordKey,
  type RecordValues,
} from '../core/record-columns.ts';
import type { SceneRecord } from '../core/scene-record.ts';
import type { AttemptStory, SceneStory, SceneVersion } from '../core/scene-story.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { isJsonObject, type JsonValue } from '../../lib/text/json.ts';
import { readBatch } from './batch-identity.ts';
import { sentBy, storedJson } from './damage.ts';
import { savedReader } from './recorded-pictures.ts';
import type { SceneRow } from './checkpoint-schema.ts';

/** Conditions on records. All that are given must hold. */
export interface RecordChoice {
  /** States of a scene, and `invalid`. */
  states?: string[];
  /** Kinds of failure of scenes that are not saved, and `invalid-row` for bad rows. */
  kinds?: string[];
  /** Text in the id, in a column's value or in the failure's text, regardless of case. */
  search?: string;
}

/** Rows at positions from `from` up to `to`, exclusive, and a range of the withdrawn scenes: `count` -1 means all. */
export interface ListPart {
  from: number;
  to: number;
  withdrawn: { from: number; count: number };
}

const everyRow: ListPart = { from: 0, to: 2 ** 53, withdrawn: { from: 0, count: -1 } };

/**
 * Yields the records that meet all given conditions: first the manifest in order, including its invalid rows,
 * then the withdrawn scenes. Reads in pages, so that no statement stays open. Outside a transaction, a scene
 * that changes meanwhile appears in its old or new state.
 */
export function* readRecords(
  db: Database,
  choice: RecordChoice = {},
  part: ListPart = everyRow,
): Generator<SceneRecord> {
  const toRecord = recordReader(db);
  const scenes = sceneReader(db, choice, part);
  const badRows = readBadRows(db, choice, part);
  let bad = badRows.next();
  for (const scene of scenes.listed()) {
    for (; bad.done !== true && bad.value.position < (scene.position ?? 0); bad = badRows.next())
      yield invalidRecord(bad.value);
    yield toRecord(scene);
  }
  for (; bad.done !== true; bad = badRows.next()) yield invalidRecord(bad.value);
  for (const scene of scenes.withdrawn()) yield toRecord(scene);
}

/** Rows per query. A query that stayed open while a person reads would keep a run from truncating its log. */
const pageRows = 200;

/** Prepares the queries of scenes. The unary plus avoids indexes in another order, which need sorting. */
function sceneReader(
  db: Database,
  { states, kinds, search }: RecordChoice,
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
    db.prepare<[object], FoundRow>(
      `${selectRecords} WHERE ${[among, ...conditions].join(' AND ')} ORDER BY ${key} LIMIT ${pageRows}`,
    );
  return {
    *listed(): Generator<FoundRow> {
      const page = pages('s.position > @after AND s.position < @to', 's.position');
      const after = (position: number) => page.all({ ...values, to, after: position });
      let rows = after(start - 1);
      for (; rows.length > 0; rows = after(rows.at(-1)?.position ?? to)) yield* rows;
    },
    *withdrawn(): Generator<FoundRow> {
      const page = pages('s.scene IN (SELECT value FROM json_each(@keys))', 's.scene');
      // The index has these keys, so no listed scene is read.
      const withdrawn = db.prepare<[ListPart['withdrawn']], number>(
        "SELECT scene FROM scenes WHERE state = 'withdrawn' ORDER BY +scene LIMIT @count OFFSET @from",
      );
      const keys = withdrawn.pluck().all(gone);
      for (let from = 0; from < keys.length; from += pageRows)
        yield* page.all({ ...values, keys: JSON.stringify(keys.slice(from, from + pageRows)) });
    },
  };
}

/** Maximum characters of an input that is read. Longer inputs usually contain pictures. */
const maxInputLength = 65_536;

/** SQL for record columns that are not columns of `attempts`. */
const counted: Partial<Record<RecordKey, string>> = {
  attempts: attemptCount("c.state <> 'refused'"),
  unanswered: attemptCount("c.state = 'unanswered'"),
  expired: attemptCount("c.state = 'expired'"),
  statedCost: 'a.cost',
  savedAt: 'a.settled_at',
};

function attemptCount(which: string): string {
  const all = `(SELECT count(*) FROM attempts c WHERE c.scene = s.scene AND ${which})`;
  return `CASE s.attempts WHEN 0 THEN 0 WHEN 1 THEN ${which.replace('c.', 'a.')} ELSE ${all} END`;
}

const recordValues = Object.entries(byColumn('column', (key) => key)).map(
  ([column, key]) => `${counted[key] ?? `a.${column}`} AS ${key}`,
);

/** Selects each scene with its saved or latest attempt. Only scenes with several attempts need the choice. */
const selectRecords = `
  SELECT ${recordValues.join()}, s.id, s.state, s.source, coalesce(s.failure_kind, a.failure_kind) AS failureKind,
         coalesce(s.failure_text, a.failure_text) AS failureText, s.position, s.columns,
         CASE WHEN length(s.input) <= ${maxInputLength} THEN s.input END AS input, s.seed,
         a.attempt, a.cost_from AS costFrom, a.base_url AS baseUrl, a.endpoint_id AS endpointId, a.version
  FROM scenes s LEFT JOIN attempts a ON a.scene = s.scene AND a.number = CASE WHEN s.attempts <= 1 THEN s.attempts ELSE
    (SELECT number FROM attempts l WHERE l.scene = s.scene
     ORDER BY EXISTS (SELECT 1 FROM pictures p WHERE p.attempt = l.attempt) DESC, l.state = 'refused', l.number DESC LIMIT 1)
    END`;

type FoundRow = RecordValues &
  Pick<SceneRow, 'id' | 'state' | 'source' | 'position' | 'columns' | 'seed'> & {
    failureKind: FailureKind | null;
    failureText: string | null;
    input: string | null;
    attempt: number | null;
    costFrom: string | null;
    baseUrl: string | null;
    endpointId: string | null;
    version: Endpoint['version'] | null;
  };

function recordReader(db: Database): (row: FoundRow) => SceneRecord {
  const savedOf = savedReader(db);
  const { values = [], pricing } = readBatch(db) ?? {};
  return (row) => {
    const { attempt, baseUrl, endpointId, version } = row;
    const { pictures, files } = attempt === null ? { pictures: [], files: [] } : savedOf(attempt);
    const { columns, input } = sentBy(row);
    const isSent = baseUrl !== null && endpointId !== null && version !== null;
    // Spreading the rest of the row makes so much garbage that a list takes half as long again.
    const record = withValuesOf(row, nothingKnown);
    // A price from another path than that of the batch does not count.
    if (row.costFrom !== pricing?.at) record.statedCost = null;
    record.id = row.id;
    record.state = row.state;
    record.pictures = pictures;
    record.files = files;
    record.endpoint = isSent ? endpointAddress({ baseUrl, id: endpointId, version }) : null;
    if (pictures.length + files.length === 0) record.savedAt = null;
    record.failureKind = row.failureKind;
    record.failureText = row.failureText;
    record.source = row.source;
    record.columns = withValues(columns, (pictures[0] ?? files[0])?.output, values);
    record.input = input;
    return record;
  };
}

const nothingKnown: SceneRecord = {
  ...nothingSent,
  id: null,
  state: 'invalid',
  pictures: [],
  files: [],
  endpoint: null,
  failureKind: null,
  failureText: null,
  source: '',
  columns: {},
  input: null,
};

type StoredBadRow = Omit<BadRow, 'id'> & { id: string | null };

function* readBadRows(
  db: Database,
  { states, kinds, search }: RecordChoice,
  { from, to }: ListPart,
): Generator<StoredBadRow> {
  if (states?.includes('invalid') === false || kinds?.includes('invalid-row') === false) return;
  const page = db.prepare<[number, number], StoredBadRow>(
    `SELECT * FROM bad_rows WHERE position > ? AND position < ? ORDER BY position LIMIT ${pageRows}`,
  );
  const has = search === undefined ? () => 1 : hasText(search);
  let after = from - 1;
  for (let rows = page.all(after, to); rows.length > 0; rows = page.all(after, to)) {
    for (const row of rows) if (has(row.id ?? '', '{}', row.problem) === 1) yield row;
    after = rows.at(-1)?.position ?? Infinity;
  }
}

function invalidRecord({ source, id, problem }: StoredBadRow): SceneRecord {
  return { ...nothingKnown, id, failureKind: 'invalid-row', failureText: problem, source };
}

type HasText = (id: string, columns: string, failure: string) => 0 | 1;

/** Returns a search function that parses the JSON only of rows that may contain the text. */
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

/** Yields the ids of all scenes, also of withdrawn ones. An edited scene comes once for each version. */
export function* readSceneIds(db: Database): Generator<string> {
  yield* db.prepare<[], string>('SELECT id FROM scenes').pluck().iterate();
}

/** Returns all versions of a scene, and the bad rows with its id. Undefined if there are none. */
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

function readVersion(db: Database, row: SceneRow): SceneVersion {
  return {
    state: row.state,
    fingerprint: row.fingerprint,
    source: row.source,
    ...sentBy(row),
    failureKind: row.failure_kind,
    failureText: row.failure_text,
    dueAt: row.due_at,
    ahead: row.state === 'waiting' && row.due_at === 0 ? countAhead(db, row.position ?? 0) : 0,
    deaths: row.deaths,
    attempts: readAttempts(db, row),
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

const selectAttempts = `
  SELECT attempt, base_url AS baseUrl, endpoint_id AS id, version, number, run, state, job_id AS jobId, status,
         intended_at AS intendedAt, submitted_at AS submittedAt, executing_at AS executingAt, completed_at AS completedAt,
         settled_at AS settledAt, delay_time_ms AS delayTimeMs, execution_time_ms AS executionTimeMs, cost, polls,
         failure_kind AS failureKind, failure_text AS failureText
  FROM attempts WHERE scene = ? ORDER BY number`;

type FoundAttempt = Omit<AttemptStory, 'endpoint' | 'isCounted' | 'pictures' | 'files'> &
  Endpoint & { attempt: number };

function readAttempts(db: Database, { scene, counted_from: countedFrom }: SceneRow): AttemptStory[] {
  const savedOf = savedReader(db);
  const rows = db.prepare<[number], FoundAttempt>(selectAttempts).all(scene);
  return rows.map(({ attempt, number, run, state, baseUrl, id, version, ...found }) => {
    const { failureKind: kind } = found;
    const isPutBack = kind !== null && isFailureKind(kind) && failureRules[kind].next === 'put-back';
    const isCounted = number > countedFrom && !isPutBack;
    const endpoint = { baseUrl, id, version };
    return { number, run, state, endpoint, ...found, isCounted, ...savedOf(attempt) };
  });
}
