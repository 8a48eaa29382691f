/**
 * Promise: writes that share a commit and an fsync resolve only once they are on disk, and a disk failure
 * rejects all of them.
 */
import type * as Fs from 'node:fs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Database, openForWriting, Sqlite } from '../../../src/lib/sqlite/database.ts';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { GroupCommit, type CommitMarker } from '../../../src/lib/sqlite/group-commit.ts';

type Done = (error: NodeJS.ErrnoException | null) => void;

/** Syncs of the log that the disk has not completed yet. */
const disk = vi.hoisted(() => ({ syncs: [] as Done[] }));

vi.mock('node:fs', async (original) => ({
  ...(await original<typeof Fs>()),
  fdatasync: (_: number, done: Done) => void disk.syncs.push(done),
}));

beforeEach(() => void disk.syncs.splice(0));

it('counts a write as done only when its log is on the disk', async () => {
  const { commits, write, seen } = book();
  const done = settled(write('a'));
  await committed();
  expect(seen()).toEqual(['a']);
  expect(done).toEqual([]);
  answer();
  await nextTurn();
  expect(done).toEqual(['a']);
  commits.close();
});

it('groups writes that are requested while the disk is busy, in their order', async () => {
  const { write, seen } = book();
  const done = ['a', 'b', 'c'].map((name) => settled(write(name)));
  await committed();
  done.push(settled(write('d')));
  await nextTurn();
  done.push(settled(write('e')));
  await nextTurn();
  expect(seen()).toEqual(['a', 'b', 'c']);
  answer();
  await committed();
  expect(seen()).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(done.flat()).toEqual(['a', 'b', 'c']);
  answer();
  await nextTurn();
  expect(done.flat()).toEqual(['a', 'b', 'c', 'd', 'e']);
});

it('keeps nothing of a group in which a write throws', async () => {
  const { write, seen } = book();
  const first = write('a');
  await committed();
  answer();
  await first;
  const group = [write('d'), write('a')];
  expect((await Promise.allSettled(group)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(seen()).toEqual(['a']);
  const next = write('e');
  await committed();
  answer();
  await next;
});

it('rejects further writes once an fsync has failed, because the state of the disk is unknown', async () => {
  const { commits, write } = book();
  const group = Promise.allSettled([write('a'), write('b')]);
  await committed();
  const later = [write('c')];
  answer('EIO');
  const lost = { status: 'rejected', reason: { code: 'EIO' } };
  expect(await group).toMatchObject([lost, lost]);
  later.push(write('d'));
  const alone = commits.writeAlone(() => Promise.resolve());
  expect(await Promise.allSettled([...later, alone])).toMatchObject([lost, lost, lost]);
  expect(disk.syncs).toEqual([]);
});

it('rejects a group whose end cannot be read back, with or without a sync of its own', async () => {
  const marker = {
    beforeCommit: () => undefined,
    reached: () => {
      throw new Error('disk I/O error');
    },
  };
  const { commits } = book(undefined, marker);
  await expect(commits.write(() => undefined)).rejects.toThrow('disk I/O error');
  const flushed = commits.write(() => undefined);
  void commits.flush();
  await expect(flushed).rejects.toThrow('disk I/O error');
});

it('does not wait for the disk if a write must only survive a crash of the program', async () => {
  const { db, commits, insert, seen } = book();
  const levels: unknown[] = [];
  await commits.writeUnsynced(() => {
    levels.push(db.pragma('synchronous', { simple: true }));
    insert('a');
  });
  expect(seen()).toEqual(['a']);
  expect(disk.syncs).toEqual([]);
  expect(levels).toEqual([1]);
  expect(db.pragma('synchronous', { simple: true })).toBe(2);
});

it('a write that need not be synced does not wait for a sync, and makes earlier writes durable with the next one', async () => {
  const { commits, write, insert, seen } = book();
  const done = [settled(write('a'))];
  await committed();
  done.push(settled(write('b')));
  await commits.writeUnsynced(() => insert('c'));
  expect(seen()).toEqual(['a', 'b', 'c']);
  expect(disk.syncs).toHaveLength(1);
  expect(done.flat()).toEqual([]);
  answer();
  await nextTurn();
  expect(done.flat()).toEqual(['a']);
  expect(disk.syncs).toHaveLength(1);
  answer();
  await nextTurn();
  expect(done.flat()).toEqual(['a', 'b']);
});

it('rejects the writes of a commit that waits for another sync if that sync fails', async () => {
  const { commits, write, insert } = book();
  const first = Promise.allSettled([write('a')]);
  await committed();
  const second = Promise.allSettled([write('b')]);
  await commits.writeUnsynced(() => insert('c'));
  answer('EIO');
  const lost = { status: 'rejected', reason: { code: 'EIO' } };
  expect(await first).toMatchObject([lost]);
  answer();
  expect(await second).toMatchObject([lost]);
});

it('syncs by itself what is flushed, and what is written alone', async () => {
  const { db, commits, insert, seen } = book();
  const levels: unknown[] = [];
  const write = (name: string): void => {
    levels.push(db.pragma('synchronous', { simple: true }));
    insert(name);
  };
  const flushed = commits.write(() => write('a'));
  await commits.flush();
  expect(seen()).toEqual(['a']);
  await flushed;
  await commits.writeAlone(async () => {
    write('b');
    await nextTurn();
    write('c');
  });
  expect(seen()).toEqual(['a', 'b', 'c']);
  expect(levels).toEqual([2, 2, 2]);
  expect(disk.syncs).toEqual([]);
});

it('resolves a flush once the earlier writes are on disk', async () => {
  const { commits, write } = book();
  const done = settled(write('a'));
  await committed();
  const flushed = settled(commits.flush().then(() => done[0] ?? 'nothing'));
  await nextTurn();
  expect(flushed).toEqual([]);
  answer();
  await nextTurn();
  expect(flushed).toEqual(['a']);
});

it('commits what came meanwhile after what was written alone', async () => {
  const { commits, insert, write, seen } = book();
  const before = write('before');
  let beside: Promise<string> | undefined;
  const alone = commits.writeAlone(async () => {
    beside = write('beside');
    await nextTurn();
    insert('alone');
    throw new Error('not after all');
  });
  await expect(alone).rejects.toThrow('not after all');
  await committed();
  expect(seen()).toEqual(['before', 'beside']);
  answer();
  await Promise.all([before, beside]);
});

it('rejects requests after the end', async () => {
  const { db, commits, write } = book();
  commits.close();
  db.close();
  await expect(write('a')).rejects.toThrow('not open');
});

it('works without a log in memory', async () => {
  const { commits, write } = book(new Sqlite(':memory:'));
  await Promise.all([write('a'), commits.writeUnsynced(() => 'b')]);
  expect(disk.syncs).toEqual([]);
});

function book(db = onDisk(), marker?: CommitMarker) {
  if (db.memory) db.exec(table);
  const other = db.memory ? db : new Sqlite(db.name, { readonly: true });
  const commits = new GroupCommit(db, marker);
  onTestFinished(() => {
    other.close();
    commits.close();
    db.close();
  });
  const insert = (name: string): void => void db.prepare('INSERT INTO names VALUES (?)').run(name);
  const write = (name: string): Promise<string> =>
    commits.write(() => {
      insert(name);
      return name;
    });
  const seen = (): string[] =>
    other
      .prepare<[], { name: string }>('SELECT name FROM names ORDER BY rowid')
      .all()
      .map(({ name }) => name);
  return { db, commits, insert, write, seen };
}

const table = 'CREATE TABLE names (name TEXT UNIQUE)';

function onDisk(): Database {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-sqlite-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return openForWriting(join(dir, 'x.sqlite'), { applicationId: 1, migrations: [table] });
}

/** Collects the value of the promise once it has resolved. */
function settled(promise: Promise<string>): string[] {
  const values: string[] = [];
  void promise.then((value) => values.push(value));
  return values;
}

/** Waits until the log of the next group is being synced. */
async function committed(): Promise<void> {
  while (disk.syncs.length === 0) await nextTurn();
}

function answer(code?: string): void {
  const done = disk.syncs.shift();
  done?.(code === undefined ? null : Object.assign(new Error(code), { code, syscall: 'fdatasync' }));
}
