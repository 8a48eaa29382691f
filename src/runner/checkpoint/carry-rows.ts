/** Carries the rows of a damaged checkpoint that can be read and hold together over into a new one. */
import type { Database } from '../../lib/sqlite/database.ts';
import { type Reached, readCommits } from './commit-mark.ts';
import { asDamage } from './damage.ts';
import { damagedRows } from './damaged-rows.ts';
import { tableNames, type Table } from './schema.ts';

/** Returns how many submissions of those that `mark` knows, or that are seen, are lost; undefined where no scene is left. */
export function carryRows(from: Database, to: Database, mark: Reached): number | undefined {
  return to.transaction(() => {
    const before = readableCommits(from);
    const highest = Math.max(...tableNames.map((table) => carryTable(from, to, table)));
    // Both count those that were lost before, too.
    const submissions = Math.max(mark.attempts, highest - before.unused_keys + before.lost_submissions);
    const drop = {
      scenes: `DELETE FROM pictures WHERE attempt IN (SELECT attempt FROM attempts WHERE scene = @key);
        DELETE FROM attempts WHERE scene = @key; DELETE FROM scenes WHERE scene = @key`,
      attempts: 'DELETE FROM attempts WHERE attempt = @key',
    };
    for (const { table, key } of damagedRows(to)) to.exec(drop[table].replaceAll('@key', String(key)));
    to.exec(agree);
    const count = (table: Table): number =>
      to.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
    if (count('scenes') === 0) return undefined;
    const lost = submissions - count('attempts');
    const last = to.prepare<[], number>('SELECT coalesce(max(attempt), 0) FROM attempts').pluck().get() ?? 0;
    to.prepare('UPDATE commits SET number = ?, lost_submissions = ?, unused_keys = ?').run(
      Math.max(before.number, mark.commit) + 1,
      lost,
      last - count('attempts'),
    );
    return lost - before.lost_submissions;
  })();
}

/** Makes scenes and attempts agree; comparing the list again restores the scenes that are lost. */
const agree = `
  UPDATE scenes SET attempts = max(attempts, (SELECT coalesce(max(number), 0) FROM attempts a WHERE a.scene = scenes.scene));
  UPDATE scenes SET state = 'waiting', due_at = 0
    WHERE state = 'active' AND NOT EXISTS (SELECT 1 FROM attempts a
        WHERE a.scene = scenes.scene AND a.state IN ('intended', 'submitted'))
      OR state = 'saved' AND NOT EXISTS (SELECT 1 FROM attempts a JOIN pictures USING (attempt) WHERE a.scene = scenes.scene);
  DELETE FROM batch WHERE name = 'compared'`;

/** Returns the highest key of an attempt; 0 of another table. */
function carryTable(from: Database, to: Database, table: Table): number {
  const width = to.prepare(`SELECT 1 FROM pragma_table_info('${table}')`).all().length;
  const insert = to.prepare(`INSERT INTO ${table} VALUES (${Array<string>(width).fill('?').join()})`);
  // Attempts are kept even where their run's row is lost.
  const stub = to.prepare(
    "INSERT OR IGNORE INTO runs (run, pid, host, program, started_at) VALUES (?, 0, '', '', 0)",
  );
  let last = 0;
  for (const [key, ...row] of readableRows(from, table)) {
    if (table === 'attempts') last = Number(key);
    ifSound(() => {
      if (table === 'attempts') stub.run(row[3]);
      insert.run(...row);
    });
  }
  return last;
}

const pageRows = 200;
/** In a row: more than a damaged part has as a rule, and few enough to be tried in seconds. */
const maxUnreadable = 10_000;

/** Each with its key before it. Where a page of the file is damaged, its rows are tried one by one. */
function* readableRows(from: Database, table: Table): Generator<unknown[]> {
  const all = `SELECT rowid, * FROM ${table} NOT INDEXED WHERE rowid`;
  const page = ifSound(() =>
    from.prepare<[number], unknown[]>(`${all} > ? ORDER BY rowid LIMIT ${pageRows}`).raw(),
  );
  const one = ifSound(() => from.prepare<[number], unknown[]>(`${all} = ?`).raw());
  if (page === undefined || one === undefined) return;
  let key = 0;
  for (let unreadable = 0; unreadable < maxUnreadable;) {
    const rows = ifSound(() => page.all(key));
    if (rows?.length === 0) return;
    const next = rows ?? [ifSound(() => one.get(key + 1)) ?? []];
    // A damaged page may return any key, or the same one again.
    key = rows === undefined ? key + 1 : Math.max(key + 1, Number(rows.at(-1)?.[0]));
    const found = next.filter((row) => row.length > 0);
    unreadable = found.length > 0 ? 0 : unreadable + 1;
    yield* found;
  }
}

function readableCommits(from: Database): ReturnType<typeof readCommits> {
  return ifSound(() => readCommits(from)) ?? { number: 0, lost_submissions: 0, unused_keys: 0 };
}

/** Undefined where it is damaged. */
function ifSound<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (asDamage(error) === undefined) throw error;
    return undefined;
  }
}
