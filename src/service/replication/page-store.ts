/** Databases of a shared service in PostgreSQL: copies, logs of changes, long texts. The holder of its lock leads. */
import { createHmac, randomBytes } from 'node:crypto';
import { Postgres, type PostgresAddress, PostgresFailure, quoted } from '../../lib/postgres/postgres.ts';
import type { Bucket } from '../../lib/s3/bucket.ts';
import {
  generations,
  type Leader,
  LeadingSession,
  newestCopy,
  newTables,
  silentMs,
} from './leading-session.ts';

export interface Announced extends Leader {
  /** Number of writes so far, of all terms. */
  writes: number;
}

/** Idle timeout in ms (instead of `silentMs`) while a new leader restores its databases. */
const openingMs = 120_000;
const connectMs = 5_000;
/** Timeout of an answer in ms, longer than any write. It detects a database that has moved elsewhere without notice. */
const answerMs = 60_000;
/** Timeout in ms for reading the leader, because requests wait for it. */
const leaderMs = 2_000;
/** First major version of PostgreSQL that ends idle sessions. */
const minVersion = 14;
const defaultSchema = 'nightrender_service';
export const schemaParameter = 'schema';

export class PageStore {
  readonly #postgres: Postgres;
  /** Connections for short queries, which must not wait for long texts. */
  readonly #asking: Postgres;
  readonly #schema: string;

  private constructor(postgres: Postgres, asking: Postgres, schema: string) {
    this.#postgres = postgres;
    this.#asking = asking;
    this.#schema = schema;
  }

  /** Opens the store without connecting yet. Throws `PostgresFailure` if the driver is not installed. */
  static async open(address: PostgresAddress): Promise<PageStore> {
    const postgres = await Postgres.open(address, { connectMs, silentMs, answerMs });
    const asking = await Postgres.open(address, { connectMs, silentMs, answerMs: leaderMs });
    return new PageStore(postgres, asking, address.own.get(schemaParameter) ?? defaultSchema);
  }

  /** Human-readable address: `host/database`. */
  get shown(): string {
    return this.#postgres.shown;
  }

  /** Creates missing tables. Returns the secret that all processes of the service share. */
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

  /** Returns the leader; undefined if no process has ever led. */
  async leader(): Promise<Announced | undefined> {
    const [row] = await this.#asking.query<Announced>(
      `SELECT url, term, writes FROM ${quoted(this.#schema)}.leader WHERE term IS NOT NULL`,
    );
    return row;
  }

  /** Returns a session that holds the lock; undefined if another process holds it. */
  async lead(): Promise<LeadingSession | undefined> {
    const session = await this.#postgres.keptSession();
    try {
      // TCP keepalive ends a session that breaks in the middle of a statement: it is not idle.
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

  /** Deletes old and incomplete copies, while no copy is being written. A table that is being dumped goes next time. */
  async forgetOld(): Promise<void> {
    const s = quoted(this.#schema);
    const newest = await newestCopy(this.#postgres, this.#schema);
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

/** Stores files by name, such as `inputs/….json`. */
export interface FileStore {
  putFile(name: string, bytes: Buffer): Promise<void>;
  getFile(name: string): Promise<Buffer | undefined>;
  /** Deletes files. Ignores missing ones. */
  removeFiles(names: readonly string[]): Promise<void>;
  fileNames(): Promise<string[]>;
}

export class BucketFiles implements FileStore {
  readonly #bucket: Bucket;
  /** Folder of this service. Another service may use the same bucket, and files that no job names are deleted. */
  readonly #folder: string;

  constructor(bucket: Bucket, secret: Buffer) {
    this.#bucket = bucket;
    this.#folder = `${createHmac('sha256', secret).update('files').digest('hex').slice(0, 16)}/`;
  }

  putFile(name: string, bytes: Buffer): Promise<void> {
    return this.#bucket.put(this.#folder + name, bytes, { type: 'application/json' });
  }

  getFile(name: string): Promise<Buffer | undefined> {
    return this.#bucket.get(this.#folder + name);
  }

  async removeFiles(names: readonly string[]): Promise<void> {
    for (const name of names) await this.#bucket.remove(this.#folder + name);
  }

  async fileNames(): Promise<string[]> {
    const names: string[] = [];
    for await (const { key } of this.#bucket.list(this.#folder)) names.push(key.slice(this.#folder.length));
    return names;
  }
}

/** Long texts of a service of several processes, stored in its database or in an S3 bucket. */
export class SharedFiles {
  readonly #store: FileStore;
  readonly #onProblem: (text: string) => void;

  constructor(store: FileStore, onProblem: (text: string) => void) {
    this.#store = store;
    this.#onProblem = onProblem;
  }

  /** Stores a file. Resolves once it is durable. */
  put(name: string, text: string | Buffer): Promise<void> {
    return this.#store.putFile(name, typeof text === 'string' ? Buffer.from(text) : text);
  }

  get(name: string): Promise<Buffer | undefined> {
    return this.#store.getFile(name);
  }

  /** Deletes files. A failure is reported; the files are deleted when another process begins to lead. */
  async remove(names: readonly string[]): Promise<void> {
    await this.#reportFailure(() => this.#store.removeFiles(names));
  }

  async removeAllBut(named: ReadonlySet<string>): Promise<void> {
    await this.#reportFailure(async () => {
      const names = await this.#store.fileNames();
      await this.#store.removeFiles(names.filter((name) => !named.has(name)));
    });
  }

  async #reportFailure(work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => this.#onProblem(`cannot remove long texts: ${String(error)}`));
  }
}
