/** What only the process that leads does with the shared store: it writes to the log, copies the databases, and restores them. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { deflateRaw, inflateRawSync } from 'node:zlib';
import { type KeptSession, type PostgresSession, quoted } from '../../lib/postgres/postgres.ts';
import { applyChanges, type Changes, pageBytes } from './page-changes.ts';

/** Who leads. */
export interface Leader {
  /** How the others reach it. */
  url: string;
  /** Of each time that one begins to lead anew. */
  term: string;
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
export const silentMs = 10_000;
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

  /** The database's clock, epoch ms. */
  async now(): Promise<number> {
    const [row] = await this.#session.query<{ now: number }>(
      'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now',
      [],
    );
    return row?.now ?? Date.now();
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

/** The generation of the newest complete one. */
export async function newestCopy(session: PostgresSession, schema: string): Promise<number> {
  const [row] = await session.query<{ generation: number }>(
    `SELECT generation FROM ${quoted(schema)}.leader`,
  );
  return row?.generation ?? 0;
}

/** Of which there is a log, in order. */
export async function generations(session: PostgresSession, schema: string): Promise<number[]> {
  const rows = await session.query<{ generation: number }>(
    `SELECT substring(tablename FROM 10)::int AS generation FROM pg_tables WHERE schemaname = $1 AND tablename ~ '^page_log_[0-9]{1,9}$'`,
    [schema],
  );
  return rows.map(({ generation }) => generation).toSorted((a, b) => a - b);
}

/**
 * - `leader.generation`: of the newest complete copy, which stands with its own log and all newer ones
 * - `page_copy_…`: pages from `page` on, deflated; `page_log_…`: each write, deflated `Changes`
 *
 * Tables that are dropped as a whole leave no old rows, also where a long transaction would need them.
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
