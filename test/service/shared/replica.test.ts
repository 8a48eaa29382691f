/** Promise: what a replica has written is the database as of a commit, whole, whatever is done to it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Sqlite } from '../../../src/lib/sqlite/better-sqlite3.ts';
import { openForWriting } from '../../../src/lib/sqlite/database.ts';
import { Replica } from '../../../src/service/shared/replica.ts';
import { random, seed } from '../../fakes/sampled.ts';
import { runs } from '../../fakes/whole.ts';

const small = {
  applicationId: 7,
  migrations: ['CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT); CREATE INDEX i ON t (text)'],
};

/** A database with its replica, of which the pages are kept here. */
function open(schema = small) {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-replica-'));
  const db = openForWriting(join(dir, 'a.sqlite'), schema);
  const pages = new Map<number, Buffer>();
  let count = 0;
  const replica = new Replica(db, 'a.sqlite', async (_, changes) => {
    for (const [page, bytes] of changes.pages) pages.set(page, Buffer.from(bytes));
    ({ count } = changes);
    for (const page of pages.keys()) if (page > count) pages.delete(page);
  });
  onTestFinished(() => {
    replica.close();
    db.close();
    rmSync(dir, { recursive: true });
  });
  const restored = (): unknown[] => {
    expect([...pages.keys()].toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: count }, (_, i) => i + 1),
    );
    const path = join(dir, 'restored.sqlite');
    rmSync(path, { force: true });
    writeFileSync(
      path,
      Buffer.concat(Array.from({ length: count }, (_, i) => pages.get(i + 1) ?? Buffer.alloc(0))),
    );
    const copy = new Sqlite(path);
    try {
      expect(copy.pragma('integrity_check', { simple: true }), `seed ${seed}`).toBe('ok');
      return copy.prepare('SELECT * FROM t ORDER BY id').all();
    } finally {
      copy.close();
      for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true });
    }
  };
  const rows = (): unknown[] => db.prepare('SELECT * FROM t ORDER BY id').all();
  return { db, replica, restored, rows };
}

const text = (): string => 'x'.repeat(random(3_000));

it('whatever is inserted, deleted, undone, vacuumed and truncated', async () => {
  for (let round = 0; round < runs(12); round++) {
    const { db, replica, restored, rows } = open();
    const insert = db.prepare('INSERT INTO t (text) VALUES (?)');
    const steps: (() => void | Promise<void>)[] = [
      () => void insert.run(text()),
      () => void db.transaction(() => Array.from({ length: random(200) }, () => insert.run(text())))(),
      () => void db.prepare('DELETE FROM t WHERE id % ? = 0').run(2 + random(4)),
      () => {
        // More than the cache holds: some of it is in the log by now.
        db.exec('BEGIN');
        for (let i = 0; i < random(4_000); i++) insert.run(text());
        db.exec('ROLLBACK');
      },
      () => void db.exec('VACUUM'),
      () => replica.truncate(),
      () => replica.settled(),
    ];
    for (let step = 0; step < 30; step++) await steps[random(steps.length)]?.();
    await replica.settled();
    expect(restored(), `seed ${seed}`).toEqual(rows());
  }
});

it('a transaction that is not over is none of it', async () => {
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

it('what a new version makes of a large database is there, all of it', async () => {
  const rewritten = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
    INSERT INTO t (text) SELECT hex(randomblob(1500)) FROM n`;
  const { db, replica, restored, rows } = open({ ...small, migrations: [...small.migrations, rewritten] });
  db.prepare("INSERT INTO t (text) VALUES ('new')").run();
  await replica.settled();
  expect(restored()).toEqual(rows());
});

it('a log that has grown begins anew, and what is written after it is there', async () => {
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
