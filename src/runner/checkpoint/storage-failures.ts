/** What the checkpoint does when its disk is full, or its files are damaged or removed. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { FatalFailure } from '../core/failure.ts';
import { diskFailure, isSystemError } from '../files/disk-failure.ts';
import { asDamage } from './damage.ts';

/** Rejects with `FatalFailure` where the disk does not take the write. */
type Writer = <T>(write: () => Promise<T>) => Promise<T>;

export interface Writers {
  /** For what was heard of a paid job: is done once more where the disk is full and `freeRoom` has made some room. */
  heard: Writer;
  /** For all else: not done any more once the disk was found full, so that nothing new uses up the room. */
  planned: Writer;
}

export function writersWithReserve(freeRoom: () => boolean): Writers {
  let isFull = false;
  const planned: Writer = async (write) => {
    if (isFull) throw full();
    return tried(write);
  };
  const heard: Writer = async (write) => {
    try {
      return await write();
    } catch (error) {
      // Writes that failed together are each written again, though the first of them freed the room.
      if (isDiskFull(error)) isFull ||= freeRoom();
      if (!isDiskFull(error) || !isFull) throw asFatalFailure(error);
    }
    return tried(write);
  };
  return { heard, planned };
}

async function tried<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw asFatalFailure(error);
  }
}

function isDiskFull(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code === 'SQLITE_FULL';
}

/** Complaints of SQLite and of the system about the disk, and damage, are expected trouble; all others are bugs. */
export function asFatalFailure(error: unknown): unknown {
  if (isSystemError(error)) return diskFailure(error.path ?? 'the checkpoint', error.code);
  const damage = asDamage(error);
  if (damage !== undefined)
    return new FatalFailure({ kind: 'output-unwritable', text: damage.message }, true);
  if (!(error instanceof Sqlite.SqliteError)) return error;
  if (!/^SQLITE_(FULL|IOERR|READONLY|CANTOPEN)/.test(error.code)) return error;
  if (error.code === 'SQLITE_FULL') return full();
  const text = `the checkpoint cannot be read or written (${error.message}, ${error.code}); check the disk and the output folder, then start the run again`;
  return new FatalFailure({ kind: 'output-unwritable', text });
}

function full(): FatalFailure {
  const text =
    'the disk is full, and the checkpoint cannot be written; free some space, then start the run again';
  return new FatalFailure({ kind: 'output-unwritable', text });
}

/** In words, with what to do; undefined where all are there. `countInFlight`: jobs that only this run knows of. */
export function describeRemoved(path: string, countInFlight: () => number): string | undefined {
  const wal = `${path}-wal`;
  const gone = [dirname(path), path, wal].find((file) => !existsSync(file));
  if (gone === undefined) return undefined;
  if (gone === wal)
    return `${gone} was removed during the run, and what was recorded last may be lost with it. Find out what removes it; the next run says what is lost`;
  const inFlight = countInFlight();
  const jobs =
    inFlight === 0
      ? ''
      : ` Jobs in flight (${inFlight}) may still be billed, and can no longer be collected.`;
  return `${gone} was removed during the run, and the record of this batch is lost with it.${jobs} Find out what removes it. Then put a copy back; or start the run again, with --adopt to take over the pictures that are left, or with --fresh to render everything again`;
}
