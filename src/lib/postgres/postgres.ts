/** A small pool of connections to one PostgreSQL database; the driver is loaded with the first of them. */
import type { Socket } from 'node:net';
import type { Client, ClientBase, ClientConfig, Pool, QueryResultRow } from 'pg';
import type { PostgresAddress } from './address.ts';

/**
 * - `gone`: it cannot be reached or asks to come again; the same may succeed later
 * - `wrong`: it answers, and does not let us do this
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

/** What it holds, such as a lock, it holds until it ends. */
export interface KeptSession {
  /** A statement with a `name` is sent once, later only what it is given. */
  query<Row extends QueryResultRow>(text: string, values?: unknown[], name?: string): Promise<Row[]>;
  /** Aborted as soon as it is known that it has ended. */
  ended: AbortSignal;
  end(): void;
}

interface Limits {
  /** Waits for a connection end after this time. */
  connectMs: number;
  /** A transaction whose program says nothing for so long is undone: it may have been stopped, and holds locks. */
  silentMs: number;
  /** Whatever is not answered by then has failed as `gone`. */
  answerMs?: number;
  /** For statements that may wait for one another for long: one has failed as `gone` where a new connection is told for so long that the server does not work on it, and all where that is not answered. */
  deadMs?: number;
  /** How long `close` waits for a server that does not hear the farewell; 2 s if left out. */
  farewellMs?: number;
}

export class Postgres implements PostgresSession {
  /** `host/database`, for people. */
  readonly shown: string;
  readonly #pool: Pool;
  readonly #connect: () => Client;
  readonly #silentMs: number;
  readonly #farewellMs: number;
  /** A connection has broken that nobody used: nothing fails, and yet the server may be another one. */
  onBroken: () => void = () => undefined;
  readonly #open = new Set<ClientBase>();
  #deadMs: number | undefined;
  /** Each statement that is not answered yet. */
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
    // A connection that breaks while nobody uses it is replaced with the next use.
    pool.on('error', () => this.onBroken());
    pool.on('connect', (client) => this.#open.add(client));
    pool.on('remove', (client) => this.#open.delete(client));
  }

  /** Nothing is connected yet. Throws `PostgresFailure` where the driver is not installed. */
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
        // Keys, counts and instants: all of them are exact as numbers.
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

  /** Committed when `work` resolves, undone when it rejects. `mode` follows BEGIN. */
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

  /** On a connection of its own. */
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

  /** Makes all waits short from now on: a server that answers accepts a connection within `connectMs`. */
  hurry(connectMs = 1_000): void {
    this.#pool.options.connectionTimeoutMillis = connectMs;
    this.#deadMs = 2 * connectMs;
  }

  /** Breaks every connection: what waits for an answer fails as `gone`. */
  cut(): void {
    for (const client of this.#open) streamOf(client)?.destroy();
  }

  /** A server that does not hear the farewell is not waited for. */
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
    // Said by the query as well; without a listener it would end the process.
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
    this.#watchLater();
    try {
      return (await client.query<Row>({ text, values, ...(name !== undefined && { name }) })).rows;
    } catch (error) {
      throw this.#failureOf(error);
    } finally {
      this.#waiting.delete(asked);
    }
  }

  /** A cut line brings no error, and a server that was stopped answers nothing: who waits asks, and breaks the connections itself. */
  #watchLater(): void {
    if (this.#deadMs === undefined || this.#watch !== undefined) return;
    const asked = [...this.#waiting].map((one) => ({ one, read: bytesReadOf(one.client) }));
    this.#watch = setTimeout(() => void this.#look(asked), this.#deadMs / 2).unref();
  }

  /** Old connections may be dead where new ones are not: behind a firewall that forgot them, or where the name leads to another server by now. */
  async #look(asked: { one: { client: ClientBase }; read: number }[]): Promise<void> {
    const isLate = asked.some(({ one }) => this.#waiting.has(one));
    const isAtWork = isLate ? await this.#askWhichWork() : () => true;
    if (isAtWork === undefined) this.cut();
    // The server has nothing to do any more while a long answer is on its way.
    for (const { one, read } of asked)
      if (this.#waiting.has(one) && isAtWork?.(one.client) === false && bytesReadOf(one.client) === read)
        streamOf(one.client)?.destroy();
    this.#watch = undefined;
    if (this.#waiting.size > 0) this.#watchLater();
  }

  /** Which connections have a statement that the server works on, or that waits there; undefined where it does not answer. */
  async #askWhichWork(): Promise<((client: ClientBase) => boolean) | undefined> {
    const client = this.#connect();
    client.on('error', () => undefined);
    const impatient = setTimeout(() => streamOf(client)?.destroy(), (this.#deadMs ?? 0) / 2);
    try {
      await client.connect();
      const { rows } = await client.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state NOT LIKE 'idle%'",
      );
      const working = new Set(rows.map(({ pid }) => pid));
      // A pooler has numbers of its own, by which nothing is known here.
      return working.has(numberOf(client)) ? (other) => working.has(numberOf(other)) : () => true;
    } catch (error) {
      // What says that it is full or starting is there.
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

/** One writes, one keeps the lease, others read. */
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
    const text = 'the package pg, which speaks to PostgreSQL, is missing; install it: npm install pg@8.23.1';
    throw new PostgresFailure('wrong', text, error);
  }
}

function streamOf(client: ClientBase): { destroy(): void; bytesRead?: number } | undefined {
  return (client as unknown as { connection?: { stream?: Socket } }).connection?.stream;
}

function bytesReadOf(client: ClientBase): number {
  return streamOf(client)?.bytesRead ?? 0;
}

/** The server's, of the process that serves it. */
function numberOf(client: ClientBase): number {
  return (client as unknown as { processID?: number | null }).processID ?? 0;
}

/** Lost, starting, ending, full, a standby by now; and what the server undid for the sake of another: to be tried again. */
const goneStates = /^(08...|57P0.|53...|25006|25P03|40001|40P01)$/;
const wrongStates = /^(28...|3D000|42501|0A000|22021|42P01|3F000)$/;

/** Undefined for what is neither: a bug. */
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
