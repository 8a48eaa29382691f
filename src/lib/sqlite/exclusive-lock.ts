/** A lock on a file of its own that the kernel takes back however its holder dies: no lock is ever stale. */
import { existsSync } from 'node:fs';
import { openSqlite, Sqlite } from './better-sqlite3.ts';
import { assertPlainFiles, type Database, makePrivateFile } from './database.ts';

export interface ExclusiveLock {
  release(): void;
}

/** `isLocked` takes part in a lock for a moment, which must not turn anybody away. */
const readersMomentMs = 200;

/**
 * Locks `path`, a small database that exists for this alone, until released or until the process ends; undefined where
 * another holds it. The file must never be opened by other means in this process: POSIX drops a process's locks when it
 * closes any descriptor of the file. Holds on local disks only; network file systems do not keep such locks reliably.
 */
export function lockExclusively(path: string): ExclusiveLock | undefined {
  assertPlainFiles(path);
  makePrivateFile(path);
  const db = openSqlite(path, { timeout: readersMomentMs });
  try {
    begin(db);
  } catch (error) {
    db.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  return { release: () => void db.close() };
}

/** The journal needs room on the disk; on a full one, memory has it. */
function begin(db: Database): void {
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError && error.code === 'SQLITE_FULL')) throw error;
    db.pragma('journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
  }
}

/** Whether anybody holds the lock at this moment. */
export function isLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  assertPlainFiles(path);
  const db = openSqlite(path, { readonly: true, timeout: 0 });
  try {
    db.prepare('SELECT 1 FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    db.close();
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY');
}
