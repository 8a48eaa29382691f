/** Rows of the report by state, kind of failure or text, a few at a time, though a run may be writing. */
import { isJsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { ReportRow } from '../core/report-row.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { storedJson } from './damage.ts';
import { inOrder, sceneColumns, type BadRowRow, type SceneRow } from './read-rows.ts';

/** What is left out does not matter; what is named must all hold. */
export interface RowChoice {
  /** States of a scene, and `invalid`. */
  states?: string[];
  /** Kinds of failure, and `invalid-row`. */
  kinds?: string[];
  /** Stands in the id, a column's value or the words of the failure, in whatever case. */
  search?: string;
}

/** Read at a time: who stayed in one place while the reader of a terminal thinks would keep a run's journal from being tidied. */
const pageRows = 500;

/** In the order of the report. Rows that change meanwhile may come as they were or as they are. */
export function* findRows(db: Database, choice: RowChoice): Generator<ReportRow> {
  const find = finder(db, choice);
  yield* inOrder(db, {
    listed: () => find('s.position', 's.position IS NOT NULL'),
    bad: () => findBadRows(db, choice),
    withdrawn: () => find('s.scene', "s.state = 'withdrawn'"),
  });
}

type Find = (key: 's.position' | 's.scene', among: string) => Generator<SceneRow & { scene: number }>;

/** Walks in the order of a key; a plus keeps SQLite from an index whose order would have to be sorted for every page. */
function finder(db: Database, { states, kinds, search }: RowChoice): Find {
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
  return function* find(key, among) {
    const where = [among, `${key} > @after`, ...conditions].join(' AND ');
    const page = db.prepare<[object], SceneRow & { scene: number }>(
      `${sceneColumns(db)} WHERE ${where} ORDER BY ${key} LIMIT ${pageRows}`,
    );
    let after = -1;
    for (let rows = page.all({ ...values, after }); rows.length > 0; rows = page.all({ ...values, after })) {
      yield* rows;
      const last = rows.at(-1);
      after = (key === 's.scene' ? last?.scene : last?.position) ?? Infinity;
    }
  };
}

function* findBadRows(db: Database, { states, kinds, search }: RowChoice): Generator<BadRowRow> {
  if (states?.includes('invalid') === false || kinds?.includes('invalid-row') === false) return;
  const page = db.prepare<[number], BadRowRow>(
    `SELECT * FROM bad_rows WHERE position > ? ORDER BY position LIMIT ${pageRows}`,
  );
  const has = search === undefined ? () => 1 : hasText(search);
  let after = -1;
  for (let rows = page.all(after); rows.length > 0; rows = page.all(after)) {
    for (const row of rows) if (has(row.id ?? '', '{}', row.problem) === 1) yield row;
    after = rows.at(-1)?.position ?? Infinity;
  }
}

type HasText = (id: string, columns: string, failure: string) => 0 | 1;

/** Most rows are told by their JSON as it stands; only what might hold the text is read. */
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
