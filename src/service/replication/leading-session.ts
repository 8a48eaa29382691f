/** Operations on the shared store that only the leader may do: writing the log, copying databases, restoring them. */
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { deflateRaw, inflateRawSync } from 'node:zlib';
import { type KeptSession, type PostgresSession, quoted } from '../../lib/postgres/postgres.ts';

export interface Leader {
  /** URL under which the other processes reach it. */
  url: string;
  /** Random id of one term of a leader. */
  term: string;
}

/** A database that can be copied while it is written to. */
export interface Copied {
  name: string;
  /** Makes everything committed so far part of the pages that `read` returns. False if that is not possible now. */
  truncate(): boolean;
  /** Reads pages from `first` on, fewer at the end. */
  read(first: number, pages: number): Promise<Buffer>;
}

/** Idle time in ms after which PostgreSQL ends a session, which releases its lock. */
export const silentMs = 10_000;
const pagesAtOnce = 64;
const rowsAtOnce = 64;
/** Log sizes at which a new copy starts, half the copy within these, so that a leader applies it in seconds. */
const minLogBytes = 8 * 1024 * 1024;
const maxLogBytes = 24 * 1024 * 1024;
/** Maximum age of a log, because it still contains deleted data. */
const maxLogAgeMs = 60 * 60_000;
const pack = promisify(deflateRaw);
/** Fast compression: changes are small, and requests wait for them. */
const fastCompression = { level: 1 };

/** Session of the leader. Its changes take effect only while it leads. */
export class LeadingSession {
  readonly #session: KeptSession;
  readonly #schema: string;
  readonly #s: string;
  #generation = 0;
  /** Size of the log in bytes since the latest copy began, and size of that copy. */
  #logBytes = 0;
  #copyBytes = 0;
  #copiedAt = performance.now();

  private constructor(session: KeptSession, schema: string) {
    this.#session = session;
    this.#schema = schema;
    this.#s = quoted(schema);
  }

  static async begin(session: KeptSession, schema: string): Promise<LeadingSession> {
    const leading = new LeadingSession(session, schema);
    await leading.#upgrade();
    await leading.#measure();
    return leading;
  }

  /** Names the leader before it opens a database. Writes of earlier terms are refused from then on. */
  async announce({ url, term }: Leader): Promise<void> {
    await this.#session.query(`UPDATE ${this.#s}.leader SET url = $1, term = $2`, [url, term]);
  }

  /** Starts the idle timeout: from now on the session must `beat`, or another process leads. */
  async keep(): Promise<void> {
    await this.#session.query(`SET idle_session_timeout = ${silentMs}`);
  }

  /** Keeps the session alive. Rejects if it has ended. */
  async beat(): Promise<void> {
    await this.#session.query('SELECT 1');
  }

  /** Returns the clock of PostgreSQL, epoch ms. */
  async now(): Promise<number> {
    const [row] = await this.#session.query<{ now: number }>(
      'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now',
      [],
    );
    return row?.now ?? Date.now();
  }

  /** Aborted once the session is known to have ended. */
  get ended(): AbortSignal {
    return this.#session.ended;
  }

  /** Stores all changes or none, also repeatedly. Returns the write's number; undefined after the term. */
  async write(term: string, database: string, { packed, count }: Changes): Promise<number | undefined> {
    const bytes = await pack(packed, fastCompression);
    const log = this.#generation;
    // A named statement: if the connection breaks in the middle, the session still counts as idle, and ends.
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
   * Copies the databases while they are written to. Changes made meanwhile go to a new log. `settle` resolves when
   * the log has all changes that the copied pages may contain. A process that leads before the copy is complete
   * restores the previous copy with both logs.
   */
  async copy(term: string, databases: readonly Copied[], settle: () => Promise<void>): Promise<void> {
    // If this copy fails, the next one starts when the log has grown as much again.
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
        const bytes = await pack(pages, fastCompression);
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

  /** Writes the database to a new file at `path`. Returns false if the store does not contain the database. */
  async restore(database: string, path: string): Promise<boolean> {
    const from = await newestCopy(this.#session, this.#schema);
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

  /** Ends the session, which releases the lock. */
  end(): void {
    this.#session.end();
  }

  /** Writes the pages of a copy to the file. Returns the number of bytes. */
  async #restoreCopy(database: string, generation: number, file: number): Promise<number> {
    let copied = 0;
    const rows = this.#rows(`SELECT page AS key, bytes FROM ${this.#s}.page_copy_${generation}`, database);
    for await (const { key, bytes } of rows) {
      // Generation 0 may come from an earlier version, with one page per row, not compressed.
      const pages = generation === 0 ? bytes : inflateRawSync(bytes);
      copied += writeSync(file, pages, 0, pages.length, (key - 1) * pageBytes);
    }
    return copied;
  }

  /** Applies one log to the file. Returns the number of compressed bytes. */
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

  /** Yields rows in the order of `key`, read in batches. */
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
      // Reads the next batch while the caller handles this one.
      if (last !== undefined) asked = ask(last.key);
      asked.catch(() => undefined);
      yield* rows;
      if (last === undefined) return;
    }
  }

  async #measure(): Promise<void> {
    const all = await generations(this.#session, this.#schema);
    this.#generation = Math.max(...all);
    const from = await newestCopy(this.#session, this.#schema);
    const sizeOf = async (names: string[]): Promise<number> => {
      const text =
        'SELECT sum(pg_table_size(name::regclass))::float8 AS bytes FROM unnest($1::text[]) AS name';
      const [size] = await this.#session.query<{ bytes: number }>(text, [names]);
      return size?.bytes ?? 0;
    };
    this.#logBytes = await sizeOf(
      all.filter((each) => each >= from).map((each) => `${this.#s}.page_log_${each}`),
    );
    // Generation 0 may come from an earlier version: its size says nothing about compressed copies.
    this.#copyBytes = from === 0 ? 0 : await sizeOf([`${this.#s}.page_copy_${from}`]);
  }

  /** Turns pages of an earlier version into copy 0, so that processes of that version cannot lead. */
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

export async function newestCopy(session: PostgresSession, schema: string): Promise<number> {
  const [row] = await session.query<{ generation: number }>(
    `SELECT generation FROM ${quoted(schema)}.leader`,
  );
  return row?.generation ?? 0;
}

/** Returns the generations that have a log, in ascending order. */
export async function generations(session: PostgresSession, schema: string): Promise<number[]> {
  const rows = await session.query<{ generation: number }>(
    `SELECT substring(tablename FROM 10)::int AS generation FROM pg_tables WHERE schemaname = $1 AND tablename ~ '^page_log_[0-9]{1,9}$'`,
    [schema],
  );
  return rows.map(({ generation }) => generation).toSorted((a, b) => a - b);
}

/**
 * Returns SQL that creates the tables of one generation.
 *
 * - `leader.generation`: generation of the newest complete copy, which needs its own log and all newer ones
 * - `page_copy_…`: deflated pages from `page` on
 * - `page_log_…`: deflated `Changes` of each write
 *
 * Old generations are dropped as whole tables, because deleted rows would stay while a long transaction runs.
 */
export function newTables(s: string, generation: number): string {
  const [copy, log] = [`${s}.page_copy_${generation}`, `${s}.page_log_${generation}`];
  const stored = (table: string): string => `ALTER TABLE ${table} ALTER bytes SET STORAGE EXTERNAL;`;
  return `
    CREATE TABLE ${copy} (database text, page int, bytes bytea NOT NULL, PRIMARY KEY (database, page));
    CREATE TABLE ${log} (write bigint PRIMARY KEY, database text NOT NULL, count int NOT NULL, bytes bytea NOT NULL)
      WITH (toast_tuple_target = 8160);
    ${stored(copy)} ${stored(log)}`;
}

/** Default page size of SQLite. */
export const pageBytes = 4096;

/** Changes of one database, in the order in which they are applied. */
export interface Changes {
  /** Results of `packPage`, one after the other. */
  packed: Buffer;
  /** Number of pages of the database after the changes. */
  count: number;
}

/** Size of the header of a run: its position and its length, two bytes each. */
const runHeader = 4;

/**
 * Packs the changes from `before` to `after`, one page each; the whole page if `before` is missing. Format: page
 * number (4 bytes), number of runs (2 bytes), then position, length and bytes of each run. Applying changes twice
 * has the same result as applying them once.
 */
export function packPage(page: number, before: Buffer | undefined, after: Buffer): Buffer {
  const runs = before === undefined ? [{ from: 0, to: pageBytes }] : changedRuns(before, after);
  const head: Buffer = Buffer.allocUnsafe(6);
  head.writeUInt32LE(page, 0);
  head.writeUInt16LE(runs.length, 4);
  const parts: Buffer[] = [head];
  for (const { from, to } of runs) {
    const place = Buffer.allocUnsafe(runHeader);
    place.writeUInt16LE(from, 0);
    place.writeUInt16LE(to - from, 2);
    parts.push(place, after.subarray(from, to));
  }
  return Buffer.concat(parts);
}

/** Returns the changed runs. Runs that are closer than the size of a header are joined. */
function changedRuns(before: Buffer, after: Buffer): { from: number; to: number }[] {
  const runs: { from: number; to: number }[] = [];
  let last: { from: number; to: number } | undefined;
  for (let i = 0; i < pageBytes; i++) {
    if (before[i] === after[i]) continue;
    if (last !== undefined && i - last.to <= runHeader) last.to = i + 1;
    else runs.push((last = { from: i, to: i + 1 }));
  }
  return runs;
}

export function applyChanges(file: number, { packed, count }: Changes): void {
  for (let at = 0; at < packed.length;) {
    const start = (packed.readUInt32LE(at) - 1) * pageBytes;
    const runs = packed.readUInt16LE(at + 4);
    at += 6;
    for (let run = 0; run < runs; run++) {
      const length = packed.readUInt16LE(at + 2);
      writeSync(file, packed, at + runHeader, length, start + packed.readUInt16LE(at));
      at += runHeader + length;
    }
  }
  ftruncateSync(file, count * pageBytes);
}
