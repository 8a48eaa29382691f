/** Repairs a checkpoint: one that is sound is taken as it is, of any other all that can be read goes into a new one. */
import { closeSync, copyFileSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { openSqlite } from '../../lib/sqlite/better-sqlite3.ts';
import { syncFolder } from '../files/folders.ts';
import {
  openForReading,
  openForWriting,
  UnusableDatabase,
  type Database,
} from '../../lib/sqlite/database.ts';
import { carryRows } from './carry-rows.ts';
import { CommitMarkFile, readCommitMark, type CommitMark, readReached } from './commit-mark.ts';
import { forgetComparedList } from './batch-identity.ts';
import { asDamage } from './damage.ts';
import { assertContent, assertSound } from './damaged-rows.ts';
import { checkpointFile, findLoss, hasLog, sha256OfFile } from './find-loss.ts';
import { openForChanges, unseal } from './open-for-changes.ts';
import { checkpointSchema } from './schema.ts';

export interface RepairedCheckpoint {
  /** Submissions whose record is lost: they count as unanswered from now on. */
  lost: number;
  /** Where the damaged file is; null where nothing was wrong with it. */
  keptAs: string | null;
}

/** Undefined where nothing is to be repaired. For whoever holds the batch's lock. Throws where nothing can be read. */
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
  // From here on the file is judged without its mark's digest.
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

/** All of its own was tidied away at an orderly end; one that leads further is its own, and the mark is an older one. */
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

/** The damaged one is replaced in one step; a repair that was interrupted before starts over. */
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
  // The log that is still there is not this one's: it would be refused, not taken into it.
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

/** It is out of the way, so that the next start can do without it. */
function nothingRead(path: string): UnusableDatabase {
  return new UnusableDatabase(
    `nothing can be read of ${path}; it is kept as ${path}.damaged. Put a copy of it back; or take over the pictures that are there, each checked: \`nightrender run <pipeline> --adopt\`; or begin afresh and keep them as .former: \`nightrender run <pipeline> --fresh\``,
  );
}

/** A copy, with the schema that belongs to it. */
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

/** Though its schema be damaged. */
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
  // Windows syncs only what may be written to.
  const file = openSync(path, 'r+');
  fsyncSync(file);
  closeSync(file);
}
