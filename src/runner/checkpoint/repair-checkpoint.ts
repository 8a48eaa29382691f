/** Detects damage that SQLite does not, and repairs a checkpoint by copying its readable rows into a new file. */
import { closeSync, copyFileSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  type Database,
  openForReading,
  openForWriting,
  openSqlite,
  runMigrations,
  Sqlite,
  UnusableDatabase,
} from '../../lib/sqlite/database.ts';
import { syncFolder } from '../files/folders.ts';
import {
  checkpointFile,
  type CommitMark,
  CommitMarkFile,
  findLoss,
  hasLog,
  LostCommits,
  type Reached,
  readCommitMark,
  readCommits,
  readReached,
  sha256OfFile,
} from './find-loss.ts';
import { nameKey } from '../core/naming.ts';
import type { PictureMove } from '../pipeline/ports.ts';
import { forgetComparedList, isNamedByAttempt } from './batch-identity.ts';
import { restoreNames } from './recorded-pictures.ts';
import { forgetPictures } from './read-totals.ts';
import { asDamage, DamagedCheckpoint, isInputOf, storedJson, storedSeed } from './damage.ts';
import { checkpointSchema, tableNames, type Table, type SceneRow } from './checkpoint-schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { openCheckpointForReading, openForChanges, unseal } from './open-checkpoint.ts';
import { readAttempt, readSubmittedAttempt, prepareReads, prepareAttemptWrites } from './attempt-records.ts';

export interface RepairedCheckpoint {
  /** Number of submissions whose record is lost. They count as unanswered from now on. */
  lost: number;
  /** Path of the damaged file; null if the file itself was sound. */
  keptAs: string | null;
}

/**
 * Repairs the checkpoint, and keeps a damaged file as `.damaged`. Undefined if nothing needs repair. Call while holding
 * the lock. Throws `UnusableDatabase` if there is no file or nothing can be read of it.
 */
export async function repairCheckpoint(dir: string): Promise<RepairedCheckpoint | undefined> {
  const path = checkpointFile(dir);
  const wrong = damageIn(() => assertSound(dir));
  if (wrong === undefined) return undefined;
  if (!existsSync(path)) throw wrong;
  const mark = readCommitMark(dir);
  if (isLogForeign(path, mark)) {
    renameSync(`${path}-wal`, `${path}.damaged-wal`);
    return { lost: 0, keptAs: `${path}.damaged-wal` };
  }
  // From here on the file is checked without the digest of its mark.
  unseal(dir);
  let lost = 0;
  const damage = damageIn(() => {
    lost = findLoss(dir)?.submissions ?? 0;
    assertContent(dir);
  });
  if (damage === undefined) {
    const opened = openForChanges(dir, true);
    // The next run compares the stored scenes with the list again.
    forgetComparedList(opened.db);
    opened.close(true);
    return { lost, keptAs: null };
  }
  return { lost: await rebuild(dir, path, mark), keptAs: `${path}.damaged` };
}

function damageIn(check: () => void): UnusableDatabase | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    const damage = asDamage(error);
    if (damage === undefined) throw error;
    return damage;
  }
}

/** True if the log is not the file's. An orderly end leaves no log; one ahead of the mark belongs to the file. */
function isLogForeign(path: string, mark: CommitMark | undefined): boolean {
  if (mark === undefined || mark.sha256 === null || !hasLog(path) || sha256OfFile(path) !== mark.sha256)
    return false;
  let commit = 0;
  const damage = damageIn(() => {
    const db = openForReading(path, checkpointSchema);
    if (db !== undefined) commit = readReached(db).commit;
    db?.close();
  });
  return damage !== undefined || commit <= mark.commit;
}

/** Replaces the damaged file in one step. Starts over if an earlier repair was interrupted. */
async function rebuild(dir: string, path: string, mark: CommitMark | undefined): Promise<number> {
  const [target, copy] = [`${path}.repaired`, `${path}.repairing`];
  removeDatabases(target, copy);
  const to = openForWriting(target, checkpointSchema);
  const from = openDamaged(path, copy, to);
  let lost: number | undefined;
  let reached = mark ?? { commit: 0, attempts: 0 };
  try {
    lost = carryRows(from, to, reached);
    if (lost !== undefined) reached = readReached(to);
  } finally {
    from.close();
    to.close();
    removeDatabases(copy);
  }
  keepDamaged(path);
  if (lost === undefined) {
    removeDatabases(path, target);
    await syncFolder(dirname(path));
    throw nothingRead(path);
  }
  syncFile(target);
  // The log that is still there belongs to the damaged file. This mark makes the next start refuse it.
  const file = new CommitMarkFile(dir);
  file.writeDurably({ ...reached, sha256: sha256OfFile(target) });
  file.close();
  renameSync(target, path);
  for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true });
  await syncFolder(dirname(path));
  return lost;
}

function keepDamaged(path: string): void {
  removeDatabases(`${path}.damaged`);
  for (const end of ['', '-wal'])
    if (existsSync(path + end)) copyFileSync(path + end, `${path}.damaged${end}`);
}

/** Says that nothing can be read. The file is out of the way, so that the next start can do without it. */
function nothingRead(path: string): UnusableDatabase {
  return new UnusableDatabase(
    `nothing can be read of ${path}; it is kept as ${path}.damaged. Put a copy of it back; or take over the files that are there, each checked: \`nightrender run <pipeline> --adopt\`; or begin afresh and keep them as .former: \`nightrender run <pipeline> --fresh\``,
  );
}

function openDamaged(path: string, copy: string, like: Database): Database {
  for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end);
  const schema = like.prepare<[], object>('SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL');
  damageIn(() => {
    const db = openAnyhow(copy);
    const right = db.prepare<[object]>(
      'UPDATE sqlite_schema SET sql = @sql WHERE type = @type AND name = @name AND sql <> @sql',
    );
    for (const row of schema.all()) right.run(row);
    db.close();
  });
  return openAnyhow(copy);
}

/** Opens a file even if its schema is damaged. */
function openAnyhow(path: string): Database {
  const db = openSqlite(path);
  db.unsafeMode(true);
  db.pragma('writable_schema = ON');
  return db;
}

function removeDatabases(...paths: string[]): void {
  for (const path of paths) for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
}

function syncFile(path: string): void {
  // Windows syncs only files that are open for writing.
  const file = openSync(path, 'r+');
  fsyncSync(file);
  closeSync(file);
}

/** Copies readable rows. Returns the known number of lost submissions; undefined if no scene is left. */
function carryRows(from: Database, to: Database, mark: Reached): number | undefined {
  return to.transaction(() => {
    const before = readableCommits(from);
    const highest = Math.max(...tableNames.map((table) => carryTable(from, to, table)));
    // Both numbers include submissions that were lost before.
    const submissions = Math.max(mark.attempts, highest - before.unused_keys + before.lost_submissions);
    const drop = {
      scenes: `DELETE FROM pictures WHERE attempt IN (SELECT attempt FROM attempts WHERE scene = @key);
        DELETE FROM attempts WHERE scene = @key; DELETE FROM scenes WHERE scene = @key`,
      attempts: 'DELETE FROM attempts WHERE attempt = @key',
    };
    for (const { table, key } of damagedRows(to)) to.exec(drop[table].replaceAll('@key', String(key)));
    to.exec(agree);
    const count = (table: Table): number =>
      to.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
    if (count('scenes') === 0) return undefined;
    const lost = submissions - count('attempts');
    const last = to.prepare<[], number>('SELECT coalesce(max(attempt), 0) FROM attempts').pluck().get() ?? 0;
    to.prepare('UPDATE commits SET number = ?, lost_submissions = ?, unused_keys = ?').run(
      Math.max(before.number, mark.commit) + 1,
      lost,
      last - count('attempts'),
    );
    return lost - before.lost_submissions;
  })();
}

/** SQL that makes scenes and attempts agree. Comparing the list again restores the scenes that are lost. */
const agree = `
  UPDATE scenes SET attempts = max(attempts, (SELECT coalesce(max(number), 0) FROM attempts a WHERE a.scene = scenes.scene));
  UPDATE scenes SET state = 'waiting', due_at = 0
    WHERE state = 'active' AND NOT EXISTS (SELECT 1 FROM attempts a
        WHERE a.scene = scenes.scene AND a.state IN ('intended', 'submitted'))
      OR state = 'saved' AND NOT EXISTS (SELECT 1 FROM attempts a JOIN pictures USING (attempt) WHERE a.scene = scenes.scene);
  DELETE FROM batch WHERE name = 'compared'`;

/** Copies the readable rows of a table. Returns the highest key of an attempt; 0 for other tables. */
function carryTable(from: Database, to: Database, table: Table): number {
  const width = to.prepare(`SELECT 1 FROM pragma_table_info('${table}')`).all().length;
  const insert = to.prepare(`INSERT INTO ${table} VALUES (${Array<string>(width).fill('?').join()})`);
  // Attempts are kept even if the row of their run is lost.
  const stub = to.prepare(
    "INSERT OR IGNORE INTO runs (run, pid, host, program, started_at) VALUES (?, 0, '', '', 0)",
  );
  let last = 0;
  for (const [key, ...row] of readableRows(from, table)) {
    if (table === 'attempts') last = Number(key);
    ifSound(() => {
      if (table === 'attempts') stub.run(row[3]);
      insert.run(...row);
    });
  }
  return last;
}

const pageRows = 200;
/** Consecutive keys without a row: more than a damaged part usually has, and few enough to try within seconds. */
const maxUnreadable = 10_000;

/** Yields readable rows, each with its key before it. Tries the rows of a damaged page one by one. */
function* readableRows(from: Database, table: Table): Generator<unknown[]> {
  const all = `SELECT rowid, * FROM ${table} NOT INDEXED WHERE rowid`;
  const page = ifSound(() =>
    from.prepare<[number], unknown[]>(`${all} > ? ORDER BY rowid LIMIT ${pageRows}`).raw(),
  );
  const one = ifSound(() => from.prepare<[number], unknown[]>(`${all} = ?`).raw());
  if (page === undefined || one === undefined) return;
  let key = 0;
  for (let unreadable = 0; unreadable < maxUnreadable;) {
    const rows = ifSound(() => page.all(key));
    if (rows?.length === 0) return;
    const next = rows ?? [ifSound(() => one.get(key + 1)) ?? []];
    // A damaged page may return any key, or the same one again.
    key = rows === undefined ? key + 1 : Math.max(key + 1, Number(rows.at(-1)?.[0]));
    const found = next.filter((row) => row.length > 0);
    unreadable = found.length > 0 ? 0 : unreadable + 1;
    yield* found;
  }
}

function readableCommits(from: Database): ReturnType<typeof readCommits> {
  return ifSound(() => readCommits(from)) ?? { number: 0, lost_submissions: 0, unused_keys: 0 };
}

/** Returns undefined if what `work` reads is damaged. */
function ifSound<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (asDamage(error) === undefined) throw error;
    return undefined;
  }
}

interface Damage {
  table: 'scenes' | 'attempts';
  key: number;
  error: UnusableDatabase;
}

/** Throws `UnusableDatabase` if anything is damaged or lost. */
export function assertSound(dir: string): void {
  const loss = findLoss(dir);
  if (loss !== undefined) throw new LostCommits(dir, loss);
  assertContent(dir);
}

/** Throws `UnusableDatabase` if anything in the file is damaged. */
function assertContent(dir: string): void {
  const db = openCheckpointForReading(dir);
  if (db === undefined) return;
  try {
    assertSchema(db);
    const [damaged] = damagedRows(db);
    if (damaged !== undefined) throw damaged.error;
  } finally {
    db.close();
  }
}

/** Throws if the schema was changed. Existing rows may satisfy a damaged constraint that rejects the next row. */
function assertSchema(db: Database): void {
  const sound = new Sqlite(':memory:');
  const version = Number(db.pragma('user_version', { simple: true }));
  runMigrations(sound, checkpointSchema.migrations.slice(0, version));
  const isSame = schemaOf(db) === schemaOf(sound);
  sound.close();
  if (!isSame) throw new DamagedCheckpoint('its schema was changed');
}

function schemaOf(db: Database): string {
  return JSON.stringify(
    db.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name').all(),
  );
}

function damagedRows(db: Database): Damage[] {
  const scenes = db.prepare<[], StoredScene>(
    'SELECT scene, id, fingerprint, state, input, columns, seed FROM scenes',
  );
  const sql = prepareReads(db);
  const damaged: Damage[] = [];
  const noteDamage = (table: Damage['table'], key: number, check: () => unknown): void => {
    try {
      check();
    } catch (error) {
      if (!(error instanceof UnusableDatabase)) throw error;
      damaged.push({ table, key, error });
    }
  };
  for (const row of scenes.iterate()) noteDamage('scenes', row.scene, () => assertScene(row));
  for (const row of sql.intended.all()) noteDamage('attempts', row.key, () => readAttempt(sql, row));
  for (const row of sql.submitted.all())
    noteDamage('attempts', row.key, () => readSubmittedAttempt(sql, row));
  return damaged;
}

type StoredScene = Pick<SceneRow, 'scene' | 'id' | 'fingerprint' | 'state' | 'input' | 'columns' | 'seed'>;

function assertScene({ id, fingerprint, state, input, columns, seed }: StoredScene): void {
  const of = `scene ${id}`;
  storedJson(columns, of);
  storedSeed(seed, of);
  const read = storedJson(input, of) as JsonObject;
  // Nothing is sent any more for scenes in other states.
  const isToBeSent = state === 'waiting' || state === 'active';
  if (isToBeSent && !isInputOf(fingerprint, read))
    throw new DamagedCheckpoint(`the input of ${of} is not the one that was recorded`);
}

export interface Rename {
  key: number;
  name: string;
  by: string | undefined;
}

export interface PictureRepair {
  /** Returns the renames that a crashed run had decided, in the order to do them. */
  pendingMoves: () => Promise<PictureMove[]>;
  recordMoved: (move: PictureMove) => Promise<void>;
  /**
   * Decides on new names, all or none. A picture whose name another one still has moves to `by` first, and
   * gets its name by `restoreNames`. Until `reported`, the next run does not keep the report.
   */
  rename: (renames: readonly Rename[]) => void;
  /** Gives names that were free only after other renames. Returns their number. */
  restoreNames: () => number;
  reported: () => void;
  /** Forgets the attempt's pictures. Resolves to true if its scene waits again, false if it was not saved. */
  putBack: (attempt: number) => Promise<boolean>;
}

/** Call only while holding the batch's lock. */
export function pictureRepair(db: Database): PictureRepair {
  const sql = prepareAttemptWrites(db);
  const setRenamed = (isRenamed: boolean): void =>
    void db
      .prepare("UPDATE batch SET value = json_patch(value, ?) WHERE name = 'batch'")
      .run(JSON.stringify({ isRenamed: isRenamed || null }));
  const wait = db.prepare<[number]>(`
    UPDATE scenes SET state = 'waiting', due_at = 0, deaths = 0, counted_from = attempts,
      failure_kind = NULL, failure_text = NULL
    WHERE scene = (SELECT scene FROM attempts WHERE attempt = ?) AND state = 'saved'`);
  return {
    pendingMoves: async () => sql.pendingMoves.all(),
    rename: db.transaction((renames: readonly Rename[]) => {
      const decide = db.prepare<[object]>(
        'UPDATE pictures SET name = @name, move_to = @to WHERE picture = @key',
      );
      for (const { key, name, by = name } of renames) decide.run({ key, name, to: by });
      setRenamed(true);
    }),
    restoreNames: () => (isNamedByAttempt(db) ? 0 : restoreNames(db)),
    reported: () => setRenamed(false),
    recordMoved: async ({ key, to }) => void sql.recordMoved.run({ key, to, fileKey: nameKey(to) }),
    putBack: async (attempt) =>
      db
        .transaction(() => {
          forgetPictures(db, String(attempt));
          return wait.run(attempt).changes > 0;
        })
        .immediate(),
  };
}
