/** Copies a database as it is at one moment, without leaving files beside the original. */
import { constants, existsSync, statSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { assertPlainFiles, type Database, openSqlite } from './database.ts';

/** SQLite copies all remaining pages in one step, so that no writer comes in between. */
const allPages = 2 ** 31 - 1;
const maxTries = 5;

/**
 * Copies `from` to `to` if it exists. Copies its files unchanged, because even reading a database leaves
 * files
 * beside it; SQLite copies it only while another process has it open (`isOpen`). Throws system and SQLite
 * errors.
 */
export async function copyDatabase(from: string, to: string, isOpen: () => boolean): Promise<void> {
  assertPlainFiles(from);
  for (let tries = 1; existsSync(from); tries++) {
    if (isOpen() || tries > maxTries) return copyOpen(from, to);
    const before = stampOf(from);
    await copyIfThere(from, to);
    await copyIfThere(`${from}-wal`, `${to}-wal`);
    // If somebody began to write meanwhile, the copy mixes two moments.
    if (!isOpen() && stampOf(from) === before) return;
  }
}

async function copyOpen(from: string, to: string): Promise<void> {
  for (const path of [to, `${to}-wal`]) await rm(path, { force: true });
  const db = openSqlite(from, { readonly: true, fileMustExist: true });
  try {
    await copyFrom(db, to);
  } finally {
    db.close();
  }
}

/** Copies what `db` sees to the file `to`; within a transaction, the database as it was at its beginning. */
export async function copyFrom(db: Database, to: string): Promise<void> {
  await db.backup(to, { progress: () => allPages });
}

async function copyIfThere(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await rm(to, { force: true });
  }
}

function stampOf(path: string): string {
  const stamps = [path, `${path}-wal`].map((file) => {
    const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
    return stats && `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
  });
  return stamps.join();
}
