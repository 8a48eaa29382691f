/**
 * Promise: only the leading process writes, and always on top of the latest state of the store, whatever
 * happens to its session.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { parsePostgresAddress, Postgres } from '../../../src/lib/postgres/postgres.ts';
import { Leadership, type LedService, type Write } from '../../../src/service/replication/leadership.ts';
import { type Copied, packPage, pageBytes } from '../../../src/service/replication/leading-session.ts';
import { PageStore, schemaParameter } from '../../../src/service/replication/page-store.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../../engines/postgres.ts';

let server: PostgresServer;
let schemas = 0;
let sql: Postgres;

const page = { packed: packPage(1, undefined, Buffer.alloc(pageBytes, 7)), count: 1 };

describe.skipIf(noPostgres !== undefined)(
  `leadership${noPostgres ? ` (skipped: ${noPostgres})` : ''}`,
  () => {
    beforeAll(async () => {
      server = await startPostgres();
      sql = await Postgres.open(parsePostgresAddress(server.url, []), { connectMs: 5_000, silentMs: 10_000 });
    });
    afterAll(async () => {
      await sql.close();
      await server.stop();
    });

    const open = async (schema: string): Promise<PageStore> => {
      const store = await PageStore.open(
        parsePostgresAddress(`${server.url}?schema=${schema}`, [schemaParameter]),
      );
      onTestFinished(() => store.close());
      await store.prepare();
      return store;
    };

    /** Creates a process. `opened` lists the services that it has opened, the newest last. */
    const process = async (
      schema: string,
      whenOpened: (write: Write) => Promise<void>,
      databases: Copied[] = [],
    ) => {
      const problems: string[] = [];
      const opened: { isClosed: boolean; close: () => Promise<void> }[] = [];
      const store = await open(schema);
      const leadership = new Leadership({
        store,
        url: `http://${schema}`,
        open: async (_, write) => {
          await whenOpened(write);
          const close = async (): Promise<void> => void (service.isClosed = true);
          const service = { isClosed: false, databases, settled: async () => undefined, close };
          opened.push(service);
          return service;
        },
        onProblem: (text) => problems.push(text),
        onChange: () => undefined,
        onTerm: () => undefined,
        onStuck: () => undefined,
      });
      onTestFinished(() => leadership.stop());
      return { leadership, opened, store, problems };
    };

    const endSession = async (): Promise<void> => {
      await sql.query(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'`);
    };

    /** Returns the service with which the process may answer now. */
    const serviceOf = async (leadership: Leadership<LedService>) => {
      const since = performance.now();
      await leadership.news();
      return leadership.serviceFor(since);
    };

    const newSchema = (): string => `led_${++schemas}`;

    it('pages of a term that is over are not taken, also if its session holds the lock', async () => {
      const session = await (await open(newSchema())).lead();
      await session?.announce({ url: 'http://one', term: 'first' });
      expect(await session?.write('first', 'a', page)).toBe(1);
      await session?.announce({ url: 'http://two', term: 'second' });
      expect(await session?.write('first', 'a', page)).toBeUndefined();
      expect(await session?.write('second', 'a', page)).toBe(2);
      session?.end();
    });

    it('if another process has led in between and failed, it opens the state of the store again', async () => {
      const schema = newSchema();
      const { leadership, opened, store } = await process(schema, async () => undefined);
      await leadership.start();
      const failures: Error[] = [];
      const other = await process(schema, async (write) => {
        await write('a', page);
        failures.push(new Error('no room on its disk'));
        throw failures[0];
      });
      await other.leadership.start();
      const [before] = opened;
      // The other process is the first to ask for the lock.
      const asks = vi.spyOn(store, 'lead').mockResolvedValue(undefined);
      await endSession();
      await expect.poll(() => failures.length).toBe(1);
      asks.mockRestore();
      await expect.poll(() => before?.isClosed).toBe(true);
      await expect.poll(async () => (await serviceOf(leadership)) === opened.at(-1)).toBe(true);
      expect(opened.at(-1)).not.toBe(before);
    });

    it('if the store lacks the last writes, for example after a failover, it opens the state of the store again', async () => {
      const schema = newSchema();
      const { leadership, opened } = await process(schema, (write) => write('a', page));
      await leadership.start();
      await expect.poll(() => serviceOf(leadership)).toBeDefined();
      await sql.query(`UPDATE ${schema}.leader SET writes = 0; DELETE FROM ${schema}.page_log_0`);
      await endSession();
      await expect.poll(() => opened.length).toBe(2);
      expect(opened[0]?.isClosed).toBe(true);
    });

    it('a long log is restarted with a new copy, while other work continues', async () => {
      const schema = newSchema();
      const bytes = randomBytes(9 * 1024 * 1024);
      const count = bytes.length / pageBytes;
      const pages = Array.from({ length: count }, (_, i) =>
        packPage(i + 1, undefined, bytes.subarray(i * pageBytes, (i + 1) * pageBytes)),
      );
      const database = {
        name: 'a',
        truncate: () => true,
        read: async (first: number, some: number) =>
          bytes.subarray((first - 1) * pageBytes, (first - 1 + some) * pageBytes),
      };
      const { leadership, problems } = await process(
        schema,
        (write) => write('a', { packed: Buffer.concat(pages), count }),
        [database],
      );
      await leadership.start();
      const tables = async (): Promise<unknown[]> =>
        (
          await sql.query("SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename ~ '^page'", [
            schema,
          ])
        ).map((row) => row['tablename']);
      await expect.poll(async () => new Set(await tables())).toEqual(new Set(['page_copy_1', 'page_log_1']));
      const [copied] = await sql.query(`SELECT count(*) AS parts FROM ${schema}.page_copy_1`);
      expect(copied).toEqual({ parts: Math.ceil(count / 64) });
      expect(problems).toEqual([]);
    });

    it('an outage is reported once, however many requests arrive meanwhile', async () => {
      const { leadership, store, problems } = await process(newSchema(), async () => undefined);
      await leadership.start();
      const spies = [
        vi.spyOn(store, 'leader').mockRejectedValue(new Error('no answer')),
        vi.spyOn(store, 'lead').mockRejectedValue(new Error('no connection')),
      ];
      onTestFinished(() => spies.forEach((spy) => spy.mockRestore()));
      await endSession();
      while ((spies[1]?.mock.calls.length ?? 0) < 3) await leadership.news();
      expect(problems.toSorted()).toEqual([...new Set(problems)].toSorted());
      expect(problems).toEqual(expect.arrayContaining(['no answer', 'no connection']));
    });

    it('a session that ends while the state is opened is reported, and not waited for', async () => {
      const { leadership } = await process(newSchema(), async (write) => {
        await endSession();
        await write('a', page);
      });
      await expect(leadership.start()).rejects.toThrow(/cannot be reached/);
    });
  },
);
