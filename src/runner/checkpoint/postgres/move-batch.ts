/** Moves a batch from its own file to a database and back, completely or not at all. Never are both usable at once. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { type Postgres, type PostgresSession, quoted } from '../../../lib/postgres/postgres.ts';
import { openForReading, openForWriting, type Database } from '../../../lib/sqlite/database.ts';
import type { SavedSettlement } from '../../core/attempt.ts';
import { nameKey } from '../../core/naming.ts';
import { syncFolder } from '../../files/folders.ts';
import { BatchInUse } from '../batch-lock.ts';
import {
  checkpointFile,
  copiesFolder,
  hasLog,
  markFile,
  movedFile,
  readLostSubmissions,
} from '../find-loss.ts';
import { checkpointSchema, tableNames, tables, type Table } from '../checkpoint-schema.ts';
import { agreeWithRows, asJson, columnsOf, goOnFrom, pageRows, putStatement, Replica } from './replica.ts';
import { adoptDead } from './lease.ts';
import {
  lockSchema,
  lookUpSchema,
  makeTables,
  markSchema,
  UnusableSchema,
  versionOf,
  type Moving,
} from './shared-schema.ts';
import { hasRunners } from './shared-batch.ts';

interface Place {
  db: Postgres;
  name: string;
}

export type Counts = Record<Table, number>;

/** A batch on its way between its own file and a schema of a database. */
export class MovingBatch {
  readonly #place: Place;

  constructor(place: Place) {
    this.#place = place;
  }

  /** Copies `source` to the database, closed until `openArrived`. Replaces the copy of an interrupted move. */
  async copyThere(source: Database): Promise<void> {
    const { db, name } = this.#place;
    const schema = quoted(name);
    await db.transaction(async (session) => {
      await lockSchema(session, name);
      const found = await lookUpSchema(session, name);
      if (found?.moving === 'arriving') await session.query(`DROP SCHEMA ${schema} CASCADE`);
      else if (found !== undefined) throw new UnusableSchema(takenText(name, found.moving));
      await makeTables(session, name);
      await session.query(`SELECT ${schema}.next_version()`);
      for (const table of tableNames) await sendTable(source, session, schema, table);
      await session.query(
        `INSERT INTO ${schema}.runners (run, lease_until) SELECT max(run), '-infinity' FROM ${schema}.runs HAVING max(run) IS NOT NULL`,
      );
      await session.query(
        `UPDATE ${schema}.attempts SET owner = (SELECT max(run) FROM ${schema}.runs)
         WHERE state IN ('intended', 'submitted') OR writing IS NOT NULL`,
      );
      await keepNames(source, session, schema);
      await session.query(`UPDATE ${schema}.account SET lost = $1`, [readLostSubmissions(source)]);
      await agreeWithRows(session, schema);
      await goOnFrom(session, schema, 'runs', 'run');
      await markSchema(session, name, 'arriving');
    });
  }

  /** Ends the move to the database. Compares the copy with the renamed file, and opens it for work. */
  async openArrived(dir: string): Promise<Counts> {
    const { db, name } = this.#place;
    const path = checkpointFile(dir);
    for (const left of [`${path}-wal`, `${path}-shm`, markFile(dir), join(dir, '.in-hand')])
      rmSync(left, { force: true });
    return db.transaction(async (session) => {
      await lockSchema(session, name);
      await upgradeMoving(session, name);
      const counts = assertSame(countFile(movedFile(dir)), await countThere(session, quoted(name)), name);
      await markSchema(session, name);
      return counts;
    });
  }

  /** Begins the move back and closes the batch in the database. Work of dead runners counts as crashes. */
  async closeThere(dir: string, advice: string): Promise<void> {
    const { db, name } = this.#place;
    const schema = quoted(name);
    await db.transaction(async (session) => {
      await lockSchema(session, name);
      await upgradeMoving(session, name);
      if ((await lookUpSchema(session, name))?.moving === 'moved') return;
      const isThere = (await versionOf(session, name)) !== undefined;
      const [known] = isThere ? await session.query(`SELECT birth FROM ${schema}.account`) : [];
      if (known === undefined || known['birth'] !== birthOfCopy(dir))
        throw new UnusableSchema(strangerText(name));
      // Whoever is about to join waits, and then finds no such table.
      await session.query(`LOCK TABLE ${schema}.runners IN ACCESS EXCLUSIVE MODE`);
      if (await hasRunners({ db: session, schema })) throw new BatchInUse(undefined, advice);
      await adoptDead(session, schema, 0);
      await session.query(`ALTER TABLE ${schema}.runners RENAME TO runners_before_move`);
      await markSchema(session, name, 'moved');
    });
  }

  /** Ends the move back. Calls `prepare` when everything is copied, before a run can begin with the file. */
  async takeBack(dir: string, prepare: (db: Database) => Promise<void>): Promise<Counts> {
    const { db, name } = this.#place;
    const path = checkpointFile(dir);
    const coming = `${path}.arriving`;
    const replica = new Replica(copyOf(dir), db, quoted(name));
    try {
      await replica.pull();
      for (const end of ['', '-wal', '-shm']) rmSync(coming + end, { force: true });
      fillFile(coming, replica.db);
      const counts = assertSame(countFile(coming), await countThere(db, quoted(name)), name);
      await prepare(replica.db);
      renameSync(coming, path);
      await syncFolder(dirname(path));
      return counts;
    } finally {
      replica.close();
    }
  }
}

function takenText(name: string, moving: Moving | undefined): string {
  const what = moving === 'moved' ? 'the leftovers of a batch that was moved away' : 'a batch';
  return `the database has ${what} under this name (schema ${name}); choose another name (?batch= in the address), or remove it: DROP SCHEMA ${name} CASCADE`;
}

async function sendTable(
  source: Database,
  session: PostgresSession,
  schema: string,
  table: Table,
): Promise<void> {
  const key = tables[table];
  const columns = columnsOf(source, table);
  const page = source.prepare<[unknown], { key: string | number; row: string }>(
    `SELECT ${key} AS key, ${asJson(columns)} AS row FROM ${table} r WHERE ${key} > ? ORDER BY ${key} LIMIT ${pageRows}`,
  );
  const put = putStatement(schema, table, columns);
  let last: string | number = key === 'name' ? '' : Number.MIN_SAFE_INTEGER;
  for (let rows = page.all(last); rows.length > 0; rows = page.all(last)) {
    await session.query(put, [`[${rows.map(({ row }) => row).join()}]`]);
    last = rows.at(-1)?.key ?? last;
  }
}

/** Reserves the names of pictures that were being written when the last run crashed. */
async function keepNames(source: Database, session: PostgresSession, schema: string): Promise<void> {
  const unfinished = source.prepare<[], { attempt: number; writing: string }>(
    'SELECT attempt, writing FROM attempts WHERE writing IS NOT NULL',
  );
  for (const { attempt, writing } of unfinished.all())
    for (const { file } of (JSON.parse(writing) as SavedSettlement).pictures)
      await session.query(
        `INSERT INTO ${schema}.names VALUES ($1, $2) ON CONFLICT (file_key) DO UPDATE SET attempt = excluded.attempt`,
        [nameKey(file), attempt],
      );
}

/** Renames the file, so that no run can begin with it. */
export async function setFileAside(dir: string): Promise<void> {
  renameSync(checkpointFile(dir), movedFile(dir));
  await syncFolder(dir);
}

function strangerText(name: string): string {
  return `nothing on this machine shows that the batch in schema ${name} is the one of this folder. Is the address the one that checkpoint: had, with its ?batch=? If so, set it again, look at the batch once with \`nightrender status <pipeline>\`, and move it then`;
}

const copyOf = (dir: string): string => join(copiesFolder(dir), hostname());

/** Returns the identifier of the batch that this machine has a copy of. */
function birthOfCopy(dir: string): string | undefined {
  const path = checkpointFile(copyOf(dir));
  const db = existsSync(path) ? openForReading(path, checkpointSchema) : undefined;
  try {
    // The identifier may be followed by an epoch.
    return db?.prepare<[], string>('SELECT birth FROM copied').pluck().get()?.split('/')[0];
  } finally {
    db?.close();
  }
}

/** Fills a new file from the copy. The rows are on disk when it returns. */
function fillFile(path: string, copy: Database): void {
  const db = openForWriting(path, checkpointSchema);
  try {
    db.prepare('ATTACH ? AS copy').run(copy.name);
    const fill = db.transaction(() => {
      for (const table of tableNames) {
        const columns = columnsOf(db, table).join();
        db.exec(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM copy.${table} ORDER BY 1`);
      }
      // Some keys were given to attempts that were never written.
      db.exec(
        `UPDATE commits SET unused_keys = (SELECT coalesce(max(attempt), 0) - count(*) FROM main.attempts),
           lost_submissions = (SELECT lost_submissions FROM copy.commits)`,
      );
    });
    fill.immediate();
    db.exec('DETACH copy');
  } finally {
    db.close();
  }
}

function countFile(path: string): Counts {
  const db = existsSync(path) ? openForReading(path, checkpointSchema) : undefined;
  const count = (table: string): number =>
    db?.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
  try {
    return Object.fromEntries(tableNames.map((table) => [table, count(table)])) as Counts;
  } finally {
    db?.close();
    // Readers leave these files behind.
    if (!hasLog(path)) for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true });
  }
}

async function countThere(session: PostgresSession, schema: string): Promise<Counts> {
  const counts = tableNames.map((table) => `(SELECT count(*) FROM ${schema}.${table}) AS ${table}`);
  const [row] = await session.query<Counts>(`SELECT ${counts.join()}`);
  if (row === undefined) throw new Error('the database has counted nothing');
  return row;
}

function assertSame(here: Counts, there: Counts, name: string): Counts {
  const other = tableNames.filter((table) => here[table] !== there[table]);
  if (other.length === 0) return here;
  const words = other.map((table) => `${here[table]} ${table} here and ${there[table]} in the database`);
  throw new UnusableSchema(
    `the copy is not complete (schema ${name}: ${words.join('; ')}); nothing has changed, and the batch was not moved`,
  );
}

/** Upgrades a batch that an earlier version left while it was moving. Needs `lockSchema` in the transaction. */
async function upgradeMoving(session: PostgresSession, schema: string): Promise<void> {
  const found = await lookUpSchema(session, schema);
  if (found === undefined) return;
  await makeTables(session, schema, found.version);
  await markSchema(session, schema, found.moving);
}
