/** Opens SQLite files so that a commit is on disk when it returns, and upgrades their schema. */
import { chmodSync, closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';
import { assertPlainFile } from '../files/temporary-files.ts';

export type Database = BetterSqlite3.Database;

export type Statement<Values extends unknown[]> = BetterSqlite3.Statement<Values>;

export interface Schema {
  /** Marks a file as this program's (`PRAGMA application_id`): any 32-bit integer. */
  applicationId: number;
  /** Statements that lead from version n to n + 1. The version of a file is `PRAGMA user_version`. */
  migrations: readonly string[];
  /** True if migrations only add tables and columns, so a reader can see an earlier file in the newest form. */
  onlyAdds?: true;
  /** Sentence without a full stop that says what to do about a damaged file. */
  advice?: string;
}

/** Thrown if a file cannot be used: foreign, written by a newer version, or damaged. */
export class UnusableDatabase extends Error {}

/**
 * Opens or creates a database for writing, readable only by its owner: WAL, `synchronous=FULL`, foreign keys,
 * newest schema. The pages of a file that is `known` to be whole are not checked. Nothing is checked in a
 * `sealed` file, which has not changed by a byte since this program closed it. Throws `UnusableDatabase` for
 * a file that must not be changed. SQLite's own errors pass through.
 */
export function openForWriting(path: string, schema: Schema, state?: 'known' | 'sealed'): Database {
  assertPlainFiles(path);
  const isNew = !existsSync(path);
  if (isNew) makePrivateFile(path);
  else if (state !== 'sealed') assertConstraints(path, schema);
  const db = openSqlite(path);
  try {
    if (!isNew) {
      assertOurs(db, path, schema);
      if (state === undefined) assertWhole(db, path, schema, 'quick_check');
      restrictToOwner(path);
    }
    // The system caches pages too. A larger cache is no faster, and its memory is never released.
    db.pragma('cache_size = -4000');
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('foreign_keys = ON');
    // Keeps everything in the log while other connections may still read the old form.
    const checkpoints = Number(db.pragma('wal_autocheckpoint', { simple: true }));
    db.pragma('wal_autocheckpoint = 0');
    migrate(db, schema);
    db.pragma(`wal_autocheckpoint = ${checkpoints}`);
    // better-sqlite3 falls back to NORMAL at the first write in WAL mode unless FULL was set, so this is read back.
    if (db.pragma('synchronous', { simple: true }) !== 2)
      throw new Error('SQLite did not keep synchronous=FULL');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Opens an existing database for reading beside a writer, without migrating it. First undoes the journal of a crash
 * during the creation of the file, if there is one. Returns undefined if the file has no tables yet. Throws
 * `UnusableDatabase`, with `whole` also for damage that only a full check finds. SQLite's own errors pass through, also
 * if the file does not exist.
 */
export function openForReading(path: string, schema: Schema, state?: 'whole'): Database | undefined {
  rollBack(path, schema);
  const db = openSqlite(path, { readonly: true, fileMustExist: true });
  try {
    const version = assertOurs(db, path, schema);
    if (state === 'whole') assertWhole(db, path, schema, 'integrity_check');
    if (hasTables(db)) {
      // The transaction shows one state of the tables, although a writer may be migrating them.
      if (schema.onlyAdds === true && version < schema.migrations.length)
        db.transaction(() => showAsNewest(db, schema))();
      return db;
    }
  } catch (error) {
    db.close();
    throw error;
  }
  db.close();
  return undefined;
}

/**
 * Adds what earlier tables lack, for this connection alone, by temporary views that SQLite finds first. An
 * earlier program may go on writing.
 */
function showAsNewest(db: Database, { migrations }: Schema): void {
  if (versionOf(db) === migrations.length) return;
  const newest = new Sqlite(':memory:');
  runMigrations(newest, migrations);
  const tables = newest.prepare<[], { name: string; sql: string }>(
    "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  );
  for (const { name, sql } of tables.all()) {
    const own = new Set(columnsOf(db, name).map((column) => column.name));
    const lacking = columnsOf(newest, name).filter((column) => !own.has(column.name));
    if (own.size === 0) {
      db.exec(sql.replace('CREATE TABLE', 'CREATE TEMP TABLE'));
      const add = db.prepare(`INSERT INTO temp.${name} VALUES (${lacking.map(() => '?').join()})`);
      for (const row of newest.prepare<[], unknown[]>(`SELECT * FROM ${name}`).raw().all()) add.run(row);
    } else if (lacking.length > 0) {
      const added = lacking.map((column) => `${column.initial ?? 'NULL'} AS ${column.name}`).join();
      db.exec(`CREATE TEMP VIEW ${name} AS SELECT *, ${added} FROM main.${name}`);
    }
  }
  newest.close();
}

function columnsOf(db: Database, table: string): { name: string; initial: string | null }[] {
  return db
    .prepare<[string], { name: string; initial: string | null }>(
      "SELECT name, dflt_value AS initial FROM pragma_table_info(?, 'main')",
    )
    .all(table);
}

/** Undoes the journal of a crash during the creation of the file, which a read-only connection cannot do. */
function rollBack(path: string, schema: Schema): void {
  assertPlainFiles(path);
  if (!existsSync(`${path}-journal`)) return;
  const db = openSqlite(path, { fileMustExist: true });
  try {
    readOrRefuse(path, schema, () => hasTables(db));
  } finally {
    db.close();
  }
}

/** Throws if a database or a file that belongs to it is not a plain file. */
export function assertPlainFiles(path: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) assertPlainFile(path + end);
}

/** Returns the version of the file, which another program may raise at any moment. */
function assertOurs(db: Database, path: string, schema: Schema): number {
  const { applicationId, version, isEmpty } = readHeader(db, path, schema);
  if (isEmpty) return version;
  if (applicationId !== schema.applicationId) {
    throw new UnusableDatabase(
      `${path} is a SQLite file of another program; it was not changed. Move it away, or choose another folder`,
    );
  }
  if (version > schema.migrations.length) {
    throw new UnusableDatabase(
      `${path} was written by a newer version of nightrender (format ${version}, this one knows ${schema.migrations.length}); it was not changed. Use that version or a newer one`,
    );
  }
  return version;
}

interface Header {
  applicationId: unknown;
  version: number;
  isEmpty: boolean;
}

function readHeader(db: Database, path: string, schema: Schema): Header {
  const readAll = (): Header => {
    const applicationId = applicationIdOf(db);
    const version = versionOf(db);
    return { applicationId, version, isEmpty: applicationId === 0 && version === 0 && !hasTables(db) };
  };
  return readOrRefuse(path, schema, () => {
    if (applicationIdOf(db) === schema.applicationId)
      return { applicationId: schema.applicationId, version: versionOf(db), isEmpty: false };
    // Reads everything as of one moment, because another program may be creating the database.
    return db.transaction(readAll)();
  });
}

function applicationIdOf(db: Database): unknown {
  return db.pragma('application_id', { simple: true });
}

function assertWhole(
  db: Database,
  path: string,
  schema: Schema,
  check: 'quick_check' | 'integrity_check',
): void {
  // Constraints are checked at every write. Checking them again in every row takes as long as everything else.
  if (check === 'quick_check') db.pragma('ignore_check_constraints = ON');
  const isWhole = (found: unknown): boolean => found === 'ok';
  readOrRefuse(path, schema, () => db.pragma(`${check}(1)`, { simple: true }), isWhole);
  db.pragma('ignore_check_constraints = OFF');
}

/**
 * Checks the constraints in an empty copy of the tables: a damaged one would make a writer fail, and the
 * log would still be written into the file at close.
 */
function assertConstraints(path: string, schema: Schema): void {
  const texts = textsOfSchema(path);
  readOrRefuse(path, schema, () => {
    const tables = new Sqlite(':memory:');
    for (const text of texts) tables.exec(text);
    tables.close();
  });
}

function textsOfSchema(path: string): string[] {
  try {
    const db = openSqlite(path, { readonly: true, fileMustExist: true });
    try {
      const own =
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid";
      return db.prepare<[], string>(own).pluck().all();
    } finally {
      db.close();
    }
  } catch {
    return [];
  }
}

/** Turns answers that mean damage into `UnusableDatabase`. Tries twice, in case the disk failed once. */
function readOrRefuse<T>(
  path: string,
  schema: Schema,
  read: () => T,
  isWhole: (found: T) => boolean = () => true,
): T {
  for (let tries = 1; ; tries++) {
    try {
      const found = read();
      if (isWhole(found)) return found;
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
    assertReadable(path);
    if (tries === 2) throw damaged(path, schema);
  }
}

/** Open files by path. Closing one would drop the locks of all connections of this process to the file. */
const openFiles = new Map<string, number>();

/** Throws the system's error if the disk cannot read the database or its log, to distinguish that from damage. */
export function assertReadable(path: string): void {
  const chunk = Buffer.allocUnsafe(1024 * 1024);
  for (const file of [path, `${path}-wal`].filter((each) => existsSync(each))) {
    const open = openFiles.get(file) ?? openSync(file, 'r');
    openFiles.set(file, open);
    for (let at = 0, read = -1; read !== 0; at += read) read = readSync(open, chunk, 0, chunk.length, at);
  }
}

/** True if the error means damage, such as a broken schema, or an index that breaks a constraint. */
export function isDamage(error: unknown): boolean {
  return (
    error instanceof Sqlite.SqliteError &&
    /^SQLITE_(NOTADB|CORRUPT|ERROR$|FORMAT|MISMATCH|CONSTRAINT)/.test(error.code)
  );
}

const usualAdvice = 'Put a copy of it back, or move it away to begin anew';

function damaged(path: string, { advice = usualAdvice }: Schema): UnusableDatabase {
  return new UnusableDatabase(`${path} is damaged, or not an SQLite file; it was not changed. ${advice}`);
}

/** True if another program has locked the database. */
export function isBusy(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY');
}

function hasTables(db: Database): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() !== undefined;
}

function versionOf(db: Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

function migrate(db: Database, schema: Schema): void {
  if (versionOf(db) === schema.migrations.length) return;
  db.transaction(() => {
    // Another program may have migrated the file meanwhile.
    const version = versionOf(db);
    db.pragma(`application_id = ${schema.applicationId}`);
    runMigrations(db, schema.migrations.slice(version));
    db.pragma(`user_version = ${schema.migrations.length}`);
  }).immediate();
}

/** Runs migrations in unsafe mode, because some edit the text of a table. */
export function runMigrations(db: Database, migrations: readonly string[]): void {
  db.unsafeMode(true);
  for (const statements of migrations) db.exec(statements);
  db.unsafeMode(false);
}

const ownerOnly = 0o600;

/** Creates an empty file if there is none. Does not open an existing one, because closing it would drop its locks. */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', ownerOnly));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Removes other users' access to a database that something else created, such as a restored copy. */
function restrictToOwner(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats !== undefined && (stats.mode & 0o077) !== 0) chmodSync(file, ownerOnly);
  }
}

const load = createRequire(import.meta.url);

/**
 * Returns the release of better-sqlite3 that works with this version of Node. Release 13 ends Node 20 with a
 * segmentation fault. Release 12, compiled for Node 24.19 or later, aborts the process when it frees a
 * statement (https://github.com/nodejs/node/issues/65446). npm installs the one for its Node. A checkout on
 * Node 20 has both, because the lock file names one. Node may have changed since.
 */
function packageOfThisNode(): string {
  const needed = Number.parseInt(process.versions.node) < 22 ? '12.' : '13.';
  const found = ['better-sqlite3', 'better-sqlite3-12'].find((name) => releaseOf(name).startsWith(needed));
  if (found !== undefined) return found;
  // An installation by an earlier version of Node or of this program keeps its release.
  const install = needed === '12.' ? 'npm install better-sqlite3@12.9.0' : 'npm update better-sqlite3';
  throw new Error(
    `better-sqlite3 ${needed}x, which Node ${process.versions.node} needs, is not installed (outside a checkout: ${install})`,
  );
}

/** Returns '' if the package is not installed. */
function releaseOf(name: string): string {
  try {
    return (load(`${name}/package.json`) as { version: string }).version;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return '';
    throw error;
  }
}

export const packageName = packageOfThisNode();
export const Sqlite = load(packageName) as typeof BetterSqlite3;
// Release 12 loads its binary with the first database. If the binary is missing, this fails before anything else.
new Sqlite(':memory:').close();

/** Opens a file. Throws the system's error if its folder went away, for which the package throws a `TypeError`. */
export function openSqlite(path: string, options?: BetterSqlite3.Options): BetterSqlite3.Database {
  try {
    return new Sqlite(path, options);
  } catch (error) {
    if (error instanceof TypeError) statSync(dirname(path));
    throw error;
  }
}
