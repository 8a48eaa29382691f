/** Changes a shared batch by the rules of one machine: they work on the local copy, and what they changed is sent. */
import type { Database } from '../../../lib/sqlite/database.ts';
import type { Postgres, PostgresSession } from '../../../lib/postgres/postgres.ts';
import { columnsOf, type Replica } from './replica.ts';
import { tableNames, tables, type Table } from '../schema.ts';
import { countAgain, followed } from './schema.ts';

type Changed = Exclude<Table, 'runs'>;
const changedTables = tableNames.filter((table) => table !== 'runs');

/** Rows a statement. */
export const pageRows = 5_000;

/** So often the server hears that this program lives while it works on a long list. */
const signOfLifeMs = 2_000;

/**
 * Nobody else writes meanwhile: runners go on to render, and what they record waits. `work` runs within a transaction on
 * the copy. Where it throws, nothing is changed.
 */
export async function changeBatch<T>(
  from: Postgres,
  schema: string,
  replica: Replica,
  work: (db: Database) => T | Promise<T>,
): Promise<T> {
  // Most of it before anybody has to wait.
  await replica.pull();
  const { db } = replica;
  try {
    return await from.transaction(async (session) => {
      // In the order of those who write rows: a writer that has `account` already needs the other tables.
      const locked = ['account', 'scenes', 'attempts', 'pictures', 'bad_rows', 'batch'];
      await session.query(
        `LOCK TABLE ${locked.map((table) => `${schema}.${table}`).join()} IN SHARE ROW EXCLUSIVE MODE`,
      );
      await replica.pullWithin(session);
      await session.query(`SELECT ${schema}.next_version()`);
      const alive = setInterval(() => void session.query('SELECT 1').catch(() => undefined), signOfLifeMs);
      try {
        await replica.whenFree(() => db.exec('BEGIN IMMEDIATE'));
        watchChanges(db);
        const result = await work(db);
        await sendChanges(db, session, schema);
        // Nobody could write meanwhile: where nothing was given out yet, that lasts as long again.
        await session.query(
          `UPDATE ${schema}.account SET claims_from = claims_from + (clock_timestamp() - now()) WHERE claims_from IS NOT NULL`,
        );
        return result;
      } finally {
        clearInterval(alive);
      }
    });
  } finally {
    // What was sent comes back with the next pull.
    if (db.inTransaction) db.exec('ROLLBACK');
  }
}

function watchChanges(db: Database): void {
  db.exec('CREATE TEMP TABLE touched (place TEXT NOT NULL, key, PRIMARY KEY (place, key)) WITHOUT ROWID');
  for (const table of changedTables)
    for (const [change, row] of [
      ['INSERT', 'NEW'],
      ['UPDATE', 'NEW'],
      ['DELETE', 'OLD'],
    ])
      db.exec(`CREATE TEMP TRIGGER ${table}_${change} AFTER ${change} ON main.${table}
        BEGIN INSERT OR IGNORE INTO touched VALUES ('${table}', ${row}.${tables[table]}); END`);
}

async function sendChanges(db: Database, session: PostgresSession, schema: string): Promise<void> {
  for (const table of changedTables) {
    const key = tables[table];
    const columns = columnsOf(db, table);
    const page = db.prepare<[unknown], { key: string | number; row: string | null }>(
      `SELECT t.key, CASE WHEN r.${key} IS NOT NULL THEN ${asJson(columns)} END AS row
       FROM temp.touched t LEFT JOIN ${table} r ON r.${key} = t.key
       WHERE t.place = '${table}' AND t.key > ? ORDER BY t.key LIMIT ${pageRows}`,
    );
    const put = `${putStatement(schema, table, columns)}
      ON CONFLICT (${key}) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join()}`;
    let last: string | number = key === 'name' ? '' : Number.MIN_SAFE_INTEGER;
    for (let rows = page.all(last); rows.length > 0; rows = page.all(last)) {
      const gone = rows.filter((each) => each.row === null).map((each) => each.key);
      if (gone.length > 0) await remove(session, schema, table, gone);
      const there = rows.flatMap((each) => each.row ?? []);
      if (there.length > 0) await session.query(put, [`[${there.join()}]`]);
      last = rows.at(-1)?.key ?? last;
    }
  }
  if (db.prepare("SELECT 1 FROM temp.touched WHERE place = 'attempts' LIMIT 1").get() === undefined) return;
  await agreeWithRows(session, schema);
}

/** A row of the table `r`. */
export function asJson(columns: string[]): string {
  return `json_object(${columns.map((column) => `'${column}', r.${column}`).join()})`;
}

/** For a JSON list of them. */
export function putStatement(schema: string, table: string, columns: string[]): string {
  return `INSERT INTO ${schema}.${table} (${columns.join()})
    SELECT ${columns.join()} FROM json_populate_recordset(NULL::${schema}.${table}, $1)`;
}

/** Where attempts and pictures have got their keys elsewhere: what is counted of them, and the next keys. */
export async function agreeWithRows(session: PostgresSession, schema: string): Promise<void> {
  await session.query(countAgain(`${schema}.`));
  for (const table of ['attempts', 'pictures'] as const)
    await goOnFrom(session, schema, table, tables[table]);
}

export async function goOnFrom(
  session: PostgresSession,
  schema: string,
  table: string,
  key: string,
): Promise<void> {
  await session.query(
    `SELECT setval(pg_get_serial_sequence('${schema}.${table}', '${key}'), greatest(max(${key}), 1)) FROM ${schema}.${table}`,
  );
}

async function remove(
  session: PostgresSession,
  schema: string,
  table: Changed,
  gone: (string | number)[],
): Promise<void> {
  const type = table === 'batch' ? 'text' : 'bigint';
  await session.query(`DELETE FROM ${schema}.${table} WHERE ${tables[table]} = ANY($1::${type}[])`, [gone]);
  // A later scene may get the key.
  if (table === 'scenes') await session.query(`DELETE FROM ${schema}.parts WHERE scene = ANY($1)`, [gone]);
  if (!(followed as readonly string[]).includes(table)) return;
  await session.query(
    `INSERT INTO ${schema}.removed (place, key) SELECT $1, unnest($2::bigint[])
     ON CONFLICT (place, key) DO UPDATE SET changed = excluded.changed`,
    [table, gone],
  );
}
