/** Lets only one run work on a batch, by a lock that the kernel releases, and marks its attempts in progress for a crash. */
import {
  closeSync,
  constants,
  existsSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { assertPlainFile, isAlive } from '../../lib/files/temporary-files.ts';
import { openForReading } from '../../lib/sqlite/database.ts';
import { type ExclusiveLock, isLocked, lockExclusively } from '../../lib/sqlite/exclusive-lock.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { makeFolder } from '../files/folders.ts';
import { checkpointSchema } from './checkpoint-schema.ts';

interface LockHolder {
  pid: number;
  host: string;
  since: number;
}

export class BatchInUse extends Error {
  readonly holder: LockHolder | undefined;
  /** Sentence that says what to do; empty if the user can only wait. */
  readonly advice: string;

  constructor(holder: LockHolder | undefined, advice = '') {
    super('another run holds this batch');
    this.holder = holder;
    this.advice = advice;
  }
}

export interface BatchLock extends ExclusiveLock {
  dir: string;
}

/**
 * Takes the lock of a batch folder. Throws `BatchInUse`, at once if a living process is recorded as the
 * holder. Otherwise tries for about two seconds: a holder is recorded only after it has the lock, and runs
 * that start together may block each other for a moment. `advice` is shown to whoever is refused.
 */
export async function lockBatch(dir: string, now: number, advice?: string): Promise<BatchLock> {
  makeFolder(dir, 0o700);
  for (let tries = 0; tries < 10; tries++) {
    const lock = lockExclusively(lockFile(dir));
    if (lock !== undefined) {
      try {
        // If the lock file was deleted during a run and created again here, the other run still holds the batch.
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
    if (holder !== undefined && mayBeAlive(holder)) throw new BatchInUse(holder, advice);
    await delay(50);
  }
  throw new BatchInUse(recordedOwner(dir), advice);
}

/** Throws `BatchInUse` if the checkpoint records another run that is alive. */
export function assertNotOwned(dir: string, advice?: string): void {
  const owner = recordedOwner(dir);
  if (owner !== undefined) throw new BatchInUse(owner, advice);
}

/** True if a run ever began in the folder. */
export function isBatch(dir: string): boolean {
  return existsSync(lockFile(dir)) || existsSync(join(dir, 'checkpoint.sqlite'));
}

export function assertLockUsable(dir: string): void {
  isLocked(lockFile(dir));
}

/** True if a run holds the batch at this moment. Ignores an unusable lock file, which `lockBatch` reports. */
export function isBatchInUse(dir: string): boolean {
  try {
    if (isLocked(lockFile(dir))) return true;
  } catch (error) {
    if (!String((error as { code?: unknown }).code).startsWith('SQLITE_')) throw error;
  }
  return recordedOwner(dir) !== undefined;
}

const lockFile = (dir: string): string => join(dir, '.lock.sqlite');

const holderFile = (dir: string): string => join(dir, '.lock.json');

/** Renames the file into place, so that it is never read half written. */
function writeHolder(dir: string, holder: LockHolder): void {
  assertPlainFile(holderFile(dir));
  const temporary = `${holderFile(dir)}.${holder.pid}.tmp`;
  writeFileSync(temporary, JSON.stringify(holder), { mode: 0o600 });
  renameSync(temporary, holderFile(dir));
}

/** Removes temporary files of dead runs. Only the holder of the lock writes such files. */
function removeLeftovers(dir: string): void {
  const leftovers = readdirSync(dir).filter((name) => /^\.lock\.json\.\d+\.tmp$/.test(name));
  for (const name of leftovers) rmSync(join(dir, name), { force: true });
}

/** True if the recorded holder may be alive. A dead process on this host is an earlier holder. */
function mayBeAlive({ host, pid }: LockHolder): boolean {
  return host !== hostname() || isAlive(pid);
}

/** Returns the recorded holder. Undefined if the file is missing, unreadable or malformed. */
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

/** A recorded run. `boot` and `started` tell its process from a later one with its pid; null without `/proc`. */
export interface RunRow {
  pid: number;
  host: string;
  program: string;
  startedAt: number;
  boot: string | null;
  started: string | null;
}

/**
 * Returns a recorded run of another process that has not ended and is alive. Undefined if there is none. Also
 * undefined if that is unknown: the run is on another machine, or the checkpoint is unreadable, which is
 * reported elsewhere.
 */
function recordedOwner(dir: string): RecordedOwner | undefined {
  const path = join(dir, 'checkpoint.sqlite');
  const boot = bootId();
  // Without the -shm file no process has the database open, and opening it would create that file.
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

/** Returns the start of a process in clock ticks after boot; undefined if the process has ended. */
function startOf(pid: number): string | undefined {
  // The program's name is in brackets and may contain anything. After it come the state and, at index 19, the start.
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

export interface CrashMarker {
  run: number;
  attempt: number;
}

export interface CrashMarkers {
  take(mark: CrashMarker): void;
  drop(mark: CrashMarker): void;
  left(): CrashMarker[];
  /** Forgets the markers of crashed runs. Call when they are recorded, and first before anything is taken. */
  forgetLeft(): void;
  close(): void;
}

const slotBytes = 32;
const empty = ' '.repeat(slotBytes - 1) + '\n';

/**
 * Records which attempts the program is working on, in a file that survives a crash and costs no fsync. A
 * file with one line of fixed length per slot: `run attempt`, padded with spaces. Markers are not synced.
 * They survive a crash of the process but not a power cut, which no scene causes. System errors pass through.
 */
export class CrashMarkerFile implements CrashMarkers {
  readonly #file: number;
  readonly #left: CrashMarker[];
  /** Attempt keys by slot. */
  readonly #slots: (number | undefined)[] = [];

  /** Open the file only while holding the batch's lock. */
  constructor(path: string) {
    assertPlainFile(path);
    this.#file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.#left = readFileSync(this.#file, 'latin1').split('\n').flatMap(readMark);
  }

  take({ run, attempt }: CrashMarker): void {
    const free = this.#slots.indexOf(undefined);
    const slot = free === -1 ? this.#slots.length : free;
    this.#slots[slot] = attempt;
    this.#write(slot, `${`${run} ${attempt}`.padEnd(slotBytes - 1)}\n`);
  }

  drop({ attempt }: CrashMarker): void {
    const slot = this.#slots.indexOf(attempt);
    if (slot === -1) return;
    this.#slots[slot] = undefined;
    this.#write(slot, empty);
  }

  left(): CrashMarker[] {
    return this.#left;
  }

  forgetLeft(): void {
    // The file is truncated only once, so markers that this run has taken since stay.
    if (this.#left.splice(0).length > 0) ftruncateSync(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(slot: number, line: string): void {
    writeSync(this.#file, line, slot * slotBytes, 'latin1');
  }
}

function readMark(line: string): CrashMarker[] {
  const [, run, attempt] = /^(\d+) (\d+) *$/.exec(line) ?? [];
  return run === undefined || attempt === undefined ? [] : [{ run: Number(run), attempt: Number(attempt) }];
}
