/** A lock on a file of its own that the kernel releases however its holder ends, so that no lock is ever stale. */
import { existsSync } from 'node:fs';
import { assertPlainFiles, type Database, isBusy, makePrivateFile, openSqlite, Sqlite } from './database.ts';

export interface ExclusiveLock {
  release(): void;
}

/** `isLocked` takes the lock for a moment, which must not make others fail. */
const readersMomentMs = 200;

/**
 * Locks `path`, a small database used only for this, until released or until the process ends. Returns
 * undefined if another holder has the lock. This process must not open the file in any other way, because
 * POSIX drops a process's locks when it closes any descriptor of the file. Works only on local disks; network
 * file systems do not keep such locks reliably.
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

/** Takes the lock. The journal needs disk space, so on a full disk it is kept in memory. */
function begin(db: Database): void {
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError && error.code === 'SQLITE_FULL')) throw error;
    db.pragma('journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
  }
}

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
