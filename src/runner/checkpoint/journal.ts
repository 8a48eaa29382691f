/** The database of a run's journal, and what its failures mean: a full disk, damage, removed files. */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Sqlite } from '../../lib/sqlite/better-sqlite3.ts';
import { FatalFailure } from '../core/failure.ts';
import { asDiskFailure, isSystemError } from '../files/disk-failure.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { GroupCommit, type CommitMarker } from '../../lib/sqlite/group-commit.ts';
import type { Removal } from '../pipeline/ports.ts';
import { asDamage } from './damage.ts';
import { readCounts } from './read-totals.ts';

/** The database of a run's journal: writes come in group commits, and what goes wrong is a `FatalFailure`. */
export class Journal {
  readonly db: Database;
  readonly #commits: GroupCommit;
  readonly #freeRoom: () => boolean;
  /** That of its disk. */
  readonly #device: number | undefined;
  #isFull = false;
  /** Of the first row that was left out because of it. */
  #damage: unknown;

  /** `freeRoom` frees the space reserved for a full disk; returns whether there was any. */
  constructor(db: Database, freeRoom: () => boolean, marker?: CommitMarker) {
    this.db = db;
    this.#commits = new GroupCommit(db, marker);
    this.#freeRoom = freeRoom;
    this.#device = db.memory ? undefined : deviceBelow(dirname(db.name));
  }

  /** Not tried once the disk was full: the space that is left is for the results of paid jobs. */
  write<T>(work: () => T): Promise<T> {
    return this.#guard(() => this.#commits.write(work));
  }

  /** As `write`, but resolves before the commit is synced. */
  writeUnsynced<T>(work: () => T): Promise<T> {
    return this.#guard(() => this.#commits.writeUnsynced(work));
  }

  /** As `write`, in a transaction that stays open over many turns of the event loop. */
  writeAlone<T>(work: () => Promise<T>): Promise<T> {
    return this.#guard(() => this.#commits.writeAlone(work));
  }

  /** Results of a paid job: retried once on a full disk, with the reserved space freed. */
  async writeResult<T>(work: () => T): Promise<T> {
    try {
      return await this.#commits.write(work);
    } catch (error) {
      // Writes that failed together are each retried, though the first of them freed the space.
      if (isDiskFull(error)) this.#isFull ||= this.#freeRoom();
      if (!isDiskFull(error) || !this.#isFull) throw asFatalFailure(error);
    }
    return orFatal(() => this.#commits.write(work));
  }

  read<T>(work: () => T): Promise<T> {
    return orFatal(async () => work());
  }

  /** Rows that are not damaged; `assertSound` then throws. */
  sound<Row, T>(rows: Row[], read: (row: Row) => T): T[] {
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

  /** In words, where files of the checkpoint were removed during the run; undefined where none was. */
  removed(): Removal | undefined {
    const { memory, name } = this.db;
    if (memory) return undefined;
    // Below it, another run may have left a checkpoint of that name.
    if (deviceBelow(dirname(name)) !== this.#device)
      return {
        text: `the disk of ${name} went away during the run. What was saved is on it; mount it, then give the same command again: it collects what the service still has`,
        isLost: false,
      };
    const text = describeRemoved(name, () => readCounts(this.db).active);
    return text === undefined ? undefined : { text, isLost: true };
  }

  /** Nothing is sent whose record would be lost. */
  assertNotRemoved(): void {
    const removed = this.removed();
    if (removed !== undefined) throw new FatalFailure({ kind: 'output-unwritable', text: removed.text });
  }

  /** To be called before the database is closed. */
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

function isDiskFull(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code === 'SQLITE_FULL';
}

/** A failing disk and damage are failures; all else is a bug. */
export function asFatalFailure(error: unknown): unknown {
  const path = isSystemError(error) ? error.path : undefined;
  return asDiskFailure(error, path ?? 'the checkpoint') ?? damageAsFailure(error);
}

/** For what may have sent something already, to which damage is no refusal any more; all else as it is. */
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

/** `countInFlight`: jobs that only this run knows of. */
function describeRemoved(path: string, countInFlight: () => number): string | undefined {
  const wal = `${path}-wal`;
  const gone = [dirname(path), path, wal].find((file) => !existsSync(file));
  if (gone === undefined && isLog(wal)) return undefined;
  if (gone === undefined || gone === wal)
    return `${wal} was ${gone === undefined ? 'emptied' : 'removed'} during the run, and the latest records may be lost with it. Find out what does so; the next run reports what is lost`;
  const inFlight = countInFlight();
  const jobs =
    inFlight === 0
      ? ''
      : ` Jobs in flight (${inFlight.toLocaleString('en')}) may still be billed, and can no longer be collected.`;
  return `${gone} was removed during the run, and the record of this batch is lost with it.${jobs} Find out what removes it. Then put a copy back; or start the run again, with --adopt to take over the pictures that are left, or with --fresh to render everything again`;
}

/** Of the file system on which the folder is, or would be made. */
function deviceBelow(folder: string): number {
  return statSync(folder, { throwIfNoEntry: false })?.dev ?? deviceBelow(dirname(folder));
}

/** What was emptied is written to where it ended, and begins with zeros then. */
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
