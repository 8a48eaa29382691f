/** A local copy of a shared batch, itself a `checkpoint.sqlite`: reads changes of the batch, and sends those made here. */
import { mkdirSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Postgres, PostgresSession } from '../../../lib/postgres/postgres.ts';
import { type Database, isBusy, openForWriting, UnusableDatabase } from '../../../lib/sqlite/database.ts';
import { checkpointFile } from '../find-loss.ts';
import { checkpointSchema, type Table, tableNames, tables } from '../checkpoint-schema.ts';
import { countAgain, type Followed, followed } from './shared-schema.ts';

type Rows = Record<string, unknown>[];

/** Rows per read: few enough that no statement stays open for long. */
const copiedRows = 5_000;

/** Short tables that are read completely. */
const wholeTables = ['batch', 'runs', 'bad_rows'] as const;

/** Batch that a copy is of, and the version that it has reached. */
interface Mark {
  birth: string;
  version: number;
}

export class Replica {
  /** Folder that contains the copy as `checkpoint.sqlite`. */
  readonly dir: string;
  readonly db: Database;
  readonly #from: Postgres;
  readonly #schema: string;
  #pulling: Promise<void> | undefined;

  /** `dir` belongs to this machine alone, because SQLite files cannot be shared over a network. */
  constructor(dir: string, from: Postgres, schema: string) {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    this.dir = dir;
    this.db = openCopy(dir);
    this.#from = from;
    this.#schema = schema;
  }

  /** Brings the copy up to the present state of the database. Throws the database's errors. */
  async pull(): Promise<void> {
    // A pull that is under way may have read before the change that the caller wants to see.
    await this.#pulling?.catch(() => undefined);
    this.#pulling ??= this.#pull().finally(() => (this.#pulling = undefined));
    return this.#pulling;
  }

  /** Brings the copy up to date within the transaction of `session`, which keeps all others from writing. */
  async pullWithin(session: PostgresSession): Promise<void> {
    const apply = await this.#readRest(session, await this.read(() => this.#mark()));
    await apply();
  }

  close(): void {
    this.db.close();
  }

  async #pull(): Promise<void> {
    for (;;) {
      const birth = await this.#pullPages();
      const before = await this.read(() => this.#mark());
      const apply = await this.#from.transaction(
        // If the database has gone back since, everything has to be read again.
        async (session) =>
          (await this.#read(session)).birth === birth ? this.#readRest(session, before) : undefined,
        'ISOLATION LEVEL REPEATABLE READ READ ONLY',
      );
      if (apply !== undefined) return apply();
    }
  }

  /** Reads most of a long batch in short reads, so that the database can vacuum. Returns the batch's id. */
  async #pullPages(): Promise<string> {
    const mark = await this.#recogniseBatch(this.#from, await this.read(() => this.#mark()));
    const { version } = await this.#read(this.#from);
    const firsts = followed.map((table) => this.#page(table, mark.version, Number.MAX_SAFE_INTEGER, version));
    const isLong = (await Promise.all(firsts)).some((rows) => rows.length === copiedRows);
    if (!isLong) return mark.birth;
    for (const table of followed) {
      let last: Record<string, unknown> | undefined = {
        changed: mark.version,
        [tables[table]]: Number.MAX_SAFE_INTEGER,
      };
      while (last !== undefined) {
        const rows: Rows = await this.#page(table, last['changed'], last[tables[table]], version);
        await this.#apply(mark, () => this.#put(table, rows));
        last = rows.length < copiedRows ? undefined : rows.at(-1);
      }
    }
    await this.#apply(mark, () => this.#advance(version));
    return mark.birth;
  }

  #page(table: Followed, changed: unknown, key: unknown, until: number): Promise<Rows> {
    return this.#from.query(
      `SELECT * FROM ${this.#schema}.${table}
       WHERE (changed, ${tables[table]}) > ($1, $2) AND changed <= $3
       ORDER BY changed, ${tables[table]} LIMIT ${copiedRows}`,
      [changed, key, until],
    );
  }

  /** Reads the rest as of one moment, so that the tables agree. Returns a function that writes it into the copy. */
  async #readRest(session: PostgresSession, before: Mark | undefined): Promise<() => Promise<void>> {
    const mark = await this.#recogniseBatch(session, before);
    const { version } = await this.#read(session);
    const [since, values] = ['WHERE changed > $1', [mark.version]];
    const removed = await session.query<{ place: Followed; key: number; changed: number }>(
      `SELECT place, key, changed FROM ${this.#schema}.removed ${since}`,
      values,
    );
    const whole: [string, Rows][] = [];
    for (const table of wholeTables)
      whole.push([table, await session.query(`SELECT * FROM ${this.#schema}.${table}`)]);
    const changed: [Followed, Rows][] = [];
    for (const table of followed)
      changed.push([table, await session.query(`SELECT * FROM ${this.#schema}.${table} ${since}`, values)]);
    const [account] = await session.query<{ lost: number }>(`SELECT lost FROM ${this.#schema}.account`);
    const put = (now: Mark): void => {
      this.db.prepare('UPDATE commits SET lost_submissions = ?').run(account?.lost ?? 0);
      for (const { place, key, changed: at } of removed)
        this.db.prepare(`DELETE FROM ${place} WHERE ${tables[place]} = ? AND changed <= ?`).run(key, at);
      // Another process of this machine may have read these tables later.
      if (version >= now.version) for (const [table, rows] of whole) this.#replace(table, rows);
      for (const [table, rows] of changed) this.#put(table, rows);
      this.#advance(version);
    };
    return () => this.#apply(mark, put);
  }

  /**
   * Empties the copy if it is of another batch with the same name, or of a state that the database has lost
   * since. `before`: the mark before the database was asked. Rows that another process of this machine adds
   * meanwhile are no sign of a loss.
   */
  async #recogniseBatch(session: PostgresSession, before: Mark | undefined): Promise<Mark> {
    const { birth, version } = await this.#read(session);
    const isOf = (known: Mark | undefined): known is Mark => known?.birth === birth;
    if (isOf(before) && before.version <= version) return before;
    const recognise = this.db.transaction(() => {
      const known = this.#mark();
      if (isOf(known) && (known.version <= version || known.version !== before?.version)) return known;
      for (const table of [...followed, ...wholeTables]) this.db.exec(`DELETE FROM ${table}`);
      const mark = { birth, version: 0 };
      this.db.exec('DELETE FROM copied');
      this.db.prepare('INSERT INTO copied VALUES (@birth, @version)').run(mark);
      return mark;
    });
    return this.whenFree(() => recognise.immediate());
  }

  #mark(): Mark | undefined {
    return this.db.prepare<[], Mark>('SELECT birth, version FROM copied').get();
  }

  #advance(version: number): void {
    this.db.prepare('UPDATE copied SET version = max(version, ?)').run(version);
  }

  async #read(session: PostgresSession): Promise<Mark> {
    const [account] = await session.query<{ birth: string; version: number }>(
      `SELECT birth || coalesce('/' || epoch, '') AS birth, version FROM ${this.#schema}.account`,
    );
    return account ?? { birth: '', version: 0 };
  }

  #replace(table: string, rows: Rows): void {
    const columns = columnsOf(this.db, table);
    // Runs disappear only with a batch that has gone back; one that began meanwhile may be there already.
    if (table !== 'runs') this.db.exec(`DELETE FROM ${table}`);
    const put = this.db.prepare(
      `INSERT OR REPLACE INTO ${table} (${columns.join()}) VALUES (${columns.map(() => '?').join()})`,
    );
    for (const row of rows) put.run(...columns.map((column) => row[column] ?? null));
  }

  /** Keeps rows that are newer, because several processes of this machine may fill the copy at different speeds. */
  #put(table: Followed, rows: Rows): void {
    const columns = [...columnsOf(this.db, table), 'changed'];
    const put = this.db.prepare(
      `INSERT OR REPLACE INTO ${table} (${columns.join()}) SELECT ${columns.map((column) => `@${column}`).join()}
       WHERE NOT EXISTS (SELECT 1 FROM ${table} WHERE ${tables[table]} = @${tables[table]} AND changed > @changed)`,
    );
    // A database of an earlier version lacks some columns.
    const lacking = Object.fromEntries(columns.map((column) => [column, null]));
    for (const row of rows) put.run({ ...lacking, ...row });
  }

  /** Runs `work` unless the copy became one of another batch meanwhile, or was emptied. */
  #apply({ birth, version }: Mark, work: (now: Mark) => void): Promise<void> {
    const apply = this.db.transaction(() => {
      const now = this.#mark();
      if (now?.birth === birth && now.version >= version) work(now);
    });
    return this.whenFree(() => apply.immediate());
  }

  /** Reads the copy as it is. */
  read<T>(read: (db: Database) => T): Promise<T> {
    return this.whenFree(() => read(this.db));
  }

  /** Runs `work` in a transaction on the copy. What it changes stays on this machine. */
  async changeLocally(work: (db: Database) => Promise<void>): Promise<void> {
    await this.whenFree(() => this.db.exec('BEGIN IMMEDIATE'));
    try {
      await work(this.db);
      this.db.exec('COMMIT');
    } finally {
      if (this.db.inTransaction) this.db.exec('ROLLBACK');
    }
  }

  /**
   * Waits, without blocking, while another process of this machine uses the copy. Readers wait too while one of
   * them restores the copy after a crash, or is the last to close it.
   */
  async whenFree<T>(begin: () => T): Promise<T> {
    for (;;) {
      try {
        return begin();
      } catch (error) {
        if (!isBusy(error)) throw error;
      }
      await delay(busyMs);
    }
  }
}

/** Returns the columns that the batch has. A copy also has the version that changed each row. */
export function columnsOf(db: Database, table: string): string[] {
  return db
    .prepare<[], string>(`SELECT name FROM pragma_table_info('${table}') WHERE name <> 'changed'`)
    .pluck()
    .all();
}

/** Opens the copy without syncing, because it can be made again. Replaces a damaged copy. */
function openCopy(dir: string): Database {
  try {
    return prepare(openForWriting(checkpointFile(dir), checkpointSchema));
  } catch (error) {
    if (!(error instanceof UnusableDatabase)) throw error;
    for (const end of ['', '-wal', '-shm']) rmSync(`${checkpointFile(dir)}${end}`, { force: true });
    return prepare(openForWriting(checkpointFile(dir), checkpointSchema, 'known'));
  }
}

const busyMs = 50;
/** Wait in ms while another process prepares the same copy. */
const preparingMs = 30_000;

/** Prepares the tables only once, because a suspended process may hold a lock on the copy. */
function prepare(db: Database): Database {
  db.pragma('synchronous = OFF');
  // Rows come in no particular order.
  db.pragma('foreign_keys = OFF');
  const isPrepared = (): boolean =>
    db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'copied'").get() !== undefined;
  const prepareOnce = db.transaction(() => {
    if (isPrepared()) return;
    db.exec('CREATE TABLE copied (birth TEXT NOT NULL, version INTEGER NOT NULL) STRICT');
    for (const table of followed)
      db.exec(`ALTER TABLE ${table} ADD COLUMN changed INTEGER NOT NULL DEFAULT 0`);
  });
  db.pragma(`busy_timeout = ${preparingMs}`);
  if (!isPrepared()) prepareOnce.immediate();
  db.pragma(`busy_timeout = ${busyMs}`);
  return db;
}

type Changed = Exclude<Table, 'runs'>;
const changedTables = tableNames.filter((table) => table !== 'runs');

/** Rows per statement. */
export const pageRows = 5_000;

/** How often the server gets a sign of life while this program works on a long list. */
const signOfLifeMs = 2_000;

/**
 * Runs `work` in a transaction on the copy, and sends the changes. Nobody else writes to the tables
 * meanwhile: runners go on rendering, and what they record waits. If `work` throws, nothing is changed. The
 * code for local batches can thus change a shared one.
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
