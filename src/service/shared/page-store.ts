/** The databases of a shared service in PostgreSQL: copies of their files, and a log of what has changed since; whoever holds its lock leads, and alone may write. */
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { deflateRaw, inflateRawSync } from 'node:zlib';
import type { PostgresAddress } from '../../lib/postgres/address.ts';
import {
  type KeptSession,
  Postgres,
  PostgresFailure,
  type PostgresSession,
  quoted,
} from '../../lib/postgres/postgres.ts';
import { applyChanges, type Changes, pageBytes } from './page-changes.ts';

/** Who leads. */
export interface Leader {
  /** How the others reach it. */
  url: string;
  /** Of each time that one begins to lead anew. */
  term: string;
}

export interface Announced extends Leader {
  /** How many writes there were. */
  writes: number;
}

/** A database that is copied while it is written to. */
export interface Copied {
  name: string;
  /** All that was committed before is in what is read from now on; false where that cannot be now. */
  truncate(): boolean;
  /** Pages from `first` on, fewer at the end. */
  read(first: number, pages: number): Promise<Buffer>;
}

/** PostgreSQL ends a session that says nothing for so long, and its lock is free. */
const silentMs = 10_000;
/** As above, while one that leads anew reads its databases. */
const openingMs = 120_000;
const connectMs = 5_000;
/** Longer than any write takes: the database has moved elsewhere, and nobody says so. */
const answerMs = 60_000;
/** For who leads: requests wait for it. */
const leaderMs = 2_000;
/** The first that ends silent sessions. */
const minVersion = 14;
/** Of a copy, packed as one. */
const pagesAtOnce = 64;
const rowsAtOnce = 64;
/** The log is begun anew with a copy where it is half as long as that, within these bounds: the next one to lead makes its changes in a few seconds at most. */
const minLogBytes = 8 * 1024 * 1024;
const maxLogBytes = 24 * 1024 * 1024;
/** And so often in any case: what was deleted is in it still. */
const maxLogAgeMs = 60 * 60_000;
const pack = promisify(deflateRaw);
/** It is small, and others wait for it. */
const fast = { level: 1 };
const defaultSchema = 'nightrender_service';
/** The parameter of the address that names the schema. */
export const schemaParameter = 'schema';

export class PageStore {
  readonly #postgres: Postgres;
  /** For short questions, which wait for no long text. */
  readonly #asking: Postgres;
  readonly #schema: string;

  private constructor(postgres: Postgres, asking: Postgres, schema: string) {
    this.#postgres = postgres;
    this.#asking = asking;
    this.#schema = schema;
  }

  /** Nothing is connected yet. Throws `PostgresFailure` where the driver is not installed. */
  static async open(address: PostgresAddress): Promise<PageStore> {
    const postgres = await Postgres.open(address, { connectMs, silentMs, answerMs });
    const asking = await Postgres.open(address, { connectMs, silentMs, answerMs: leaderMs });
    return new PageStore(postgres, asking, address.own.get(schemaParameter) ?? defaultSchema);
  }

  /** `host/database`, for people. */
  get shown(): string {
    return this.#postgres.shown;
  }

  /** Makes the tables where they are missing, and returns the secret that all of its processes know. */
  async prepare(): Promise<Buffer> {
    const s = quoted(this.#schema);
    const [server] = await this.#postgres.query<{ version: number }>(
      "SELECT current_setting('server_version_num')::int AS version",
    );
    const major = Math.floor((server?.version ?? 0) / 10_000);
    if (major < minVersion) {
      const text = `the database ${this.shown} is PostgreSQL ${major}; a shared service needs ${minVersion} or newer`;
      throw new PostgresFailure('wrong', text, undefined);
    }
    return this.#postgres.transaction(async (session) => {
      await session.query(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, [
        `${this.#schema} tables`,
      ]);
      const [there] = await session.query<{ is: boolean }>('SELECT to_regclass($1) IS NOT NULL AS is', [
        `${s}.leader`,
      ]);
      type Row = { secret: Buffer };
      const [row] = there?.is === true ? await session.query<Row>(`SELECT secret FROM ${s}.leader`) : [];
      if (row !== undefined) return row.secret;
      const drawn = randomBytes(32);
      await session.query(tables(s));
      await session.query(`INSERT INTO ${s}.leader (secret) VALUES ($1)`, [drawn]);
      return drawn;
    });
  }

  /** Undefined before the first. */
  async leader(): Promise<Announced | undefined> {
    const [row] = await this.#asking.query<Announced>(
      `SELECT url, term, writes FROM ${quoted(this.#schema)}.leader WHERE term IS NOT NULL`,
    );
    return row;
  }

  /** A session that holds the lock; undefined where another does. */
  async lead(): Promise<LeadingSession | undefined> {
    const session = await this.#postgres.keptSession();
    try {
      // One that breaks off in the middle of a statement is not idle: only the system notices.
      await session.query(
        `SET idle_session_timeout = ${openingMs}; SET tcp_keepalives_idle = 4; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3`,
      );
      const [row] = await session.query<{ has: boolean }>(
        'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS has',
        [`${this.#schema} leader`],
      );
      if (row?.has === true) return await LeadingSession.begin(session, this.#schema);
    } catch (error) {
      session.end();
      throw error;
    }
    session.end();
    return undefined;
  }

  /**
   * What stood before the newest complete copy, and copies that were begun after it and are not complete, while none is made. A dump that
   * is under way may keep a table: then it goes the next time.
   */
  async forgetOld(): Promise<void> {
    const s = quoted(this.#schema);
    const [row] = await this.#postgres.query<{ generation: number }>(`SELECT generation FROM ${s}.leader`);
    const newest = row?.generation ?? 0;
    for (const each of await generations(this.#postgres, this.#schema)) {
      if (each === newest) continue;
      const old = [`${s}.page_copy_${each}`, ...(each < newest ? [`${s}.page_log_${each}`] : [])];
      await this.#postgres
        .transaction(async (session) => {
          await session.query('SET LOCAL lock_timeout = 1000');
          await session.query(`DROP TABLE IF EXISTS ${old.join(', ')}`);
        })
        .catch(() => undefined);
    }
  }

  async putFile(name: string, bytes: Buffer): Promise<void> {
    const text = `INSERT INTO ${quoted(this.#schema)}.files VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET bytes = excluded.bytes`;
    await this.#postgres.query(text, [name, bytes]);
  }

  async getFile(name: string): Promise<Buffer | undefined> {
    const text = `SELECT bytes FROM ${quoted(this.#schema)}.files WHERE name = $1`;
    const [row] = await this.#postgres.query<{ bytes: Buffer }>(text, [name]);
    return row?.bytes;
  }

  async removeFiles(names: readonly string[]): Promise<void> {
    await this.#postgres.query(`DELETE FROM ${quoted(this.#schema)}.files WHERE name = ANY($1)`, [names]);
  }

  async fileNames(): Promise<string[]> {
    const rows = await this.#postgres.query<{ name: string }>(
      `SELECT name FROM ${quoted(this.#schema)}.files`,
    );
    return rows.map(({ name }) => name);
  }

  async close(): Promise<void> {
    await Promise.all([this.#postgres.close(), this.#asking.close()]);
  }
}

/** What it does is done while it leads, or not at all. */
export class LeadingSession {
  readonly #session: KeptSession;
  readonly #schema: string;
  readonly #s: string;
  /** Of the log that is written to. */
  #generation = 0;
  /** Since the newest copy was begun, and how large that is. */
  #logBytes = 0;
  #copyBytes = 0;
  #copiedAt = performance.now();

  private constructor(session: KeptSession, schema: string) {
    this.#session = session;
    this.#schema = schema;
    this.#s = quoted(schema);
  }

  /** Of a session that has the lock. */
  static async begin(session: KeptSession, schema: string): Promise<LeadingSession> {
    const leading = new LeadingSession(session, schema);
    await leading.#upgrade();
    await leading.#measure();
    return leading;
  }

  /** Before it opens anything: from now on nobody else's changes are taken, also where they still come. */
  async announce({ url, term }: Leader): Promise<void> {
    await this.#session.query(`UPDATE ${this.#s}.leader SET url = $1, term = $2`, [url, term]);
  }

  /** From now on it has to beat, or another leads. */
  async keep(): Promise<void> {
    await this.#session.query(`SET idle_session_timeout = ${silentMs}`);
  }

  /** Rejects where it does not lead any more. */
  async beat(): Promise<void> {
    await this.#session.query('SELECT 1');
  }

  /** Aborted as soon as it is known that it leads no more. */
  get ended(): AbortSignal {
    return this.#session.ended;
  }

  /** All changes or none; returns which write it was, undefined where the term is over. The same may be written twice, one after the other. */
  async write(term: string, database: string, { packed, count }: Changes): Promise<number | undefined> {
    const bytes = await pack(packed, fast);
    const log = this.#generation;
    // Named: one that breaks off before all of it has arrived is idle still, and ends.
    const [row] = await this.#session.query<{ writes: number }>(
      `WITH led AS (UPDATE ${this.#s}.leader SET writes = writes + 1 WHERE term = $1 RETURNING writes)
       INSERT INTO ${this.#s}.page_log_${log} SELECT writes, $2, $3, $4 FROM led RETURNING write AS writes`,
      [term, database, count, bytes],
      `write ${log}`,
    );
    this.#logBytes += bytes.length;
    return row?.writes;
  }

  get isCopyDue(): boolean {
    const limit = Math.min(maxLogBytes, Math.max(minLogBytes, this.#copyBytes / 2));
    const isOld = performance.now() - this.#copiedAt > maxLogAgeMs;
    return this.#logBytes > limit || (isOld && this.#logBytes > 0);
  }

  /**
   * Copies the databases while they are written to: what changes meanwhile is in a new log. `settle` resolves when all that a copy
   * may have of that is there. Whoever leads before it is done reads what was before, with both logs.
   */
  async copy(term: string, databases: readonly Copied[], settle: () => Promise<void>): Promise<void> {
    // Where it fails, it is tried again when the log is as long once more.
    this.#logBytes = 0;
    this.#copiedAt = performance.now();
    const next = this.#generation + 1;
    await this.#session.query(newTables(this.#s, next));
    this.#generation = next;
    let copied = 0;
    for (const database of databases) {
      if (!database.truncate())
        throw new Error(`another program reads ${database.name}: it cannot be copied`);
      for (let first = 1; ; first += pagesAtOnce) {
        const pages = await database.read(first, pagesAtOnce);
        if (pages.length === 0) break;
        const bytes = await pack(pages, fast);
        copied += bytes.length;
        await this.#session.query(
          `INSERT INTO ${this.#s}.page_copy_${next} VALUES ($1, $2, $3)`,
          [database.name, first, bytes],
          `copy ${next}`,
        );
      }
    }
    await settle();
    await this.#session.query(`UPDATE ${this.#s}.leader SET generation = $1 WHERE term = $2`, [next, term]);
    this.#copyBytes = copied;
  }

  /** Writes the database to `path`, where nothing is; false where there is none. */
  async restore(database: string, path: string): Promise<boolean> {
    const [leader] = await this.#session.query<{ generation: number }>(
      `SELECT generation FROM ${this.#s}.leader`,
    );
    const from = leader?.generation ?? 0;
    const file = openSync(path, 'wx', 0o600);
    try {
      const copied = await this.#restoreCopy(database, from, file);
      let logged = 0;
      for (const each of await generations(this.#session, this.#schema))
        if (each >= from) logged += await this.#applyLog(database, each, file);
      return copied + logged > 0;
    } finally {
      closeSync(file);
    }
  }

  /** The lock is free. */
  end(): void {
    this.#session.end();
  }

  /** Returns how many bytes it is of. */
  async #restoreCopy(database: string, generation: number, file: number): Promise<number> {
    let copied = 0;
    const rows = this.#rows(`SELECT page AS key, bytes FROM ${this.#s}.page_copy_${generation}`, database);
    for await (const { key, bytes } of rows) {
      // The first is page by page, as earlier versions have left it.
      const pages = generation === 0 ? bytes : inflateRawSync(bytes);
      copied += writeSync(file, pages, 0, pages.length, (key - 1) * pageBytes);
    }
    return copied;
  }

  /** As above. */
  async #applyLog(database: string, generation: number, file: number): Promise<number> {
    let logged = 0;
    const rows = this.#rows(
      `SELECT write AS key, count, bytes FROM ${this.#s}.page_log_${generation}`,
      database,
    );
    for await (const { bytes, count } of rows) {
      applyChanges(file, { packed: inflateRawSync(bytes), count: count ?? 0 });
      logged += bytes.length;
    }
    return logged;
  }

  /** In the order of `key`, some at a time. */
  async *#rows(
    select: string,
    database: string,
  ): AsyncGenerator<{ key: number; bytes: Buffer; count?: number }> {
    const ask = (after: number) =>
      this.#session.query<{ key: number; bytes: Buffer; count?: number }>(
        `SELECT * FROM (${select} WHERE database = $1) AS rows WHERE key > $2 ORDER BY key LIMIT ${rowsAtOnce}`,
        [database, after],
      );
    for (let asked = ask(0); ;) {
      const rows = await asked;
      const last = rows.at(rowsAtOnce - 1);
      // While these are written.
      if (last !== undefined) asked = ask(last.key);
      asked.catch(() => undefined);
      yield* rows;
      if (last === undefined) return;
    }
  }

  async #measure(): Promise<void> {
    const all = await generations(this.#session, this.#schema);
    this.#generation = Math.max(...all);
    const [row] = await this.#session.query<{ generation: number }>(
      `SELECT generation FROM ${this.#s}.leader`,
    );
    const from = row?.generation ?? 0;
    const sizeOf = async (names: string[]): Promise<number> => {
      const text =
        'SELECT sum(pg_table_size(name::regclass))::float8 AS bytes FROM unnest($1::text[]) AS name';
      const [size] = await this.#session.query<{ bytes: number }>(text, [names]);
      return size?.bytes ?? 0;
    };
    this.#logBytes = await sizeOf(
      all.filter((each) => each >= from).map((each) => `${this.#s}.page_log_${each}`),
    );
    // The first is of earlier versions, page by page.
    this.#copyBytes = from === 0 ? 0 : await sizeOf([`${this.#s}.page_copy_${from}`]);
  }

  /** What earlier versions have left is the first copy: who still runs one finds no pages, and leads no more. */
  async #upgrade(): Promise<void> {
    const [there] = await this.#session.query<{ is: boolean }>('SELECT to_regclass($1) IS NOT NULL AS is', [
      `${this.#s}.pages`,
    ]);
    if (there?.is !== true) return;
    await this.#session.query(
      `BEGIN; SET LOCAL lock_timeout = 1000; ALTER TABLE ${this.#s}.leader ADD COLUMN generation int NOT NULL DEFAULT 0;
       ${newTables(this.#s, 0)} DROP TABLE ${this.#s}.page_copy_0; ALTER TABLE ${this.#s}.pages RENAME TO page_copy_0; COMMIT`,
    );
  }
}

/** Of which there is a log, in order. */
async function generations(session: PostgresSession, schema: string): Promise<number[]> {
  const rows = await session.query<{ generation: number }>(
    `SELECT substring(tablename FROM 10)::int AS generation FROM pg_tables WHERE schemaname = $1 AND tablename ~ '^page_log_[0-9]{1,9}$'`,
    [schema],
  );
  return rows.map(({ generation }) => generation).toSorted((a, b) => a - b);
}

function tables(s: string): string {
  return `
    CREATE SCHEMA IF NOT EXISTS ${s};
    CREATE TABLE ${s}.leader (
      one bool PRIMARY KEY DEFAULT true CHECK (one), url text, term text, generation int NOT NULL DEFAULT 0,
      writes bigint NOT NULL DEFAULT 0, secret bytea NOT NULL);
    ${newTables(s, 0)}
    CREATE TABLE ${s}.files (name text PRIMARY KEY, bytes bytea NOT NULL);
    ALTER TABLE ${s}.files ALTER bytes SET STORAGE EXTERNAL;`;
}

/**
 * - `leader.generation`: of the newest complete copy, which stands with its own log and all newer ones
 * - `page_copy_…`: pages from `page` on, deflated; `page_log_…`: each write, deflated `Changes`
 *
 * Tables that are dropped as a whole leave no old rows, also where a long transaction would need them.
 */
function newTables(s: string, generation: number): string {
  const [copy, log] = [`${s}.page_copy_${generation}`, `${s}.page_log_${generation}`];
  const stored = (table: string): string => `ALTER TABLE ${table} ALTER bytes SET STORAGE EXTERNAL;`;
  return `
    CREATE TABLE ${copy} (database text, page int, bytes bytea NOT NULL, PRIMARY KEY (database, page));
    CREATE TABLE ${log} (write bigint PRIMARY KEY, database text NOT NULL, count int NOT NULL, bytes bytea NOT NULL)
      WITH (toast_tuple_target = 8160);
    ${stored(copy)} ${stored(log)}`;
}
