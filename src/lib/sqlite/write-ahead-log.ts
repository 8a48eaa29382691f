/** The file that SQLite's commits go to, made to last without holding the program up meanwhile. */
import { closeSync, fdatasync, openSync } from 'node:fs';
import type { Database } from './database.ts';

export interface WriteAheadLog {
  /** Has all that was committed before this call put on the disk; one call at a time. */
  sync(done: (error: Error | null) => void): void;
  /** Right away, or as soon as a sync in progress has ended. */
  close(): void;
}

/**
 * Opens the log of a database in WAL mode, which is the same file for as long as a connection is open. No lock is on
 * it, so that closing it drops none: the database itself must not be opened like this. Errors are the system's.
 */
export function openWriteAheadLog(db: Database): WriteAheadLog {
  const file = openSync(`${db.name}-wal`, 'r+');
  let isSyncing = false;
  let isClosed = false;
  return {
    sync: (done) => {
      isSyncing = true;
      fdatasync(file, (error) => {
        isSyncing = false;
        if (isClosed) closeSync(file);
        done(error);
      });
    },
    close: () => {
      if (isClosed) return;
      isClosed = true;
      if (!isSyncing) closeSync(file);
    },
  };
}
