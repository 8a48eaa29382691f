/** The checkpoint contract in memory and on file, and what only a file can show. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openCheckpoint } from '../../src/checkpoint/open-checkpoint.ts';
import { checkpointSchema } from '../../src/checkpoint/schema.ts';
import { SqliteCheckpoint } from '../../src/checkpoint/sqlite-checkpoint.ts';
import type { Checkpoint } from '../../src/pipeline/ports.ts';
import { openForWriting, UnusableDatabase } from '../../src/sqlite/database.ts';
import { GroupCommit } from '../../src/sqlite/group-commit.ts';
import { endpoint, manifestOf } from '../fakes/world.ts';
import { checkpointContract } from './checkpoint.contract.ts';

const batch = { manifest: ['list.csv'], endpoint, columns: ['id', 'scene'] };

describe('in memory', () => {
  checkpointContract(() => {
    const db = new Sqlite(':memory:');
    for (const statements of checkpointSchema.migrations) db.exec(statements);
    db.exec("INSERT INTO runs (pid, host, program, started_at) VALUES (1, 'here', 'test', 0)");
    return { checkpoint: new SqliteCheckpoint(db, 1), reopen: () => new SqliteCheckpoint(db, 1) };
  });
});

describe('on file', () => {
  checkpointContract(() => {
    const dir = folder();
    const open = (): Checkpoint => {
      const opened = openCheckpoint(dir, 'test', batch, 0);
      onTestFinished(() => opened.close());
      return opened.checkpoint;
    };
    return { checkpoint: open(), reopen: open };
  });

  it('is for the eyes of its owner', () => {
    const dir = folder();
    openCheckpoint(dir, 'test', batch, 0).close();
    expect(statSync(join(dir, 'checkpoint.sqlite')).mode & 0o777).toBe(0o600);
  });

  it('is durable at every commit: WAL with synchronous=FULL, read back after a write', async () => {
    const db = openForWriting(join(folder(), 'x.sqlite'), checkpointSchema);
    onTestFinished(() => void db.close());
    db.exec("INSERT INTO batch VALUES ('a', 'b')");
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(db.pragma('synchronous', { simple: true })).toBe(2);
  });

  it('commits what belongs together at once, and each promise waits for its commit', async () => {
    const db = openForWriting(join(folder(), 'x.sqlite'), checkpointSchema);
    onTestFinished(() => void db.close());
    const other = new Sqlite(db.name, { readonly: true });
    onTestFinished(() => void other.close());
    const seen = (): unknown => other.prepare('SELECT count(*) AS n FROM batch').get();
    const commits = new GroupCommit(db);
    const write = (name: string): Promise<unknown> =>
      commits.write(() => db.prepare("INSERT INTO batch VALUES (?, '')").run(name)).then(seen);
    const before = seen();
    const after = await Promise.all([write('a'), write('b'), write('c')]);
    expect(before).toEqual({ n: 0 });
    expect(after).toEqual([{ n: 3 }, { n: 3 }, { n: 3 }]);
    const group = [write('d'), write('a')];
    expect((await Promise.allSettled(group)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(seen()).toEqual({ n: 3 });
  });
});

describe('a file that is not ours to change', () => {
  it('by another program is refused in a sentence and left as it is', () => {
    const path = join(folder(), 'x.sqlite');
    const foreign = new Sqlite(path);
    foreign.exec('CREATE TABLE theirs (x); PRAGMA application_id = 77');
    foreign.close();
    expect(() => openForWriting(path, checkpointSchema)).toThrow(UnusableDatabase);
    expect(new Sqlite(path).prepare('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'theirs' }]);
  });

  it('by a newer version is refused in a sentence', () => {
    const dir = folder();
    openCheckpoint(dir, 'test', batch, 0).close();
    const db = new Sqlite(join(dir, 'checkpoint.sqlite'));
    db.pragma('user_version = 99');
    db.close();
    expect(() => openCheckpoint(dir, 'test', batch, 0)).toThrow(/newer version of nightrender \(format 99/);
  });
});

it('reads a list of 10,000 in any order as the same scenes', async () => {
  const dir = folder();
  const opened = openCheckpoint(dir, 'test', batch, 0);
  onTestFinished(() => opened.close());
  const pairs = Array.from({ length: 10_000 }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]);
  await opened.checkpoint.reconcile(manifestOf(pairs), 1);
  const plan = await opened.checkpoint.reconcile(manifestOf(pairs.toReversed()), 2);
  expect(plan).toEqual({ added: 0, changed: 0, unchanged: 10_000, withdrawn: 0 });
});

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-checkpoint-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
