/** One run a batch: a lock that the kernel releases however its holder dies. */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isJsonObject } from '../../lib/text/json.ts';
import { assertPlainFile } from '../../lib/files/plain-file.ts';
import { isAlive } from '../../lib/files/temporary-files.ts';
import { makeFolder } from '../files/folders.ts';
import { isLocked, lockExclusively, type ExclusiveLock } from '../../lib/sqlite/exclusive-lock.ts';
import { openForReading } from '../../lib/sqlite/database.ts';
import { checkpointSchema } from './schema.ts';

interface LockHolder {
  pid: number;
  host: string;
  since: number;
}

/** Thrown where another run holds the batch. */
export class BatchHeld extends Error {
  readonly holder: LockHolder | undefined;
  /** What to do about it, in a sentence; empty where waiting is all. */
  readonly advice: string;

  constructor(holder: LockHolder | undefined, advice = '') {
    super('another run holds this batch');
    this.holder = holder;
    this.advice = advice;
  }
}

export interface BatchLock extends ExclusiveLock {
  /** The batch's folder. */
  dir: string;
}

/**
 * Takes the lock of a batch folder or throws `BatchHeld`, at once where the holder is known. Where no living
 * process has, the lock is tried for some two seconds: the holder writes its name just after it has the lock, and of
 * many that start at once each may be in the way of all others for a moment. `advice` is for whoever is kept out.
 */
export async function lockBatch(dir: string, now: number, advice?: string): Promise<BatchLock> {
  makeFolder(dir, 0o700);
  for (let tries = 0; tries < 10; tries++) {
    const lock = lockExclusively(lockFile(dir));
    if (lock !== undefined) {
      try {
        // A lock file that was deleted beside a live run, and made anew here, lets nobody in.
        assertNotOwned(dir, advice);
        removeLeftovers(dir);
        writeHolder(dir, { pid: process.pid, host: hostname(), since: now });
      } catch (error) {
        lock.release();
        throw error;
      }
      return { dir, release: () => lock.release() };
    }
    const holder = readHolder(dir);
    if (holder !== undefined && isThere(holder)) throw new BatchHeld(holder, advice);
    await delay(50);
  }
  throw new BatchHeld(recordedOwner(dir), advice);
}

/** Throws `BatchHeld` where another run was let in since the lock of this one was taken. */
export function assertNotOwned(dir: string, advice?: string): void {
  const owner = recordedOwner(dir);
  if (owner !== undefined) throw new BatchHeld(owner, advice);
}

/** Whether a run was ever begun on the folder. */
export function isBatch(dir: string): boolean {
  return existsSync(lockFile(dir)) || existsSync(join(dir, 'checkpoint.sqlite'));
}

/** Throws where the lock file is unusable, as taking the lock does. */
export function assertLockUsable(dir: string): void {
  isLocked(lockFile(dir));
}

/** Whether a run holds the batch at this moment. An unusable lock file is reported only when the lock is taken. */
export function isBatchHeld(dir: string): boolean {
  try {
    if (isLocked(lockFile(dir))) return true;
  } catch (error) {
    if (!String((error as { code?: unknown }).code).startsWith('SQLITE_')) throw error;
  }
  return recordedOwner(dir) !== undefined;
}

const lockFile = (dir: string): string => join(dir, '.lock.sqlite');

const holderFile = (dir: string): string => join(dir, '.lock.json');

/** Renamed into place, so that it is never read half written. */
function writeHolder(dir: string, holder: LockHolder): void {
  assertPlainFile(holderFile(dir));
  const temporary = `${holderFile(dir)}.${holder.pid}.tmp`;
  writeFileSync(temporary, JSON.stringify(holder), { mode: 0o600 });
  renameSync(temporary, holderFile(dir));
}

/** Only the holder of the lock writes such files: others are of the dead. */
function removeLeftovers(dir: string): void {
  const leftovers = readdirSync(dir).filter((name) => /^\.lock\.json\.\d+\.tmp$/.test(name));
  for (const name of leftovers) rmSync(join(dir, name), { force: true });
}

/** A name of a dead process is an older holder's. */
function isThere({ host, pid }: LockHolder): boolean {
  return host !== hostname() || isAlive(pid);
}

/** For messages only: undefined where it is missing, unreadable or malformed. */
function readHolder(dir: string): LockHolder | undefined {
  try {
    assertPlainFile(holderFile(dir));
    const holder = JSON.parse(readFileSync(holderFile(dir), 'utf8')) as unknown;
    if (!isJsonObject(holder)) return undefined;
    const { pid, host, since } = holder;
    const isName = typeof pid === 'number' && typeof host === 'string' && typeof since === 'number';
    return isName ? { pid, host, since } : undefined;
  } catch {
    return undefined;
  }
}

interface RecordedOwner {
  pid: number;
  host: string;
  since: number;
}

export function ownRun(program: string, startedAt: number): RunRow {
  const mark = { boot: bootId() ?? null, started: startOf(process.pid) ?? null };
  return { pid: process.pid, host: hostname(), program, startedAt, ...mark };
}

/** A run as it is put on record; `boot` and `started` distinguish its process from a later one with the same pid, and are null on systems without `/proc`. */
export interface RunRow {
  pid: number;
  host: string;
  program: string;
  startedAt: number;
  boot: string | null;
  started: string | null;
}

/**
 * A run on record in the batch's folder that has not ended and whose process lives, other than this one. Undefined also
 * where that is unknown: it ran on another machine, or the checkpoint cannot be read, which is reported elsewhere.
 */
function recordedOwner(dir: string): RecordedOwner | undefined {
  const path = join(dir, 'checkpoint.sqlite');
  const boot = bootId();
  // Without this file no process has it open, and opening it would create the file.
  if (boot === undefined || !existsSync(`${path}-shm`)) return undefined;
  try {
    const db = openForReading(path, checkpointSchema);
    const runs = db?.prepare<[string, string], RecordedOwner & { started: string }>(
      `SELECT pid, host, started_at AS since, process_started AS started FROM runs
       WHERE ended_at IS NULL AND host = ? AND boot = ? ORDER BY run DESC`,
    );
    const found = runs
      ?.all(hostname(), boot)
      .find(({ pid, started }) => pid !== process.pid && startOf(pid) === started);
    db?.close();
    return found && { pid: found.pid, host: found.host, since: found.since };
  } catch {
    return undefined;
  }
}

function bootId(): string | undefined {
  return readProc('sys/kernel/random/boot_id')?.trim();
}

/** In clock ticks after boot; undefined for a process that is no more. */
function startOf(pid: number): string | undefined {
  // The name of the program stands in brackets and may hold anything; behind it come the state and, 19 on, the start.
  const fields = readProc(`${pid}/stat`)?.split(') ').at(-1)?.split(' ');
  const isDead = fields === undefined || fields[0] === 'Z' || fields[0] === 'X';
  return isDead ? undefined : fields[19];
}

function readProc(name: string): string | undefined {
  try {
    return readFileSync(join('/proc', name), 'utf8');
  } catch {
    return undefined;
  }
}
