/** Promise: a replica always equals the complete database as of a commit, whatever is done to it. */
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openForWriting, Sqlite } from '../../../src/lib/sqlite/database.ts';
import { applyChanges, type Changes } from '../../../src/service/replication/leading-session.ts';
import { Replica } from '../../../src/service/replication/committed-pages.ts';
import { random, rest, runs, seed } from '../../fakes/tier.ts';

const small = {
  applicationId: 7,
  migrations: ['CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT); CREATE INDEX i ON t (text)'],
};

/**
 * Creates a database and its replica. The store has a copy of the file, and all changes since the copy was
 * begun.
 */
function open(schema = small) {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-replica-'));
  const db = openForWriting(join(dir, 'a.sqlite'), schema);
  const store: { copy: Buffer; log: Changes[] } = { copy: Buffer.alloc(0), log: [] };
  const replica = new Replica(db, 'a.sqlite', async (_, changes) => void store.log.push(changes));
  onTestFinished(() => {
    replica.close();
    db.close();
    rmSync(dir, { recursive: true });
  });
  /** Copies the database page by page. Calls `meanwhile` between two pages. */
  const copy = async (meanwhile: () => void | Promise<void>): Promise<void> => {
    const from = store.log.length;
    expect(replica.truncate()).toBe(true);
    const pages: Buffer[] = [];
    for (;;) {
      const some = await replica.read(pages.length + 1, 1);
      if (some.length === 0) break;
      pages.push(some);
      await meanwhile();
    }
    await replica.settled();
    Object.assign(store, { copy: Buffer.concat(pages), log: store.log.slice(from) });
  };
  const restored = (): unknown[] => {
    const path = join(dir, 'restored.sqlite');
    writeFileSync(path, store.copy);
    const file = openSync(path, 'r+');
    for (const changes of store.log) applyChanges(file, changes);
    closeSync(file);
    const made = new Sqlite(path);
    try {
      expect(made.pragma('integrity_check', { simple: true }), `seed ${seed}`).toBe('ok');
      return made.prepare('SELECT * FROM t ORDER BY id').all();
    } finally {
      made.close();
      for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true });
    }
  };
  const rows = (): unknown[] => db.prepare('SELECT * FROM t ORDER BY id').all();
  return { db, replica, copy, store, restored, rows };
}

const text = (): string => 'x'.repeat(random(3_000));

it('a replica equals the database, whatever is inserted, deleted, undone, vacuumed and truncated, also while it is copied', async () => {
  for (let round = 0; round < runs(12, { ms: 170 }); round++) {
    const { db, replica, copy, restored, rows } = open();
    const insert = db.prepare('INSERT INTO t (text) VALUES (?)');
    const steps: (() => void | Promise<void>)[] = [
      () => void insert.run(text()),
      () => void db.transaction(() => Array.from({ length: random(200) }, () => insert.run(text())))(),
      () => void db.prepare('DELETE FROM t WHERE id % ? = 0').run(2 + random(4)),
      () => {
        // This is more than the cache holds, so a part is already in the log.
        db.exec('BEGIN');
        for (let i = 0; i < random(4_000); i++) insert.run(text());
        db.exec('ROLLBACK');
      },
      () => void db.exec('VACUUM'),
      () => replica.truncate(),
      () => replica.settled(),
      () => {
        let left = random(4);
        return copy(() => (left-- > 0 ? steps[random(steps.length - 1)]?.() : undefined));
      },
    ];
    for (let step = 0; step < 30; step++) await steps[random(steps.length)]?.();
    await replica.settled();
    expect(restored(), `seed ${seed}`).toEqual(rows());
  }
});

it.each(['written', 'not written'])(
  'a database that shrinks and grows again is there, with its end %s in between',
  async (between) => {
    const { db, replica, restored, rows } = open();
    const fill = (): void => {
      const insert = db.prepare('INSERT INTO t (text) VALUES (?)');
      for (let i = 0; i < 300; i++) insert.run('x'.repeat(1_000));
    };
    fill();
    // The pages are in the file, and stay there until the log is restarted.
    replica.truncate();
    db.exec('DELETE FROM t; VACUUM');
    if (between === 'written') await replica.settled();
    fill();
    await replica.settled();
    expect(restored()).toEqual(rows());
  },
);

it('a replica does not contain a transaction that has not ended', async () => {
  const { db, replica, restored, rows } = open();
  db.prepare("INSERT INTO t (text) VALUES ('kept')").run();
  const before = rows();
  db.exec('BEGIN');
  for (let i = 0; i < 4_000; i++) db.prepare('INSERT INTO t (text) VALUES (?)').run('y'.repeat(2_000));
  await replica.settled();
  expect(restored()).toEqual(before);
  db.exec('COMMIT');
  await replica.settled();
  expect(restored()).toEqual(rows());
});

rest.it('every change that a new version makes to a large database is there', async () => {
  const rewritten = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
    INSERT INTO t (text) SELECT hex(randomblob(1500)) FROM n`;
  const { db, replica, restored, rows } = open({ ...small, migrations: [...small.migrations, rewritten] });
  db.prepare("INSERT INTO t (text) VALUES ('new')").run();
  await replica.settled();
  expect(restored()).toEqual(rows());
});

rest.it('a long log is restarted, and later writes are included', async () => {
  const { db, replica, restored, rows } = open();
  const insert = db.prepare('INSERT INTO t (text) VALUES (?)');
  for (let i = 0; i < 6; i++) {
    db.transaction(() => Array.from({ length: 2_000 }, () => insert.run('z'.repeat(2_500))))();
    await replica.settled();
  }
  insert.run('last');
  await replica.settled();
  expect(restored()).toEqual(rows());
});

it('says if another program that reads the file is in the way of a copy', () => {
  const { db, replica } = open();
  db.pragma('busy_timeout = 0');
  db.prepare("INSERT INTO t (text) VALUES ('x')").run();
  const reader = new Sqlite(db.name);
  reader.exec('BEGIN');
  reader.prepare('SELECT * FROM t').all();
  db.prepare("INSERT INTO t (text) VALUES ('y')").run();
  expect(replica.truncate()).toBe(false);
  reader.close();
  expect(replica.truncate()).toBe(true);
});

it('little is written of a page in which little has changed, once the page is known', async () => {
  const { db, replica, store } = open();
  const insert = db.prepare('INSERT INTO t (text) VALUES (?)');
  for (let i = 0; i < 100; i++) insert.run('x'.repeat(300));
  await replica.settled();
  const before = store.log.length;
  for (let i = 0; i < 20; i++) {
    insert.run(`changed ${i}`);
    await replica.settled();
  }
  const bytes = store.log.slice(before).reduce((sum, { packed }) => sum + packed.length, 0);
  expect(bytes / 20).toBeLessThan(1_000);
});
