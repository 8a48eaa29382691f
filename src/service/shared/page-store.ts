/** The databases of a shared service in PostgreSQL, page by page; whoever holds its lock leads, and alone may write. */
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import type { PostgresAddress } from '../../lib/postgres/address.ts';
import { type KeptSession, Postgres, PostgresFailure, quoted } from '../../lib/postgres/postgres.ts';

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

/** Pages of a database that have changed, by their numbers, and how many it has now. */
export interface Changes {
  pages: ReadonlyMap<number, Buffer>;
  count: number;
}

/** SQLite's own. */
export const pageBytes = 4096;

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
const pagesAtOnce = 2_000;
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
      if (row?.has === true) return new LeadingSession(session, quoted(this.#schema));
    } catch (error) {
      session.end();
      throw error;
    }
    session.end();
    return undefined;
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
  readonly #s: string;

  constructor(session: KeptSession, schema: string) {
    this.#session = session;
    this.#s = schema;
  }

  /** Before it opens anything: from now on nobody else's pages are taken, also where they still come. */
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

  /** All pages at once, or none; returns which write it was, undefined where the term is over. */
  async write(term: string, database: string, { pages, count }: Changes): Promise<number | undefined> {
    const values = [database, [...pages.keys()], Buffer.concat([...pages.values()]), count, term];
    // Named: one that breaks off before all of it has arrived is idle still, and ends.
    const [row] = await this.#session.query<{ writes: number }>(
      `WITH led AS (UPDATE ${this.#s}.leader SET writes = writes + 1 WHERE term = $5 RETURNING writes),
       cut AS (DELETE FROM ${this.#s}.pages USING led WHERE database = $1 AND page > $4),
       put AS (
         INSERT INTO ${this.#s}.pages
         SELECT $1, page, substring($3::bytea FROM ((place - 1) * ${pageBytes} + 1)::int FOR ${pageBytes})
         FROM led, unnest($2::int[]) WITH ORDINALITY AS changed (page, place)
         ON CONFLICT (database, page) DO UPDATE SET bytes = excluded.bytes)
       SELECT writes FROM led`,
      values,
      'write',
    );
    return row?.writes;
  }

  /** Writes the database to `path`, where nothing is; false where there is none. */
  async restore(database: string, path: string): Promise<boolean> {
    let last = 0;
    const file = openSync(path, 'wx', 0o600);
    try {
      for (;;) {
        const rows = await this.#session.query<{ page: number; bytes: Buffer }>(
          `SELECT page, bytes FROM ${this.#s}.pages WHERE database = $1 AND page > $2 ORDER BY page LIMIT ${pagesAtOnce}`,
          [database, last],
        );
        for (const { page, bytes } of rows) writeSync(file, bytes, 0, bytes.length, (page - 1) * pageBytes);
        last = rows.at(-1)?.page ?? last;
        if (rows.length < pagesAtOnce) return last > 0;
      }
    } finally {
      closeSync(file);
    }
  }

  /** The lock is free. */
  end(): void {
    this.#session.end();
  }
}

/**
 * Two pages fit into one of PostgreSQL's: the second place is for the next version of the first, so that a page that
 * changes all the time moves between two places and no index changes.
 */
function tables(s: string): string {
  return `
    CREATE SCHEMA IF NOT EXISTS ${s};
    CREATE TABLE ${s}.leader (
      one bool PRIMARY KEY DEFAULT true CHECK (one), url text, term text,
      writes bigint NOT NULL DEFAULT 0, secret bytea NOT NULL);
    CREATE TABLE ${s}.pages (
      database text NOT NULL, page int NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (database, page)
    ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
    ALTER TABLE ${s}.pages ALTER bytes SET STORAGE PLAIN;
    CREATE TABLE ${s}.files (name text PRIMARY KEY, bytes bytea NOT NULL);
    ALTER TABLE ${s}.files ALTER bytes SET STORAGE EXTERNAL;`;
}
