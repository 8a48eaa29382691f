/**
 * Runs the checkpoint contract in memory and in a file, and tests what applies only to files: full disks,
 * damage and removal.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Database,
  openForWriting,
  runMigrations,
  Sqlite,
  UnusableDatabase,
} from '../../../src/lib/sqlite/database.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openCheckpoint } from '../../../src/runner/checkpoint/open-checkpoint.ts';
import { checkpointSchema } from '../../../src/runner/checkpoint/checkpoint-schema.ts';
import { SqliteCheckpoint } from '../../../src/runner/checkpoint/sqlite-checkpoint.ts';
import type { Attempt } from '../../../src/runner/core/attempt.ts';
import type { Checkpoint } from '../../../src/runner/pipeline/ports.ts';
import type { CrashMarker } from '../../../src/runner/checkpoint/batch-lock.ts';
import { CrashMarkersInMemory } from '../../fakes/in-hand-in-memory.ts';
import { endpoint, manifestOf, unstopped } from '../../fakes/world.ts';
import { checkpointContract } from './checkpoint.contract.ts';

const batch = { manifest: ['list.csv'], endpoint, columns: ['id', 'scene'] };

describe('in memory', () => {
  checkpointContract(() => {
    const db = new Sqlite(':memory:');
    runMigrations(db, checkpointSchema.migrations);
    const marks: CrashMarker[] = [];
    const begin = db.prepare(
      "INSERT INTO runs (pid, host, program, started_at, idempotency_key) VALUES (1, 'here', 'test', 0, 'key')",
    );
    const open = (): Checkpoint =>
      new SqliteCheckpoint(db, Number(begin.run().lastInsertRowid), new CrashMarkersInMemory(marks));
    return { checkpoint: open(), reopen: open };
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

  it('is readable only by its owner', () => {
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
});

describe('a full disk', () => {
  const half = async (freeRoom?: () => boolean): Promise<{ db: Database; checkpoint: SqliteCheckpoint }> => {
    const db = openForWriting(join(folder(), 'x.sqlite'), checkpointSchema);
    onTestFinished(() => void db.close());
    db.exec("INSERT INTO runs (pid, host, program, started_at) VALUES (1, 'here', 'test', 0)");
    const checkpoint = new SqliteCheckpoint(db, 1, new CrashMarkersInMemory(), freeRoom);
    await checkpoint.reconcile(
      manifestOf(Array.from({ length: 400 }, (_, i) => [`s${i}`, `scene ${i}`])),
      unstopped,
    );
    return { db, checkpoint };
  };
  const fill = (db: Database): void =>
    void db.pragma(`max_page_count = ${String(db.pragma('page_count', { simple: true }))}`);
  const record = (checkpoint: SqliteCheckpoint, attempts: Attempt[]): Promise<unknown> =>
    Promise.all(
      attempts.map((attempt) =>
        checkpoint.recordSubmitted(attempt, {
          jobId: `job-${attempt.key}-${'x'.repeat(80)}`,
          status: 'IN_QUEUE',
          at: 5,
        }),
      ),
    );

  it('loses no id of an accepted job, for which space is reserved', async () => {
    const room: Database[] = [];
    const { db, checkpoint } = await half(() => {
      const [full] = room.splice(0);
      full?.pragma('max_page_count = 100000');
      return full !== undefined;
    });
    const attempts = await checkpoint.claim(400, endpoint, 1);
    fill(db);
    room.push(db);
    await record(checkpoint, attempts);
    expect(room).toEqual([]);
    expect(await checkpoint.openAttempts()).toHaveLength(400);
  });

  it('begins nothing new in its reserved space', async () => {
    const { db, checkpoint } = await half(() => db.pragma('max_page_count = 100000') !== undefined);
    const attempts = await checkpoint.claim(300, endpoint, 1);
    fill(db);
    await record(checkpoint, attempts);
    await expect(checkpoint.claim(1, endpoint, 2)).rejects.toMatchObject({
      failure: { kind: 'output-unwritable', text: expect.stringContaining('the disk is full') as string },
    });
    expect(await checkpoint.openAttempts()).toHaveLength(300);
  });

  it('without any space left is reported as a problem of the output folder', async () => {
    const { db, checkpoint } = await half();
    const attempts = await checkpoint.claim(400, endpoint, 1);
    fill(db);
    await expect(record(checkpoint, attempts)).rejects.toMatchObject({
      failure: { kind: 'output-unwritable' },
    });
  });

  it('is noticed before anything is sent if not even the reserve fits, and the reserve goes with the run', () => {
    const dir = folder();
    mkdirSync(join(dir, '.reserve'));
    expect(() => openCheckpoint(dir, 'test', batch, 0)).toThrow(/EISDIR/);
    rmSync(join(dir, '.reserve'), { recursive: true });
    const opened = openCheckpoint(dir, 'test', batch, 0);
    expect(statSync(join(dir, '.reserve')).size).toBe(1024 * 1024);
    opened.close();
    expect(existsSync(join(dir, '.reserve'))).toBe(false);
  });
});

it.each(['checkpoint.sqlite', 'checkpoint.sqlite-wal'])('sends nothing once %s was removed', async (file) => {
  const dir = folder();
  const opened = openCheckpoint(dir, 'test', batch, 0);
  onTestFinished(() => opened.close());
  await opened.checkpoint.reconcile(manifestOf([['a', 'sea']]), unstopped);
  rmSync(join(dir, file));
  await expect(opened.checkpoint.claim(1, endpoint, 1)).rejects.toMatchObject({
    failure: {
      kind: 'output-unwritable',
      text: expect.stringContaining('was removed during the run') as string,
    },
  });
});

it('keeps the id of a paid job that is recorded as the checkpoint is found to be removed', async () => {
  const dir = folder();
  mkdirSync(join(dir, 'out'));
  const opened = openCheckpoint(join(dir, 'out'), 'test', batch, 0);
  onTestFinished(() => opened.close());
  const { checkpoint } = opened;
  await checkpoint.reconcile(
    manifestOf([
      ['a', 'sea'],
      ['b', 'sky'],
    ]),
    unstopped,
  );
  const sent = (await checkpoint.claim(1, endpoint, 1))[0] ?? expect.fail();
  renameSync(join(dir, 'out'), join(dir, 'moved'));
  const claiming = checkpoint.claim(1, endpoint, 2);
  const recording = checkpoint.recordSubmitted(sent, { jobId: 'job-1', status: 'IN_QUEUE', at: 2 });
  await expect(claiming).rejects.toMatchObject({ failure: { kind: 'output-unwritable' } });
  expect(await recording).toBe('recorded');
  expect(await checkpoint.openAttempts()).toMatchObject([{ job: { jobId: 'job-1' } }]);
});

it('accepts no state that does not exist, not even after it was opened again', () => {
  const dir = folder();
  openCheckpoint(dir, 'test', batch, 0).close();
  const db = openForWriting(join(dir, 'checkpoint.sqlite'), checkpointSchema);
  onTestFinished(() => void db.close());
  const insert =
    "INSERT INTO scenes (id, fingerprint, source, input, columns, state) VALUES ('a', 'b', 'c', '', '', 'lost')";
  expect(() => db.exec(insert)).toThrow(/CHECK constraint failed/);
});

it('reports a disk that no longer returns data as a problem of the disk, not as a bug', async () => {
  const path = join(folder(), 'checkpoint.sqlite');
  const db = openForWriting(path, checkpointSchema);
  onTestFinished(() => void db.close());
  db.exec("INSERT INTO runs (pid, host, program, started_at) VALUES (1, 'here', 'test', 0)");
  const checkpoint = new SqliteCheckpoint(db, 1, new CrashMarkersInMemory([]));
  const rows = Array.from({ length: 3_000 }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]);
  await checkpoint.reconcile(manifestOf(rows), unstopped);
  db.pragma('shrink_memory');
  truncateSync(`${path}-wal`, 0);
  await expect(checkpoint.counts()).rejects.toMatchObject({ failure: { kind: 'output-unwritable' } });
});

describe('a file that is not ours to change', () => {
  it('of another program is rejected with a message and left unchanged', () => {
    const path = join(folder(), 'x.sqlite');
    const foreign = new Sqlite(path);
    foreign.exec('CREATE TABLE theirs (x); PRAGMA application_id = 77');
    foreign.close();
    expect(() => openForWriting(path, checkpointSchema)).toThrow(UnusableDatabase);
    expect(new Sqlite(path).prepare('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'theirs' }]);
  });

  it('with flipped bytes is rejected with a message and left unchanged', async () => {
    const dir = folder();
    const opened = openCheckpoint(dir, 'test', batch, 0);
    await opened.checkpoint.reconcile(
      manifestOf(Array.from({ length: 2_000 }, (_, i) => [`s${i}`, `scene ${i}`])),
      unstopped,
    );
    opened.close();
    const path = join(dir, 'checkpoint.sqlite');
    const whole = readFileSync(path);
    for (const at of [108, 2 * 4096, Math.floor(whole.length / 2) & ~4095]) {
      const broken = Buffer.from(whole);
      broken.fill(0xa5, at, at + 64);
      writeFileSync(path, broken);
      expect(() => openCheckpoint(dir, 'test', batch, 0), `damaged at ${at}`).toThrow(UnusableDatabase);
      expect(readFileSync(path).equals(broken), `damaged at ${at}`).toBe(true);
    }
  });

  it('by a newer version is refused with a message', () => {
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
  await opened.checkpoint.reconcile(manifestOf(pairs), unstopped);
  const plan = await opened.checkpoint.reconcile(manifestOf(pairs.toReversed()), unstopped);
  expect(plan).toEqual({ added: 0, changed: 0, unchanged: 10_000, withdrawn: 0 });
});

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-checkpoint-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
