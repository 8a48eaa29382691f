/**
 * Promise: a database is used only if it is ours, intact, private and in the newest format. Otherwise it
 * stays unchanged, and a message says why.
 */
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { NotAFile } from '../../../src/lib/files/temporary-files.ts';
import {
  type Database,
  openForReading,
  openForWriting,
  Sqlite,
  UnusableDatabase,
} from '../../../src/lib/sqlite/database.ts';
import { copyDatabase } from '../../../src/lib/sqlite/copy-database.ts';
import { isLocked, lockExclusively } from '../../../src/lib/sqlite/exclusive-lock.ts';

const schema = {
  applicationId: 7,
  migrations: [
    'CREATE TABLE name (text TEXT UNIQUE); CREATE INDEX byText ON name (text)',
    "INSERT INTO name VALUES ('second')",
  ],
};

let dir: string;
let path: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nightrender-sqlite-'));
  path = join(dir, 'x.sqlite');
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
});

function closing(db: Database): Database {
  onTestFinished(() => void db.close());
  return db;
}

const namesIn = (db: Database): unknown[] => db.prepare('SELECT text FROM name ORDER BY rowid').pluck().all();
const add = (db: Database, name: string): unknown => db.prepare('INSERT INTO name VALUES (?)').run(name);
const pragma = (db: Database, name: string): unknown => db.pragma(name, { simple: true });

describe('a database opened for writing', () => {
  it('is created for its owner alone, and its commits last', () => {
    const db = closing(openForWriting(path, schema));
    expect(namesIn(db)).toEqual(['second']);
    expect(
      ['application_id', 'user_version', 'journal_mode', 'synchronous'].map((each) => pragma(db, each)),
    ).toEqual([7, 2, 'wal', 2]);
    expect([pragma(db, 'foreign_keys'), pragma(db, 'wal_autocheckpoint')]).toEqual([1, 1_000]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('is upgraded from an earlier format to the newest, once', () => {
    openForWriting(path, { ...schema, migrations: schema.migrations.slice(0, 1) }).close();
    for (let time = 0; time < 2; time++) openForWriting(path, schema).close();
    expect(namesIn(closing(openForWriting(path, schema)))).toEqual(['second']);
  });

  it('may be an empty file, and any other file is refused with a way out', () => {
    writeFileSync(path, '');
    openForWriting(path, schema).close();
    chmodSync(path, 0o644);
    closing(openForWriting(path, schema));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });
});

describe.each([
  ['writing', openForWriting],
  ['reading', openForReading],
] as const)('a database opened for %s', (_, open) => {
  const refused = (words: RegExp, its: Partial<typeof schema> & { advice?: string } = {}): void => {
    const before = readFileSync(path);
    const opening = (): unknown => open(path, { ...schema, ...its });
    expect(opening).toThrow(UnusableDatabase);
    expect(opening).toThrow(words);
    expect(readFileSync(path).equals(before)).toBe(true);
  };

  it('is refused if it belongs to another program or a newer version', () => {
    openForWriting(path, schema).close();
    refused(/is a SQLite file of another program.*Move it away/, { applicationId: 8 });
    refused(/newer version of nightrender \(format 2, this one knows 1\)/, { migrations: [''] });
    rmSync(path);
    const foreign = new Sqlite(path);
    foreign.exec('CREATE TABLE a (b)');
    foreign.close();
    refused(/of another program/);
  });

  it('is refused if it is damaged, with a way out, and is opened only once however often that is tried', () => {
    writeFileSync(path, 'no database '.repeat(1_000));
    refused(/is damaged, or not an SQLite file; it was not changed. Put a copy of it back/);
    refused(/was not changed. Ask$/, { advice: 'Ask' });
    const all = existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd') : [];
    expect(all.filter((fd) => linkOf(`/proc/self/fd/${fd}`) === path).length).toBeLessThanOrEqual(1);
  });

  it.each(['', '-wal', '-shm', '-journal'])('is refused if its file%s is a socket', async (end) => {
    if (end !== '') openForWriting(path, schema).close();
    const server = createServer().listen(path + end);
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    expect(() => open(path, schema)).toThrow(NotAFile);
  });
});

function linkOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}

describe('a database opened for reading', () => {
  it('can be read beside a writer, and has no rows before the first write', () => {
    writeFileSync(path, '');
    expect(openForReading(path, schema)).toBeUndefined();
    const writer = closing(openForWriting(path, schema));
    add(writer, 'third');
    const reader = openForReading(path, schema, 'whole');
    if (reader === undefined) throw new Error('there is something');
    expect(namesIn(closing(reader))).toEqual(['second', 'third']);
    expect(() => add(reader, 'fourth')).toThrow('readonly');
  });

  it('is an error if there is no file', () => {
    expect(() => openForReading(path, schema)).toThrow('unable to open');
    expect(existsSync(path)).toBe(false);
  });

  it('is checked for hidden damage if it has to be whole', () => {
    openForWriting(path, schema).close();
    const inSchema = (work: (db: Database) => void): void => {
      const db = new Sqlite(path);
      db.unsafeMode(true);
      db.pragma('writable_schema = ON');
      work(db);
      db.close();
    };
    // An index that lacks a row.
    let root: unknown;
    inSchema((db) => {
      root = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'byText'").pluck().get();
      db.exec("DELETE FROM sqlite_schema WHERE name = 'byText'");
    });
    inSchema((db) => {
      add(db, 'third');
      const sql = 'CREATE INDEX byText ON name (text)';
      db.prepare("INSERT INTO sqlite_schema VALUES ('index', 'byText', 'name', ?, ?)").run(root, sql);
    });
    const reader = openForReading(path, schema);
    expect(reader && namesIn(closing(reader))).toEqual(['second', 'third']);
    expect(() => openForReading(path, schema, 'whole')?.close()).toThrow(UnusableDatabase);
  });
});

describe('a lock of a database', () => {
  it('is held by one process until that releases it', () => {
    expect([isLocked(path), existsSync(path)]).toEqual([false, false]);
    const lock = lockExclusively(path);
    expect([isLocked(path), lockExclusively(path)]).toEqual([true, undefined]);
    lock?.release();
    expect(isLocked(path)).toBe(false);
    const again = lockExclusively(path);
    expect(again).toBeDefined();
    again?.release();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('is refused on a file that is no database', () => {
    writeFileSync(path, 'no database '.repeat(1_000));
    expect(() => lockExclusively(path)).toThrow('not a database');
    expect(() => isLocked(path)).toThrow('not a database');
  });
});

describe('a copy of a database', () => {
  const copied = async (isOpen: () => boolean): Promise<unknown[]> => {
    const to = join(dir, 'copy.sqlite');
    await copyDatabase(path, to, isOpen);
    return namesIn(closing(new Sqlite(to)));
  };

  it('of a database that no process has open includes its log and leaves no trace', async () => {
    const writer = closing(openForWriting(join(dir, 'live.sqlite'), schema));
    add(writer, 'in the log');
    for (const end of ['', '-wal']) writeFileSync(path + end, readFileSync(join(dir, `live.sqlite${end}`)));
    const before = readdirSync(dir);
    expect(await copied(() => false)).toEqual(['second', 'in the log']);
    expect(readdirSync(dir).filter((name) => !name.startsWith('copy'))).toEqual(before);
  });

  it('is consistent while another process writes', async () => {
    const writer = closing(openForWriting(path, schema));
    writeFileSync(join(dir, 'copy.sqlite-wal'), 'of a copy that was not finished');
    add(writer, 'third');
    await copyDatabase(path, join(dir, 'copy.sqlite'), () => true);
    // A `-wal` file beside the copy would count as a part of it.
    expect(existsSync(join(dir, 'copy.sqlite-wal'))).toBe(false);
    expect(await copied(() => true)).toEqual(['second', 'third']);
  });

  it('is repeated if another process wrote meanwhile', async () => {
    openForWriting(path, schema).close();
    const write = (name: string): void => {
      const writer = openForWriting(path, schema);
      add(writer, name);
      writer.close();
    };
    let asked = 0;
    // Called before and after the first try, and before and after the second.
    const isOpen = (): boolean => {
      asked += 1;
      if (asked === 2) write('third');
      return false;
    };
    expect([await copied(isOpen), asked]).toEqual([['second', 'third'], 4]);
    asked = 0;
    const isOpenLater = (): boolean => {
      asked += 1;
      if (asked === 2) write('fourth');
      return asked >= 2;
    };
    expect([await copied(isOpenLater), asked]).toEqual([['second', 'third', 'fourth'], 3]);
  });

  it('comes to an end if the database changes all the time', async () => {
    openForWriting(path, schema).close();
    let asked = 0;
    const isOpen = (): boolean => {
      asked += 1;
      const writer = openForWriting(path, schema);
      add(writer, String(asked));
      writer.close();
      return false;
    };
    expect((await copied(isOpen)).at(-1)).toBe(String(asked));
  });

  it('is not made of a path that is no file', async () => {
    const server = createServer().listen(path);
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    await expect(copyDatabase(path, join(dir, 'copy.sqlite'), () => false)).rejects.toThrow(NotAFile);
  });

  it('is not made if there is no database', async () => {
    await copyDatabase(path, join(dir, 'copy.sqlite'), () => false);
    expect(readdirSync(dir)).toEqual([]);
  });
});
