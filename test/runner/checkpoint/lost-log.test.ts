/**
 * Promise: a checkpoint that differs from the state after the last run is detected before anything is written
 * or sent. An intact one is accepted.
 */
import { hash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, Sqlite } from '../../../src/lib/sqlite/database.ts';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { LiveReader } from '../../../src/runner/checkpoint/live-reader.ts';
import { openCheckpoint, openCheckpointForReading } from '../../../src/runner/checkpoint/open-checkpoint.ts';
import { readNumbers } from '../../../src/runner/checkpoint/read-summary.ts';
import { endpoint, manifestOf, unstopped } from '../../fakes/world.ts';

const batch = { manifest: ['list.csv'], endpoint, columns: ['id', 'scene'] };
const pairs = Array.from({ length: 60 }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]);
const complete = { at: 9, exitCode: 0, ending: 'Every scene is saved', stats: undefined };

let root: string;
/**
 * Folders of a run that was killed after 24 submissions, of one killed after 12, and of one that ended after
 * 24.
 */
let killed: string;
let earlier: string;
let ended: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'nightrender-'));
  [killed, earlier, ended] = ['killed', 'earlier', 'ended'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  const dir = mkdtempSync(join(root, 'run-'));
  const opened = openCheckpoint(dir, 'test', batch, 0);
  await opened.checkpoint.reconcile(manifestOf(pairs), unstopped);
  let jobs = 0;
  const submit = async (groups: number): Promise<void> => {
    for (let group = 0; group < groups; group++) {
      for (const attempt of await opened.checkpoint.claim(4, endpoint, 1)) {
        const job = { jobId: `job-${(jobs += 1)}`, status: 'IN_QUEUE', at: 2 };
        await opened.checkpoint.recordSubmitted(attempt, job);
      }
    }
  };
  await submit(3);
  cpSync(dir, earlier, { recursive: true });
  await submit(3);
  // This copy equals the state after the process was killed.
  cpSync(dir, killed, { recursive: true });
  opened.recordEnd(complete);
  opened.close();
  cpSync(dir, ended, { recursive: true });
  return () => rmSync(root, { recursive: true });
});

describe('after a kill', () => {
  const log = (dir: string): string => join(dir, 'checkpoint.sqlite-wal');

  it.each<[string, (dir: string) => void]>([
    ['removed', (dir) => rmSync(log(dir))],
    ['emptied', (dir) => truncateSync(log(dir))],
    ['halved', (dir) => truncateSync(log(dir), readFileSync(log(dir)).length / 2)],
    ['cut by a byte', (dir) => truncateSync(log(dir), readFileSync(log(dir)).length - 1)],
    ['replaced by an older one', (dir) => cpSync(log(earlier), log(dir))],
    [
      'replaced by an older one, with an older file',
      (dir) => {
        cpSync(log(earlier), log(dir));
        cpSync(join(earlier, 'checkpoint.sqlite'), join(dir, 'checkpoint.sqlite'));
      },
    ],
  ])('a log that was %s is refused, and can be accepted as a loss that is declared', async (_, damage) => {
    const dir = copyOf(killed);
    damage(dir);
    const before = contentOf(dir);
    expect(() => open(dir)).toThrow(/newest part of .*checkpoint\.sqlite is lost.*--accept-loss.*--adopt/);
    expect(contentOf(dir)).toEqual(before);
    const opened = open(dir, true);
    const known = attemptsIn(dir);
    expect(await opened.untold()).toBe(24 - known);
    opened.recordEnd(complete);
    opened.close();
    // The loss is reported once.
    expect(await open(dir).untold()).toBe(24 - known);
    const { attempts, cost } = read(dir, readNumbers);
    expect(attempts).toMatchObject({ total: 24, unanswered: 24 - known });
    expect(cost).toBeNull();
  });

  it('a byte of the log flipped anywhere is refused, or nothing is missing', () => {
    const bytes = readFileSync(log(killed));
    let refused = 0;
    for (let n = 0; n < 40; n++) {
      const dir = copyOf(killed);
      const flipped = Buffer.from(bytes);
      const at = Math.floor((n * bytes.length) / 40);
      flipped[at] = (flipped[at] ?? 0) ^ 0x10;
      writeFileSync(log(dir), flipped);
      try {
        open(dir);
        expect(attemptsIn(dir), `flipped at ${at}`).toBe(24);
      } catch (error) {
        expect(String(error), `flipped at ${at}`).toMatch(/is lost|is damaged/);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(30);
  });

  it.each<[string, (dir: string) => void]>([
    ['everything is there', () => undefined],
    ['the mark is older', (dir) => cpSync(join(earlier, mark), join(dir, mark))],
    ['the mark is missing', (dir) => rmSync(join(dir, mark))],
    ['the mark is damaged', (dir) => writeFileSync(join(dir, mark), `{"commit":99999}${' '.repeat(150)}\n`)],
    ['the mark is cut', (dir) => truncateSync(join(dir, mark), 20)],
    ['somebody has read it', (dir) => void read(dir, readNumbers)],
  ])('continues if %s', async (_, change) => {
    const dir = copyOf(killed);
    change(dir);
    const opened = open(dir);
    expect(await opened.untold()).toBe(0);
    expect(await opened.checkpoint.openAttempts()).toHaveLength(24);
  });

  it('a checkpoint whose first commits were lost is rejected, although it has no tables', async () => {
    const dir = folder();
    const opened = open(dir);
    await opened.checkpoint.reconcile(manifestOf(pairs), unstopped);
    await opened.checkpoint.claim(4, endpoint, 1);
    const dead = copyOf(dir);
    rmSync(log(dead));
    expect(() => open(dead)).toThrow(/4 submissions are lost/);
    expect(await open(dead, true).untold()).toBe(4);
  });

  it('an accepted loss is counted in the cost and on the page of `watch`', async () => {
    const dir = copyOf(killed);
    rmSync(log(dir));
    const opened = open(dir, true);
    expect(await opened.checkpoint.spending()).toMatchObject({ jobs: 24, untold: 24 });
    const { tally } = (await new LiveReader(dir).read(Date.now())) ?? {};
    expect(tally).toMatchObject({ total: 24, unanswered: 24 });
  });
});

describe('after an end', () => {
  it('a run continues without searching the checkpoint for damage', () => {
    const dir = copyOf(ended);
    expect(readdirSync(dir)).not.toContain('checkpoint.sqlite-wal');
    open(dir);
    expect(attemptsIn(dir)).toBe(24);
  });

  it('a run continues if a reader had the checkpoint open, and left its files', async () => {
    const dir = copyOf(killed);
    const opened = open(dir);
    const reader = openCheckpointForReading(dir);
    opened.recordEnd(complete);
    opened.close();
    expect(markIn(dir)).toMatch(/"sha256":"[0-9a-f]{64}"/);
    read(dir, readNumbers);
    reader?.close();
    open(dir);
    expect(attemptsIn(dir)).toBe(24);
  });

  it.each<[string, (dir: string) => void]>([
    ['one letter changed', (dir) => flip(dir, 'scene 50', 'scene 51')],
    ['another program having written to it', (dir) => edit(dir, "UPDATE scenes SET state = 'waiting'")],
    ['an older copy in its place', (dir) => restore(dir, earlier)],
    [
      'a log of before beside it',
      (dir) => cpSync(`${join(killed, 'checkpoint.sqlite')}-wal`, `${join(dir, 'checkpoint.sqlite')}-wal`),
    ],
  ])('a file with %s is refused and left as it is', (_, change) => {
    const dir = copyOf(ended);
    change(dir);
    const before = contentOf(dir);
    expect(() => open(dir)).toThrow(/has changed since the last run.*nightrender verify .*--repair/);
    expect(contentOf(dir)).toEqual(before);
  });

  it('a missing checkpoint is refused, and its mark says how much is lost with it', () => {
    const dir = copyOf(ended);
    rmSync(join(dir, 'checkpoint.sqlite'));
    expect(() => open(dir)).toThrow(/checkpoint\.sqlite is missing, .*24 submissions/);
    expect(readdirSync(dir)).not.toContain('checkpoint.sqlite');
  });

  it('of a full disk, the next start searches the checkpoint for damage', () => {
    const dir = copyOf(ended);
    const opened = open(dir);
    opened.recordEnd({ ...complete, exitCode: 14 });
    opened.close();
    expect(markIn(dir)).toContain('"sha256":null');
  });
});

const mark = '.checkpoint.json';

function markIn(dir: string): string {
  return readFileSync(join(dir, mark), 'latin1');
}

function open(dir: string, isLossAccepted = false) {
  const opened = openCheckpoint(dir, 'test', batch, 0, isLossAccepted);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) opened.close();
    isOpen = false;
  };
  onTestFinished(close);
  return { ...opened, close };
}

function folder(): string {
  return mkdtempSync(join(root, 'test-'));
}

function copyOf(dir: string): string {
  const copy = folder();
  cpSync(dir, copy, { recursive: true });
  return copy;
}

/**
 * Returns a checksum of each file with content. The `-shm` file is left out, because it is only a cache that
 * SQLite rebuilds.
 */
function contentOf(dir: string): [string, string][] {
  const names = readdirSync(dir).filter((name) => !name.endsWith('-shm'));
  const contents = names.toSorted().map((name): [string, Buffer] => [name, readFileSync(join(dir, name))]);
  return contents.flatMap(([name, bytes]) =>
    bytes.length === 0 ? [] : [[name, hash('sha256', bytes)] as [string, string]],
  );
}

function read<T>(dir: string, work: (db: Database) => T): T {
  const db = openCheckpointForReading(dir);
  if (db === undefined) throw new Error('there is no checkpoint');
  try {
    return work(db);
  } finally {
    db.close();
  }
}

function attemptsIn(dir: string): number {
  return read(dir, (db) => db.prepare<[], number>('SELECT count(*) FROM attempts').pluck().get() ?? 0);
}

function flip(dir: string, from: string, to: string): void {
  const path = join(dir, 'checkpoint.sqlite');
  writeFileSync(path, readFileSync(path, 'latin1').replace(from, to), 'latin1');
}

function edit(dir: string, sql: string): void {
  const db = new Sqlite(join(dir, 'checkpoint.sqlite'));
  db.exec(sql);
  db.close();
}

/** Replaces the checkpoint by the one of the folder `from`, as restoring a backup does. */
function restore(dir: string, from: string): void {
  const copy = copyOf(from);
  edit(copy, 'SELECT 1');
  cpSync(join(copy, 'checkpoint.sqlite'), join(dir, 'checkpoint.sqlite'));
}
