/**
 * Promise: data given to a store is read back complete and unchanged, whoever leads next and whatever was in
 * progress.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { parsePostgresAddress, Postgres } from '../../../src/lib/postgres/postgres.ts';
import {
  type LeadingSession,
  packPage,
  pageBytes,
} from '../../../src/service/replication/leading-session.ts';
import { PageStore, schemaParameter } from '../../../src/service/replication/page-store.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../../engines/postgres.ts';

let server: PostgresServer;
let schemas = 0;
let sql: Postgres;

describe.skipIf(noPostgres !== undefined)(
  `a shared store${noPostgres ? ` (skipped: ${noPostgres})` : ''}`,
  () => {
    beforeAll(async () => {
      server = await startPostgres();
      sql = await Postgres.open(parsePostgresAddress(server.url, []), { connectMs: 5_000, silentMs: 10_000 });
    });
    afterAll(async () => {
      await sql.close();
      await server.stop();
    });

    const newSchema = (): string => `stored_${++schemas}`;

    const open = async (schema: string): Promise<PageStore> => {
      const address = parsePostgresAddress(`${server.url}?schema=${schema}`, [schemaParameter]);
      const store = await PageStore.open(address);
      onTestFinished(() => store.close());
      await store.prepare();
      return store;
    };

    /** Waits until no other process leads, then leads. */
    const lead = async (store: PageStore, term: string): Promise<LeadingSession> => {
      let session: LeadingSession | undefined;
      await expect.poll(async () => (session = await store.lead())).toBeDefined();
      if (session === undefined) throw new Error('it leads');
      onTestFinished(() => session?.end());
      await session.announce({ url: 'http://one', term });
      return session;
    };

    const restored = async (session: LeadingSession, name = 'a'): Promise<Buffer | undefined> => {
      const dir = mkdtempSync(join(tmpdir(), 'nightrender-store-'));
      onTestFinished(() => rmSync(dir, { recursive: true }));
      return (await session.restore(name, join(dir, name))) ? readFileSync(join(dir, name)) : undefined;
    };

    const filled = (...bytes: number[]): Buffer =>
      Buffer.concat(bytes.map((byte) => Buffer.alloc(pageBytes, byte)));

    const whole = (page: number, byte: number): Buffer => packPage(page, undefined, filled(byte));

    /** Returns a database to copy: three pages filled with 1. */
    const ones = (read = async (): Promise<void> => undefined) => ({
      name: 'a',
      truncate: () => true,
      read: async (first: number) => {
        await read();
        return first === 1 ? filled(1, 1, 1) : Buffer.alloc(0);
      },
    });

    const settled = async (): Promise<void> => undefined;

    const tablesOf = async (schema: string): Promise<string[]> =>
      (
        await sql.query<{ tablename: string }>(
          "SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename ~ '^page' ORDER BY 1",
          [schema],
        )
      ).map((row) => row.tablename);

    it('if the leader is gone in the middle of a copy, the store has what was before and what came since', async () => {
      const schema = newSchema();
      const first = await lead(await open(schema), 'first');
      await first.write('first', 'a', {
        packed: Buffer.concat([1, 2, 3].map((page) => whole(page, 1))),
        count: 3,
      });
      await first.write('first', 'b', { packed: whole(1, 7), count: 1 });
      const copying = first.copy(
        'first',
        [
          ones(async () => {
            await first.write('first', 'a', { packed: whole(2, 2), count: 3 });
            first.end();
          }),
        ],
        settled,
      );
      await expect(copying).rejects.toThrow();
      const second = await lead(await open(schema), 'second');
      expect(await restored(second)).toEqual(filled(1, 2, 1));
      expect(await restored(second, 'b')).toEqual(filled(7));
      expect(await restored(second, 'c')).toBeUndefined();
      await second.write('second', 'a', { packed: whole(3, 3), count: 3 });
      await second.copy('second', [ones()], settled);
      await second.write('second', 'a', { packed: whole(1, 4), count: 2 });
      second.end();
      const third = await lead(await open(schema), 'third');
      expect(await restored(third)).toEqual(filled(4, 1));
    });

    it('a copy by a process that no longer leads does not count', async () => {
      const schema = newSchema();
      const session = await lead(await open(schema), 'first');
      await session.write('first', 'a', { packed: whole(1, 5), count: 1 });
      await session.announce({ url: 'http://two', term: 'second' });
      await session.copy('first', [ones()], settled);
      expect(await restored(session)).toEqual(filled(5));
    });

    it('the store keeps nothing old beyond the next copy, also while a long transaction is open or a dump holds it', async () => {
      const schema = newSchema();
      const store = await open(schema);
      const session = await lead(store, 'first');
      await session.write('first', 'a', { packed: whole(1, 5), count: 1 });
      const dump = await sql.keptSession();
      onTestFinished(() => dump.end());
      await dump.query(`BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM ${schema}.page_log_0`);
      for (let copy = 0; copy < 3; copy++) {
        await session.copy('first', [ones()], settled);
        await store.forgetOld();
      }
      expect(await tablesOf(schema)).toEqual(['page_copy_0', 'page_copy_3', 'page_log_0', 'page_log_3']);
      await dump.query('COMMIT');
      await store.forgetOld();
      expect(await tablesOf(schema)).toEqual(['page_copy_3', 'page_log_3']);
    });

    it('the store is copied within an hour of a change, since deleted data is still in its log, and not without a change', async () => {
      const session = await lead(await open(newSchema()), 'first');
      await session.copy('first', [ones()], settled);
      vi.useFakeTimers({ toFake: ['performance'] });
      onTestFinished(() => void vi.useRealTimers());
      vi.advanceTimersByTime(2 * 60 * 60_000);
      expect(session.isCopyDue).toBe(false);
      await session.write('first', 'a', { packed: whole(1, 5), count: 3 });
      expect(session.isCopyDue).toBe(true);
      await session.copy('first', [ones()], settled);
      expect(session.isCopyDue).toBe(false);
    });

    it('a store of an earlier version is taken over, and that version leads no more', async () => {
      const schema = newSchema();
      await sql.query(`CREATE SCHEMA ${schema};
      CREATE TABLE ${schema}.leader (
        one bool PRIMARY KEY DEFAULT true CHECK (one), url text, term text,
        writes bigint NOT NULL DEFAULT 0, secret bytea NOT NULL);
      INSERT INTO ${schema}.leader (url, term, writes, secret) VALUES ('http://old', 'old', 3, 'x');
      CREATE TABLE ${schema}.files (name text PRIMARY KEY, bytes bytea NOT NULL);
      CREATE TABLE ${schema}.pages (database text NOT NULL, page int NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (database, page))`);
      for (const page of [1, 2, 3])
        await sql.query(`INSERT INTO ${schema}.pages VALUES ('a', $1, $2)`, [page, filled(page)]);
      const session = await lead(await open(schema), 'new');
      expect(await restored(session)).toEqual(filled(1, 2, 3));
      await session.write('new', 'a', { packed: whole(2, 9), count: 3 });
      expect(await restored(session)).toEqual(filled(1, 9, 3));
      expect(await tablesOf(schema)).not.toContain('pages');
      expect(await (await open(schema)).leader()).toMatchObject({ term: 'new', writes: 4 });
    });
  },
);
