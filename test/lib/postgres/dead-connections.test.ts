/**
 * Promise: a statement on a dead PostgreSQL connection fails, and a statement that only takes long is waited
 * for.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parsePostgresAddress, Postgres } from '../../../src/lib/postgres/postgres.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../../engines/postgres.ts';
import { CuttableProxy } from '../../fakes/cuttable-proxy.ts';

let server: PostgresServer;

describe.skipIf(noPostgres !== undefined)(
  `PostgreSQL${noPostgres ? ` (skipped: ${noPostgres})` : ''}`,
  () => {
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.stop());

    it('a statement fails if its old connections are dead, and is answered over new ones', async () => {
      const { db, way } = await open();
      await db.query('SELECT 1');
      way.forgetAll();
      await expect(db.query('SELECT 1')).rejects.toMatchObject({ kind: 'gone' });
      expect(await db.query('SELECT 2 AS two')).toEqual([{ two: 2 }]);
    });

    it('a statement fails on a dead connection although new connections answer other statements', async () => {
      const { db, way } = await open();
      await db.query('SELECT 1');
      way.forgetAll();
      const over = new AbortController();
      onTestFinished(() => over.abort());
      const dead = expect(db.query('SELECT 1').finally(() => over.abort())).rejects.toMatchObject({
        kind: 'gone',
      });
      while (!over.signal.aborted) await db.query('SELECT 1').catch(() => undefined);
      await dead;
    });

    it('a statement that waits for another is waited for', async () => {
      const { db, way } = await open();
      const holder = await db.keptSession();
      await holder.query('SELECT pg_advisory_lock(1)');
      const waiting = db.query('SELECT pg_advisory_lock(1)');
      // The connection was checked a few times meanwhile.
      const { made } = way;
      await expect.poll(() => way.made).toBeGreaterThan(made + 3);
      await holder.query('SELECT pg_advisory_unlock(1)');
      expect(await waiting).toHaveLength(1);
      holder.end();
    });

    async function open(): Promise<{ db: Postgres; way: CuttableProxy }> {
      const url = new URL(server.url);
      const way = await CuttableProxy.to(Number(url.port));
      url.port = String(way.port);
      const address = parsePostgresAddress(url.href, []);
      const db = await Postgres.open(address, { connectMs: 10_000, silentMs: 60_000, deadMs: 1_000 });
      onTestFinished(async () => {
        await db.close();
        way.stop();
      });
      return { db, way };
    }
  },
);
