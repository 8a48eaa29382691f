/** A copy of what a service keeps, made while it runs: its databases as they are at one moment, and the files that they name. */
import { chmodSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { constants, copyFile, mkdir, open, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { copyFrom } from '../../lib/sqlite/copy-database.ts';
import {
  type Database,
  isDamage,
  openForReading,
  openForWriting,
  type Schema,
  UnusableDatabase,
} from '../../lib/sqlite/database.ts';
import { jobSchema } from '../jobs/job-schema.ts';
import { namedFiles } from '../jobs/job-statements.ts';
import { textFolders } from '../jobs/long-texts.ts';
import { keySchema } from '../keys/key-tables.ts';
import { jobsFile, keysFile } from './open-service.ts';

export interface Backup {
  /** Number of jobs in the store. */
  jobs: number;
  /** Number of these that wait or run. */
  openJobs: number;
  /** Number of keys, with revoked ones. */
  keys: number;
  /** Number of files beside the databases. */
  files: number;
  /** Size of all of it. */
  bytes: number;
  /** Number of files that the job store names, and that the service has lost. */
  lost: number;
}

/** The backup could not be made; the message says why, in a sentence without its full stop. */
export class BackupFailed extends Error {}

/** What a start makes anew: the lock, the reserve, the mark of containers, and what SQLite keeps beside a database. */
const madeAnew = /^(lock\.sqlite.*|(service|keys)\.sqlite-.*|reserve|containers|\.nightrender-.*)$/;

/** Each time only what has changed meanwhile is left to copy. */
const maxTries = 20;

/** Returns the size of what is copied, in bytes: the files of the data folder, with the logs of the databases. */
export function backupBytes(dataDir: string): number {
  const logs = [jobsFile, keysFile].map((name) => `${name}-wal`);
  const texts = textFolders.flatMap((folder) =>
    filesIn(join(dataDir, folder)).map((name) => join(folder, name)),
  );
  const sizes = [...logs, ...ownFiles(dataDir), ...texts].map(
    (name) => statSync(join(dataDir, name), { throwIfNoEntry: false })?.size ?? 0,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/**
 * Copies the data folder into `temporary`, a new folder, for its owner only; checks the copy and renames it to `to`, which may be an
 * empty folder. `temporary` is removed if that fails. Endpoints with jobs that wait or run are paused in the copy, and nobody is
 * signed in there. Throws `BackupFailed`, `UnusableDatabase`, the reason of `signal`, and what the system and SQLite say.
 */
export async function backUpService(
  dataDir: string,
  { temporary, to, signal }: { temporary: string; to: string; signal: AbortSignal },
): Promise<Backup> {
  try {
    for (const folder of ['', ...textFolders]) await mkdir(join(temporary, folder), { mode: 0o700 });
    const backup = await fill(dataDir, temporary, signal);
    for (const folder of [...textFolders, '']) await sync(join(temporary, folder));
    signal.throwIfAborted();
    await rename(temporary, to);
    await sync(dirname(to));
    return backup;
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    throw error;
  }
}

async function fill(dataDir: string, dir: string, signal: AbortSignal): Promise<Backup> {
  const jobs = existsSync(join(dataDir, jobsFile)) ? await copyJobs(dataDir, dir, signal) : undefined;
  // After the jobs: keys are never deleted, so that each job's key is there.
  const keys = existsSync(join(dataDir, keysFile))
    ? await copyDatabase(join(dataDir, keysFile), join(dir, keysFile), keySchema, forgetSessions)
    : undefined;
  const others = ownFiles(dataDir).filter((name) => name !== jobsFile && name !== keysFile);
  for (const name of others) await copyPrivate(join(dataDir, name), join(dir, name));
  return {
    jobs: jobs?.rows['job'] ?? 0,
    openJobs: jobs?.openJobs ?? 0,
    keys: keys?.['apiKey'] ?? 0,
    files: (jobs?.files ?? 0) + others.length,
    bytes: backupBytes(dir),
    lost: jobs?.lost ?? 0,
  };
}

/**
 * A file is there before the store names it, and goes after the store has forgotten it. So what a copy of the store names and is gone
 * went meanwhile, and the next copy does not name it; what that one names still, the service itself has lost.
 */
async function copyJobs(dataDir: string, dir: string, signal: AbortSignal) {
  const [from, to] = [join(dataDir, jobsFile), join(dir, jobsFile)];
  const copied = new Set<string>();
  const missing = new Set<string>();
  const copyNew = async (names: readonly string[]): Promise<string[]> => {
    const gone: string[] = [];
    for (const name of names.filter((each) => !copied.has(each))) {
      signal.throwIfAborted();
      if (await copyPrivate(join(dataDir, name), join(dir, name))) copied.add(name);
      else gone.push(name);
    }
    return gone;
  };
  // Most of them before the moment that counts.
  await copyNew(await reading(from, jobSchema, filesNamedIn));
  for (let tries = 1; tries <= maxTries; tries++) {
    let found = { names: [] as string[], openJobs: 0 };
    const rows = await copyDatabase(from, to, jobSchema, (db) => {
      found = { names: filesNamedIn(db), openJobs: prepareForRestore(db) };
    });
    const lost = await copyNew(found.names);
    if (lost.every((name) => missing.has(name))) {
      const named = new Set(found.names);
      for (const name of copied) if (!named.has(name)) rmSync(join(dir, name));
      return { rows, openJobs: found.openJobs, files: named.size - lost.length, lost: lost.length };
    }
    for (const name of lost) missing.add(name);
  }
  throw new BackupFailed(
    'the service deletes files faster than the backup copies them; the backup was removed',
  );
}

function filesNamedIn(db: Database): string[] {
  return db.prepare<[], string>(namedFiles).pluck().all();
}

/**
 * Returns the number of jobs that wait or run. A service that is put back would do them again, and they may be paid for. It does not
 * know the idempotency keys of submissions after the backup, and must not say so: the next start sets that instant.
 */
function prepareForRestore(db: Database): number {
  db.exec('INSERT OR IGNORE INTO paused SELECT DISTINCT endpointId FROM job WHERE endedAt IS NULL');
  db.prepare('UPDATE idempotent SET since = ?').run(Number.MAX_SAFE_INTEGER);
  return db.prepare<[], number>('SELECT count(*) FROM job WHERE endedAt IS NULL').pluck().get() ?? 0;
}

/** A session that has been ended since would be open again. */
function forgetSessions(db: Database): void {
  db.exec('DELETE FROM session');
}

/** Copies what a database holds at one moment, checks the copy, and changes it; returns the number of rows by table. */
function copyDatabase(
  from: string,
  to: string,
  schema: Schema,
  change: (db: Database) => void,
): Promise<Record<string, number>> {
  return reading(from, schema, async (db) => {
    rmSync(to, { force: true });
    db.exec('BEGIN');
    const rows = rowCounts(db);
    await copyFrom(db, to);
    db.exec('COMMIT');
    chmodSync(to, 0o600);
    const copy = openForWriting(to, schema, 'known');
    try {
      const isWhole = copy.pragma('integrity_check(1)', { simple: true }) === 'ok';
      if (!isWhole || !isDeepStrictEqual(rowCounts(copy), rows)) throw damaged(from);
      change(copy);
    } finally {
      copy.close();
    }
    return rows;
  });
}

async function reading<T>(path: string, schema: Schema, work: (db: Database) => T | Promise<T>): Promise<T> {
  let db: Database | undefined;
  try {
    db = openForReading(path, schema);
    if (db?.pragma('user_version', { simple: true }) !== schema.migrations.length)
      throw new UnusableDatabase(
        `${path} was last used by an earlier version of nightrender: start the service once with this version, or stop it and copy its folder`,
      );
    return await work(db);
  } catch (error) {
    throw isDamage(error) ? damaged(path) : error;
  } finally {
    db?.close();
  }
}

function damaged(path: string): UnusableDatabase {
  return new UnusableDatabase(
    `${path} is damaged, or its copy is. This backup was removed; keep the earlier ones`,
  );
}

function rowCounts(db: Database): Record<string, number> {
  const tables = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all();
  const count = (table: string) =>
    db.prepare<[], number>(`SELECT count(*) FROM "${table}"`).pluck().get() ?? 0;
  return Object.fromEntries(tables.map((table) => [table, count(table)]));
}

/** Returns false if there is no such file any more. Its content never changes, or only grows. */
async function copyPrivate(from: string, to: string): Promise<boolean> {
  try {
    const { size } = await stat(from);
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    chmodSync(to, 0o600);
    if ((await stat(to)).size < size) throw new BackupFailed(`${to} is shorter than ${from}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    rmSync(to, { force: true });
    return false;
  }
  await sync(to);
  return true;
}

/** Puts a file or folder on the disk. */
async function sync(path: string): Promise<void> {
  const opened = await open(path);
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

/** Returns the names of the files in the data folder itself that a backup has to have. */
function ownFiles(dataDir: string): string[] {
  return filesIn(dataDir).filter((name) => !madeAnew.test(name));
}

function filesIn(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? entry.name : []));
}
