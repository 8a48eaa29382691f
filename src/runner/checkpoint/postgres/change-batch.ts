/** Changes a shared batch with the code for local batches: it works on the local copy, and its changes are sent. */
import type { Database } from '../../../lib/sqlite/database.ts';
import type { Postgres, PostgresSession } from '../../../lib/postgres/postgres.ts';
import { columnsOf, type Replica } from './replica.ts';
import { tableNames, tables, type Table } from '../schema.ts';
import { countAgain, followed } from './schema.ts';

type Changed = Exclude<Table, 'runs'>;
const changedTables = tableNames.filter((table) => table !== 'runs');

/** Rows per statement. */
export const pageRows = 5_000;

/** How often the server gets a sign of life while this program works on a long list. */
const signOfLifeMs = 2_000;

/**
 * Runs `work` in a transaction on the copy, and sends the changes. Nobody else writes to the tables
 * meanwhile: runners go on rendering, and what they record waits. If `work` throws, nothing is changed.
 */
export async function changeBatch<T>(
  from: Postgres,
  schema: string,
  replica: Replica,
  work: (db: Database) => T | Promise<T>,
): Promise<T> {
  // Copies most of the batch before anybody has to wait.
  await replica.pull();
  const { db } = replica;
  try {
    return await from.transaction(async (session) => {
      // Locks in the order of those who write rows: a writer that has `account` already needs the other tables.
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
        // Nobody could write meanwhile, so a ban on claims is extended by the same time.
        await session.query(
          `UPDATE ${schema}.account SET claims_from = claims_from + (clock_timestamp() - now()) WHERE claims_from IS NOT NULL`,
        );
        return result;
      } finally {
        clearInterval(alive);
      }
    });
  } finally {
    // The next pull brings back what was sent.
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

/** Returns SQL that makes JSON of a row of the table `r`. */
export function asJson(columns: string[]): string {
  return `json_object(${columns.map((column) => `'${column}', r.${column}`).join()})`;
}

/** Returns a statement that inserts a JSON list of rows. */
export function putStatement(schema: string, table: string, columns: string[]): string {
  return `INSERT INTO ${schema}.${table} (${columns.join()})
    SELECT ${columns.join()} FROM json_populate_recordset(NULL::${schema}.${table}, $1)`;
}

/** Updates the counts and the next keys, after attempts and pictures got their keys elsewhere. */
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
  // A later scene may get the same key.
  if (table === 'scenes') await session.query(`DELETE FROM ${schema}.parts WHERE scene = ANY($1)`, [gone]);
  if (!(followed as readonly string[]).includes(table)) return;
  await session.query(
    `INSERT INTO ${schema}.removed (place, key) SELECT $1, unnest($2::bigint[])
     ON CONFLICT (place, key) DO UPDATE SET changed = excluded.changed`,
    [table, gone],
  );
}
