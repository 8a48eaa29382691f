/** Whether the disk, or what its owner may use of it, is full. */
import Sqlite from 'better-sqlite3';

/** As SQLite and the system say it. */
export function isDiskFull(error: unknown): boolean {
  if (error instanceof Sqlite.SqliteError) return error.code === 'SQLITE_FULL';
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}
