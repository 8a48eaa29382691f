/**
 * Promise: a damaged checkpoint is rejected, and `verify --repair` repairs it: readable records are kept, and
 * losses are reported.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sqlite, UnusableDatabase } from '../../../src/lib/sqlite/database.ts';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { asDamage } from '../../../src/runner/checkpoint/damage.ts';
import { assertSound, repairCheckpoint } from '../../../src/runner/checkpoint/repair-checkpoint.ts';
import { openCheckpoint, readRecordedList } from '../../../src/runner/checkpoint/open-checkpoint.ts';
import { clearLostCheckpoint } from '../../../src/batch/begin.ts';
import { forgetUnneeded } from '../../fakes/edit-checkpoint.ts';
import { endpoint, manifestOf, unstopped } from '../../fakes/world.ts';

const batch = { manifest: ['list.csv'], endpoint, columns: ['id', 'scene'] };
const rows = Array.from({ length: 300 }, (_, i): [string, string] => [`s${i}`, `the scene number ${i}`]);
const list = manifestOf(rows);
const submitted = 200;

let root: string;
/**
 * Folders of a run that was killed and of one that ended. 100 scenes are saved, 100 in flight, and 100
 * waiting.
 */
let killed: string;
let ended: string;
let earlier: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'nightrender-repair-'));
  const dir = join(root, 'run');
  [killed, ended, earlier] = ['killed', 'ended', 'earlier'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(dir);
  const begun = openCheckpoint(dir, 'test', batch, 0);
  await begun.checkpoint.reconcile(list, unstopped);
  await submit(begun, 0, 150);
  end(begun);
  cpSync(dir, earlier, { recursive: true });
  const resumed = openCheckpoint(dir, 'test', batch, 0);
  await resumed.checkpoint.reconcile(list, unstopped);
  await submit(resumed, 150, submitted);
  end(resumed);
  cpSync(dir, ended, { recursive: true });
  // This folder equals the state after a crash with an empty write-ahead log.
  cpSync(dir, killed, { recursive: true });
  openCheckpoint(killed, 'test', batch, 0).close();
  return () => rmSync(root, { recursive: true });
});

/** Submits these scenes. The first hundred are saved. */
async function submit({ checkpoint }: ReturnType<typeof openCheckpoint>, from: number, to: number) {
  for (const [n, attempt] of (await checkpoint.claim(to - from, endpoint, 1)).entries()) {
    await checkpoint.recordSubmitted(attempt, { jobId: `job-${from + n}`, status: 'IN_QUEUE', at: 2 });
    const picture = { file: `${attempt.sceneId}.png`, width: 1, height: 1, bytes: 1, sha256: 'ab' };
    if (from + n < 100)
      await checkpoint.settle(attempt, {
        state: 'saved',
        at: 3,
        pictures: [picture],
        scene: { state: 'saved' },
      });
  }
}

const whole = { scenes: 300, attempts: submitted, pictures: 100, waiting: 100, inFlight: 100, untold: 0 };

it.each<[string, (dir: string) => void, string]>([
  ['an index', (dir) => flip(dir, 'attempts_by_job', 'job-150', 'job-151'), 'killed'],
  ['the primary index of scenes', (dir) => zero(dir, 'sqlite_autoindex_scenes_1'), 'killed'],
  [
    'the words of the schema',
    (dir) => replace(dir, 'CREATE TABLE scenes (', 'CREATE TABLE scenes ['),
    'killed',
  ],
  [
    'a column in the schema',
    (dir) => replace(dir, 'delay_time_ms     INTEGER', 'delby_time_ms     INTEGER'),
    'killed',
  ],
])('a checkpoint is repaired without loss if %s is damaged', async (_, damage, from) => {
  const dir = copyOf(from);
  damage(dir);
  for (const work of [() => open(dir), () => assertSound(dir)])
    expect(wordsOf(work)).toMatch(/damaged.*verify <pipeline> --repair/);
  const damaged = readFileSync(join(dir, 'checkpoint.sqlite'));
  expect(await repairCheckpoint(dir)).toEqual({ lost: 0, keptAs: join(dir, 'checkpoint.sqlite.damaged') });
  expect(readFileSync(join(dir, 'checkpoint.sqlite.damaged')).equals(damaged)).toBe(true);
  expect(await repairCheckpoint(dir)).toBeUndefined();
  expect(await numbersIn(dir)).toEqual(whole);
});

it('a checkpoint of the format before is sound, repaired without loss, and continues with the states of this one', async () => {
  const dir = copyOf('killed');
  const db = new Sqlite(join(dir, 'checkpoint.sqlite'));
  forgetUnneeded(db);
  db.close();
  expect(() => assertSound(dir)).not.toThrow();
  const later = copyOf('killed');
  cpSync(dir, later, { recursive: true });
  expect(await numbersIn(later)).toEqual(whole);
  const known = new Sqlite(join(later, 'checkpoint.sqlite'));
  known.exec("UPDATE scenes SET state = 'unneeded' WHERE state = 'waiting'");
  expect(() => known.exec("UPDATE scenes SET state = 'other' WHERE state = 'unneeded'")).toThrow('CHECK');
  known.close();
  zero(dir, 'sqlite_autoindex_scenes_1');
  expect(() => assertSound(dir)).toThrow(UnusableDatabase);
  expect(await repairCheckpoint(dir)).toEqual({ lost: 0, keptAs: join(dir, 'checkpoint.sqlite.damaged') });
  expect(await numbersIn(dir)).toEqual(whole);
});

it('a checkpoint is repaired if a constraint was changed that every row still meets', async () => {
  const dir = copyOf('killed');
  replace(dir, "'refused', 'saved'", "'refusxd', 'saved'");
  expect(() => assertSound(dir)).toThrow(UnusableDatabase);
  expect(await repairCheckpoint(dir)).toEqual({ lost: 0, keptAs: join(dir, 'checkpoint.sqlite.damaged') });
  expect(await repairCheckpoint(dir)).toBeUndefined();
  expect(await numbersIn(dir)).toEqual(whole);
});

it('counts submissions whose rows cannot be read as unanswered, and keeps all others', async () => {
  const dir = copyOf('killed');
  zero(dir, 'attempts', 'leaf');
  expect(() => open(dir)).toThrow(UnusableDatabase);
  const { lost = 0 } = (await repairCheckpoint(dir)) ?? {};
  expect(lost).toBeGreaterThan(5);
  expect(lost).toBeLessThan(submitted / 2);
  const numbers = await numbersIn(dir);
  expect(numbers).toMatchObject({ scenes: 300, attempts: submitted - lost, untold: lost });
  // Scenes without a recorded job wait to be rendered. Saved scenes are still saved, or known to have lost
  // their picture.
  expect(numbers.waiting).toBe(300 - numbers.pictures - numbers.inFlight);
});

it('counts the same submissions once, however often it is repaired', async () => {
  const dir = copyOf('killed');
  zero(dir, 'attempts', 'leaf');
  const { lost = 0 } = (await repairCheckpoint(dir)) ?? {};
  for (const again of [299, 298]) {
    replace(dir, `scene number ${again}"`, `scene number ${again - 100}"`);
    expect(await repairCheckpoint(dir)).toMatchObject({ lost: 0 });
  }
  expect(await numbersIn(dir)).toMatchObject({ attempts: submitted - lost, untold: lost });
});

it.each(['killed', 'ended'])('does not keep a waiting scene whose input was changed (%s)', async (from) => {
  const dir = copyOf(from);
  replace(dir, 'scene number 299"', 'scene number 298"');
  expect(() => assertSound(dir)).toThrow(UnusableDatabase);
  expect(await repairCheckpoint(dir)).toMatchObject({ lost: 0 });
  expect(await numbersIn(dir)).toEqual({ ...whole, scenes: 299, waiting: 99 });
  const opened = open(dir);
  expect(await opened.checkpoint.reconcile(list, unstopped)).toMatchObject({ added: 1, unchanged: 299 });
});

it('counts a job with a changed id as lost, and renders its scene again', async () => {
  const dir = copyOf('ended');
  editOnly(dir, "UPDATE attempts SET job_id = 'job-9999' WHERE job_id = 'job-150'");
  expect(() => open(dir)).toThrow(/has changed since the last run/);
  expect(await repairCheckpoint(dir)).toMatchObject({ lost: 1 });
  expect(await numbersIn(dir)).toEqual({ ...whole, attempts: 199, inFlight: 99, waiting: 101, untold: 1 });
});

it('compares a saved scene with the list again if its stored row was changed', async () => {
  const dir = copyOf('ended');
  const same = { ...list, digest: 'the list' };
  const opened = openCheckpoint(dir, 'test', batch, 0);
  await opened.checkpoint.reconcile(same, unstopped);
  end(opened);
  replace(dir, 'scene number 10"', 'scene number 11"');
  expect(await repairCheckpoint(dir)).toEqual({ lost: 0, keptAs: null });
  expect(readRecordedList(dir).digest).toBeUndefined();
});

it('accepts an older copy, and reports the submissions that it does not know', async () => {
  const dir = copyOf('ended');
  cpSync(join(earlier, 'checkpoint.sqlite'), join(dir, 'checkpoint.sqlite'));
  expect(await repairCheckpoint(dir)).toEqual({ lost: 50, keptAs: null });
  expect(await numbersIn(dir)).toEqual({ ...whole, attempts: 150, inFlight: 50, waiting: 150, untold: 50 });
});

it('sets a log aside that came from somewhere else', async () => {
  const dir = copyOf('ended');
  writeFileSync(join(dir, 'checkpoint.sqlite-wal'), 'x'.repeat(5_000));
  expect(await repairCheckpoint(dir)).toMatchObject({ lost: 0 });
  expect(await numbersIn(dir)).toEqual(whole);
});

it('repeats the whole repair if it crashed before the new file took the place, and does nothing if it crashed after', async () => {
  const dir = copyOf('killed');
  const path = join(dir, 'checkpoint.sqlite');
  replace(dir, 'scene number 299"', 'scene number 298"');
  // SQLite reads the damaged file together with a write-ahead log that a crash left.
  const log = unmergedLog(dir);
  expect(await repairCheckpoint(dir)).toMatchObject({ lost: 0 });
  cpSync(`${path}.damaged`, path);
  writeFileSync(`${path}-wal`, log);
  expect(wordsOf(() => open(dir))).toMatch(/--repair/);
  expect(await repairCheckpoint(dir)).toMatchObject({ lost: 0, keptAs: `${path}.damaged` });
  const repaired = readFileSync(path);
  writeFileSync(`${path}-wal`, log);
  expect(wordsOf(() => open(dir))).toMatch(/--repair/);
  expect(await repairCheckpoint(dir)).toMatchObject({ lost: 0, keptAs: `${path}.damaged-wal` });
  expect(readFileSync(path).equals(repaired)).toBe(true);
  expect(await numbersIn(dir)).toEqual({ ...whole, scenes: 299, waiting: 99 });
});

it.each(['killed', 'ended'])('finds nothing to do if nothing is wrong (%s)', async (from) => {
  expect(await repairCheckpoint(copyOf(from))).toBeUndefined();
});

it('sets an unreadable file aside, so that a run can start without it', async () => {
  const dir = copyOf('ended');
  const path = join(dir, 'checkpoint.sqlite');
  writeFileSync(path, 'no database at all '.repeat(1_000));
  await expect(repairCheckpoint(dir)).rejects.toThrow(
    /^nothing can be read of .*checkpoint\.sqlite; it is kept as .*checkpoint\.sqlite\.damaged\. .*--adopt.*--fresh/,
  );
  const left = readdirSync(dir).filter((name) => name.startsWith('checkpoint'));
  expect(left).toEqual(['checkpoint.sqlite.damaged']);
  expect(readFileSync(`${path}.damaged`, 'utf8')).toMatch(/^no database/);
  expect(() => open(dir)).toThrow(/checkpoint\.sqlite is missing, .* --adopt`.* --fresh`/);
  clearLostCheckpoint(dir);
  const opened = openCheckpoint(dir, 'test', batch, 0, true);
  onTestFinished(() => opened.close());
  expect(await opened.checkpoint.counts()).toMatchObject({ waiting: 0, saved: 0 });
  expect(await opened.checkpoint.spending()).toMatchObject({ jobs: submitted });
});

function end(opened: ReturnType<typeof openCheckpoint>): void {
  opened.recordEnd({ at: 9, exitCode: 0, ending: 'Every scene is saved', stats: undefined });
  opened.close();
}

function wordsOf(work: () => unknown): string {
  try {
    return String(work());
  } catch (error) {
    return asDamage(error)?.message ?? String(error);
  }
}

function open(dir: string) {
  const opened = openCheckpoint(dir, 'test', batch, 0);
  onTestFinished(() => opened.close());
  return opened;
}

async function numbersIn(dir: string) {
  const { checkpoint, untold } = open(dir);
  const db = new Sqlite(join(dir, 'checkpoint.sqlite'), { readonly: true });
  const count = (table: string): number =>
    db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
  const tables = { scenes: count('scenes'), attempts: count('attempts'), pictures: count('pictures') };
  db.close();
  const { waiting } = await checkpoint.counts();
  return { ...tables, waiting, inFlight: (await checkpoint.openAttempts()).length, untold: await untold() };
}

function copyOf(name: string): string {
  const copy = mkdtempSync(join(root, 'test-'));
  cpSync(join(root, name), copy, { recursive: true });
  return copy;
}

/** Leaves an unmerged write-ahead log, as a crash does, and returns its bytes. */
function unmergedLog(dir: string): Buffer {
  const path = join(dir, 'checkpoint.sqlite');
  const kept = join(dir, 'kept');
  const db = new Sqlite(path);
  db.exec("INSERT OR REPLACE INTO batch (name, value) VALUES ('test', '1')");
  cpSync(path, kept);
  const log = readFileSync(`${path}-wal`);
  db.close();
  cpSync(kept, path);
  rmSync(kept);
  writeFileSync(`${path}-wal`, log);
  return log;
}

function replace(dir: string, from: string, to: string): void {
  const path = join(dir, 'checkpoint.sqlite');
  const text = readFileSync(path, 'latin1');
  expect(text).toContain(from);
  writeFileSync(path, text.replaceAll(from, to), 'latin1');
}

/** Edits the checkpoint by other means than the program, so its checksum stays as it was. */
function editOnly(dir: string, sql: string): void {
  const db = new Sqlite(join(dir, 'checkpoint.sqlite'));
  db.exec(sql);
  db.close();
}

const pageBytes = 4096;

/** Returns the offsets of the pages of a table or an index. The first is the root page. */
function pagesOf(dir: string, name: string): number[] {
  const db = new Sqlite(join(dir, 'checkpoint.sqlite'), { readonly: true });
  const page = db
    .prepare<[string], number>('SELECT rootpage FROM sqlite_schema WHERE name = ?')
    .pluck()
    .get(name);
  db.close();
  const bytes = readFileSync(join(dir, 'checkpoint.sqlite'));
  const at = ((page ?? 1) - 1) * pageBytes;
  const isInterior = bytes[at] === 2 || bytes[at] === 5;
  const cells = isInterior ? bytes.readUInt16BE(at + 3) : 0;
  const children = Array.from({ length: cells }, (_, i) => {
    const cell = bytes.readUInt16BE(at + 12 + 2 * i);
    return (bytes.readUInt32BE(at + cell) - 1) * pageBytes;
  });
  return [at, ...children];
}

function zero(dir: string, name: string, which: 'root' | 'leaf' = 'root'): void {
  const path = join(dir, 'checkpoint.sqlite');
  const [at = 0, , second = 0] = pagesOf(dir, name);
  const bytes = readFileSync(path);
  const from = which === 'leaf' ? second : at;
  expect(from).toBeGreaterThan(0);
  bytes.fill(0, from, from + pageBytes);
  writeFileSync(path, bytes);
}

/** Replaces a text within one of the pages of this table or index. */
function flip(dir: string, name: string, from: string, to: string): void {
  const path = join(dir, 'checkpoint.sqlite');
  const bytes = readFileSync(path);
  const at = pagesOf(dir, name)
    .map((page) => bytes.subarray(0, page + pageBytes).indexOf(from, page))
    .find((found) => found !== -1);
  expect(at).toBeDefined();
  bytes.write(to, at ?? 0);
  writeFileSync(path, bytes);
}

it('repairs the input of a scene that left the list while its submission was unanswered', async () => {
  const dir = copyOf('killed');
  const begun = openCheckpoint(dir, 'test', batch, 0);
  const [attempt] = await begun.checkpoint.claim(1, endpoint, 1);
  begun.close();
  const db = new Sqlite(join(dir, 'checkpoint.sqlite'));
  db.prepare(`UPDATE scenes SET state = 'withdrawn', input = '{"scene":"another"}' WHERE id = ?`).run(
    attempt?.sceneId,
  );
  db.close();
  expect((await repairCheckpoint(dir))?.lost).toBe(1);
  const again = openCheckpoint(dir, 'test', batch, 0);
  expect(await again.checkpoint.recover()).toEqual([]);
  again.close();
});
