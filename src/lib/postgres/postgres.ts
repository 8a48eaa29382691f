/** A small pool of connections to one PostgreSQL database, and its address. Loads the driver when it is opened. */
import type { Socket } from 'node:net';
import type { Client, ClientBase, ClientConfig, Pool, QueryResultRow } from 'pg';

/**
 * - `gone`: the database cannot be reached or is busy; a retry may succeed
 * - `wrong`: the database answers and refuses
 */
export class PostgresFailure extends Error {
  readonly kind: 'gone' | 'wrong';

  constructor(kind: 'gone' | 'wrong', text: string, cause: unknown) {
    super(text, { cause });
    this.kind = kind;
  }
}

export interface PostgresSession {
  query<Row extends QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
}

/** A connection that keeps what it holds, such as a lock, until it ends. */
export interface KeptSession {
  /** A statement with a `name` is sent once; later only its values are sent. */
  query<Row extends QueryResultRow>(text: string, values?: unknown[], name?: string): Promise<Row[]>;
  /** Aborted as soon as the connection is known to have ended. */
  ended: AbortSignal;
  end(): void;
}

interface Limits {
  /** Maximum wait for a connection. */
  connectMs: number;
  /** A transaction is undone if its program is silent for so long: it may be suspended while it holds locks. */
  silentMs: number;
  /** A statement without an answer by then fails as `gone`. */
  answerMs?: number;
  /**
   * For statements that may wait for one another for long. One fails as `gone` if a new connection reports
   * for so long that the server does not work on it. All fail if the new connection gets no answer.
   */
  deadMs?: number;
  /** How long `close` waits for a server that does not react; 2 s by default. */
  farewellMs?: number;
}

export class Postgres implements PostgresSession {
  /** `host/database`, for messages. */
  readonly shown: string;
  readonly #pool: Pool;
  readonly #connect: () => Client;
  readonly #silentMs: number;
  readonly #farewellMs: number;
  /** Called if an idle connection breaks. No statement fails, but the server may be another one now. */
  onBroken: () => void = () => undefined;
  readonly #open = new Set<ClientBase>();
  #deadMs: number | undefined;
  readonly #waiting = new Set<{ client: ClientBase }>();
  #watch: NodeJS.Timeout | undefined;

  private constructor(shown: string, pool: Pool, connect: () => Client, limits: Limits) {
    const { silentMs, deadMs, farewellMs = 2_000 } = limits;
    this.#silentMs = silentMs;
    this.#farewellMs = farewellMs;
    this.#deadMs = deadMs;
    this.shown = shown;
    this.#pool = pool;
    this.#connect = connect;
    // A connection that breaks while idle is replaced at the next use.
    pool.on('error', () => this.onBroken());
    pool.on('connect', (client) => this.#open.add(client));
    pool.on('remove', (client) => this.#open.delete(client));
  }

  /** Opens the pool without connecting. Throws `PostgresFailure` if the driver is not installed. */
  static async open({ url, shown }: PostgresAddress, limits: Limits): Promise<Postgres> {
    const pg = await loadDriver();
    const { connectMs, answerMs, deadMs } = limits;
    const int8 = 20;
    const config: ClientConfig = {
      connectionString: url,
      connectionTimeoutMillis: connectMs,
      ...(answerMs !== undefined && { query_timeout: answerMs }),
      keepAlive: true,
      application_name: 'nightrender',
      types: {
        // Keys, counts and times, which are all exact as numbers.
        getTypeParser: (oid: number, format?: 'text' | 'binary') =>
          oid === int8 ? Number : pg.types.getTypeParser(oid, format),
      },
    };
    return new Postgres(
      shown,
      new pg.Pool({ ...config, max: maxConnections }),
      () => new pg.Client({ ...config, connectionTimeoutMillis: (deadMs ?? 2 * connectMs) / 2 }),
      limits,
    );
  }

  async query<Row extends QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.#with((session) => session.query<Row>(text, values));
  }

  /** Commits when `work` resolves, and rolls back when it rejects. `mode` follows BEGIN. */
  async transaction<T>(work: (session: PostgresSession) => Promise<T>, mode = ''): Promise<T> {
    return this.#with(async (session) => {
      await session.query(`BEGIN ${mode}; SET LOCAL idle_in_transaction_session_timeout = ${this.#silentMs}`);
      try {
        const result = await work(session);
        await session.query('COMMIT');
        return result;
      } catch (error) {
        if (!(error instanceof PostgresFailure && error.kind === 'gone'))
          await session.query('ROLLBACK').catch(() => undefined);
        throw error;
      }
    });
  }

  /** Opens a connection of its own. */
  async keptSession(): Promise<KeptSession> {
    const client = this.#connect();
    const ended = new AbortController();
    client.on('error', () => ended.abort()).once('end', () => ended.abort());
    try {
      await client.connect();
    } catch (error) {
      streamOf(client)?.destroy();
      throw this.#failureOf(error);
    }
    return {
      query: (text, values = [], name) => this.#rowsOf(client, text, values, name),
      ended: ended.signal,
      end: () => streamOf(client)?.destroy(),
    };
  }

  /** Shortens all waits from now on. A server that is up accepts a connection within `connectMs`. */
  shortenWaits(connectMs = 1_000): void {
    this.#pool.options.connectionTimeoutMillis = connectMs;
    this.#deadMs = 2 * connectMs;
  }

  /** Breaks every connection, so that waiting statements fail as `gone`. */
  cut(): void {
    for (const client of this.#open) streamOf(client)?.destroy();
  }

  /** Closes the pool, without waiting long for a server that does not react. */
  async close(): Promise<void> {
    const impatient = setTimeout(() => this.cut(), this.#farewellMs);
    await this.#pool.end().catch(() => undefined);
    clearTimeout(impatient);
    clearTimeout(this.#watch);
  }

  async #with<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw this.#failureOf(error);
    });
    // The query reports this error too. Without a listener it would end the process.
    const ignore = (): void => undefined;
    client.on('error', ignore);
    let broken: Error | undefined;
    try {
      return await work({
        query: async <Row extends QueryResultRow>(text: string, values: unknown[] = []) => {
          try {
            return await this.#rowsOf<Row>(client, text, values);
          } catch (failure) {
            if (failure instanceof PostgresFailure && failure.kind === 'gone') broken = failure;
            throw failure;
          }
        },
      });
    } finally {
      client.removeListener('error', ignore);
      client.release(broken);
    }
  }

  async #rowsOf<Row extends QueryResultRow>(
    client: ClientBase,
    text: string,
    values: unknown[],
    name?: string,
  ): Promise<Row[]> {
    const asked = { client };
    this.#waiting.add(asked);
    this.#scheduleCheck();
    try {
      return (await client.query<Row>({ text, values, ...(name !== undefined && { name }) })).rows;
    } catch (error) {
      throw this.#failureOf(error);
    } finally {
      this.#waiting.delete(asked);
    }
  }

  /** Plans a check of waiting statements, because a cut line or a suspended server causes no error. */
  #scheduleCheck(): void {
    if (this.#deadMs === undefined || this.#watch !== undefined) return;
    const asked = [...this.#waiting].map((one) => ({ one, read: bytesReadOf(one.client) }));
    this.#watch = setTimeout(() => void this.#checkWaiting(asked), this.#deadMs / 2).unref();
  }

  /** Breaks connections whose statements the server does not work on, such as after a failover. */
  async #checkWaiting(asked: { one: { client: ClientBase }; read: number }[]): Promise<void> {
    const isLate = asked.some(({ one }) => this.#waiting.has(one));
    const isAtWork = isLate ? await this.#findWorking() : () => true;
    if (isAtWork === undefined) this.cut();
    // The server is idle while a long answer is on its way.
    for (const { one, read } of asked)
      if (this.#waiting.has(one) && isAtWork?.(one.client) === false && bytesReadOf(one.client) === read)
        streamOf(one.client)?.destroy();
    this.#watch = undefined;
    if (this.#waiting.size > 0) this.#scheduleCheck();
  }

  /** Returns a test for connections with a statement at the server; undefined if the server does not answer. */
  async #findWorking(): Promise<((client: ClientBase) => boolean) | undefined> {
    const client = this.#connect();
    client.on('error', () => undefined);
    const impatient = setTimeout(() => streamOf(client)?.destroy(), (this.#deadMs ?? 0) / 2);
    try {
      await client.connect();
      const { rows } = await client.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state NOT LIKE 'idle%'",
      );
      const working = new Set(rows.map(({ pid }) => pid));
      // A pooler has process ids of its own, which say nothing here.
      return working.has(numberOf(client)) ? (other) => working.has(numberOf(other)) : () => true;
    } catch (error) {
      // A server that says that it is full or starting is there.
      return typeof (error as { severity?: unknown }).severity === 'string' ? () => true : undefined;
    } finally {
      clearTimeout(impatient);
      streamOf(client)?.destroy();
    }
  }

  #failureOf(error: unknown): unknown {
    const kind = kindOf(error);
    if (kind === undefined) return error;
    const { message, code } = error as Error & { code?: string };
    const said = message === '' ? (code ?? 'no answer') : message;
    const text = `the database ${this.shown} ${kind === 'gone' ? 'cannot be reached' : 'rejects this'} (${said})`;
    return new PostgresFailure(kind, text, error);
  }
}

/** One connection writes, one renews the lease, and others read. */
const maxConnections = 4;

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

type Driver = Pick<typeof import('pg'), 'Client' | 'Pool' | 'types'>;

async function loadDriver(): Promise<Driver> {
  try {
    return (await import('pg')).default;
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const text =
      'the package pg, which connects to PostgreSQL, is missing; install it: npm install pg@8.23.1';
    throw new PostgresFailure('wrong', text, error);
  }
}

function streamOf(client: ClientBase): { destroy(): void; bytesRead?: number } | undefined {
  return (client as unknown as { connection?: { stream?: Socket } }).connection?.stream;
}

function bytesReadOf(client: ClientBase): number {
  return streamOf(client)?.bytesRead ?? 0;
}

function numberOf(client: ClientBase): number {
  return (client as unknown as { processID?: number | null }).processID ?? 0;
}

/** Connection lost, starting, stopping, full, standby, or undone for another transaction: worth a retry. */
const goneStates = /^(08...|57P0.|53...|25006|25P03|40001|40P01)$/;
const wrongStates = /^(28...|3D000|42501|0A000|22021|42P01|3F000)$/;

/** Returns undefined for other errors, which are bugs. */
function kindOf(error: unknown): 'gone' | 'wrong' | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (typeof code === 'string' && wrongStates.test(code)) return 'wrong';
  if (typeof code === 'string' && goneStates.test(code)) return 'gone';
  const isOfDriver =
    /^(Connection terminated|timeout e|Query read timeout|Client has encountered a connection error|The server does not support SSL|Client was closed|This socket has been ended|Cannot use a pool after calling end)/.test(
      error.message,
    );
  return syscall !== undefined || isOfDriver || (error as { errors?: unknown }).errors !== undefined
    ? 'gone'
    : undefined;
}

/** Address of a PostgreSQL database: what the driver gets, and what people may see. */
export interface PostgresAddress {
  /** URL for the driver. It may contain a password. */
  url: string;
  /** `db.example.com:5432/name`, without user and password. */
  shown: string;
  /** Parameters of the query that are for this program and not for the driver. */
  own: ReadonlyMap<string, string>;
}

export const postgresExpected =
  'the address of a PostgreSQL database, as ${DATABASE_URL} of the environment: postgres://user:password@host/database';

export function isPostgresAddress(text: string): boolean {
  return /^postgres(ql)?:\/\/\S+$/.test(text) && URL.canParse(text) && new URL(text).pathname.length > 1;
}

/** `names`: parameters that are for this program. */
export function parsePostgresAddress(text: string, names: readonly string[]): PostgresAddress {
  const url = new URL(text);
  const own = new Map<string, string>();
  for (const name of names) {
    const value = url.searchParams.get(name);
    if (value !== null) own.set(name, value);
    url.searchParams.delete(name);
  }
  const host = url.host === '' ? (url.searchParams.get('host') ?? 'localhost') : url.host;
  return { url: url.href, shown: `${host}${url.pathname}`, own };
}
