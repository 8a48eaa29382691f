/** What the checkpoint does where the disk does not take a write: it uses the room kept for that, or says so. */
import Sqlite from 'better-sqlite3';
import { Trouble } from '../core/failure.ts';

/**
 * Does a write, and once more where it finds the disk full and `freeRoom` has made some room: what was heard of a paid
 * job is not lost. Rejects with `Trouble` where the disk does not take it.
 */
export function writerInReserve(freeRoom: () => boolean): <T>(write: () => Promise<T>) => Promise<T> {
  let hasFreedRoom = false;
  return async (write) => {
    try {
      return await write();
    } catch (error) {
      // Writes that failed together are each written again, though the first of them freed the room.
      if (isDiskFull(error)) hasFreedRoom ||= freeRoom();
      if (!isDiskFull(error) || !hasFreedRoom) throw asTrouble(error);
    }
    try {
      return await write();
    } catch (error) {
      throw asTrouble(error);
    }
  };
}

function isDiskFull(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code === 'SQLITE_FULL';
}

/** SQLite's complaints about the disk are expected trouble; all others are bugs. */
export function asTrouble(error: unknown): unknown {
  if (!(error instanceof Sqlite.SqliteError)) return error;
  if (!/^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB)/.test(error.code)) return error;
  const text = `the checkpoint cannot be read or written (${error.message}, ${error.code}); what is saved is safe, and jobs in flight are collected by the next run`;
  return new Trouble({ kind: 'output-unwritable', text });
}
