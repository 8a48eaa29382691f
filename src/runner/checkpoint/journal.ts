/** The database of a run's journal. Turns its errors into failures: a full disk, damage, removed files. */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDiskFull } from '../../lib/files/disk-reserve.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { FatalFailure } from '../core/failure.ts';
import { asDiskFailure, isSystemError } from '../files/disk-failure.ts';
import { GroupCommit, type CommitMarker } from '../../lib/sqlite/group-commit.ts';
import type { Removal } from '../pipeline/ports.ts';
import { asDamage } from './damage.ts';
import { readCounts } from './read-totals.ts';

export class Journal {
  readonly db: Database;
  readonly #commits: GroupCommit;
  readonly #freeRoom: () => boolean;
  /** Device number of the file system that holds the checkpoint; undefined for a database in memory. */
  readonly #device: number | undefined;
  #isFull = false;
  /** Error from the first damaged row that was skipped. */
  #damage: unknown;

  /** `freeRoom` frees the space that is reserved for a full disk, and returns false if there was none left. */
  constructor(db: Database, freeRoom: () => boolean, marker?: CommitMarker) {
    this.db = db;
    this.#commits = new GroupCommit(db, marker);
    this.#freeRoom = freeRoom;
    this.#device = db.memory ? undefined : deviceBelow(dirname(db.name));
  }

  /** Runs `work` in the next group commit. Throws once the disk was full: the space left is for results of paid jobs. */
  write<T>(work: () => T): Promise<T> {
    return this.#guard(() => this.#commits.write(work));
  }

  /** Like `write`, but resolves before the commit is synced. */
  writeUnsynced<T>(work: () => T): Promise<T> {
    return this.#guard(() => this.#commits.writeUnsynced(work));
  }

  /** Like `write`, but in a transaction that stays open over many turns of the event loop. */
  writeAlone<T>(work: () => Promise<T>): Promise<T> {
    return this.#guard(() => this.#commits.writeAlone(work));
  }

  /** Writes results of a paid job. If the disk is full, frees the reserved space and tries once more. */
  async writeResult<T>(work: () => T): Promise<T> {
    try {
      return await this.#commits.write(work);
    } catch (error) {
      // Writes that failed together are each retried, although the first one freed the space.
      if (isDiskFull(error)) this.#isFull ||= this.#freeRoom();
      if (!isDiskFull(error) || !this.#isFull) throw asFatalFailure(error);
    }
    return orFatal(() => this.#commits.write(work));
  }

  read<T>(work: () => T): Promise<T> {
    return orFatal(async () => work());
  }

  /** Returns the rows that are not damaged. If one is damaged, `assertSound` throws from then on. */
  readUndamaged<Row, T>(rows: Row[], read: (row: Row) => T): T[] {
    return rows.flatMap((row) => {
      try {
        return [read(row)];
      } catch (error) {
        if (asDamage(error) === undefined) throw error;
        this.#damage ??= asFatalFailure(error);
        return [];
      }
    });
  }

  assertSound(): void {
    if (this.#damage !== undefined) throw this.#damage;
  }

  /** Says in words which files of the checkpoint were removed during the run; undefined if none were. */
  removed(): Removal | undefined {
    const { memory, name } = this.db;
    if (memory) return undefined;
    // The folder below an unmounted disk may hold the checkpoint of another run.
    if (deviceBelow(dirname(name)) !== this.#device)
      return {
        text: `the disk of ${name} disappeared during the run. The saved files are on it; mount it, then give the same command again: it collects the results that the service still has`,
        isLost: false,
      };
    const text = describeRemoved(name, () => readCounts(this.db).active);
    return text === undefined ? undefined : { text, isLost: true };
  }

  /** Throws if the checkpoint was removed, so that nothing is sent whose record would be lost. */
  assertNotRemoved(): void {
    const removed = this.removed();
    if (removed !== undefined) throw new FatalFailure({ kind: 'output-unwritable', text: removed.text });
  }

  /** Call before the database is closed. */
  close(): void {
    this.#commits.close();
  }

  async #guard<T>(write: () => Promise<T>): Promise<T> {
    if (this.#isFull) throw full();
    return orFatal(write);
  }
}

async function orFatal<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asFatalFailure(error);
  }
}

/** Returns a disk error or damage as `FatalFailure`, and any other error unchanged, because it is a bug. */
export function asFatalFailure(error: unknown): unknown {
  const path = isSystemError(error) ? error.path : undefined;
  return asDiskFailure(error, path ?? 'the checkpoint') ?? damageAsFailure(error);
}

/** Returns damage as a `FatalFailure` after which jobs in flight are still collected, and any other error unchanged. */
export function damageAsFailure(error: unknown): unknown {
  const damage = asDamage(error);
  return damage === undefined
    ? error
    : new FatalFailure({ kind: 'output-unwritable', text: damage.message }, true);
}

function full(): FatalFailure {
  const text =
    'the disk is full, and the checkpoint cannot be written; free some space, then give the same command again';
  return new FatalFailure({ kind: 'output-unwritable', text });
}

/** `countInFlight` counts the jobs that only this run knows. */
function describeRemoved(path: string, countInFlight: () => number): string | undefined {
  const wal = `${path}-wal`;
  const gone = [dirname(path), path, wal].find((file) => !existsSync(file));
  if (gone === undefined && isLog(wal)) return undefined;
  if (gone === undefined || gone === wal)
    return `${wal} was ${gone === undefined ? 'emptied' : 'removed'} during the run, and the latest records may be lost. Find out what does this; the next run says what is lost`;
  const inFlight = countInFlight();
  const jobs =
    inFlight === 0
      ? ''
      : ` Jobs in flight (${inFlight.toLocaleString('en')}) may still be billed, and can no longer be collected.`;
  return `${gone} was removed during the run, and the record of this batch is lost.${jobs} Find out what removes it. Then put a copy back; or start the run again, with --adopt to take over the remaining files, or with --fresh to render everything again`;
}

/** Returns the device number of the file system on which the folder is, or would be created. */
function deviceBelow(folder: string): number {
  return statSync(folder, { throwIfNoEntry: false })?.dev ?? deviceBelow(dirname(folder));
}

/** True if the file begins like a write-ahead log. An emptied log begins with zeros. */
function isLog(wal: string): boolean {
  const start = Buffer.alloc(3);
  const file = openSync(wal, 'r');
  try {
    readSync(file, start);
  } finally {
    closeSync(file);
  }
  return start.toString('hex') === '377f06';
}
