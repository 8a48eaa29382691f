/** Backs up a running service: its databases as of one moment, and the files that they name. */
import { chmodSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { constants, copyFile, mkdir, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { syncPath } from '../../lib/files/temporary-files.ts';
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
  jobs: number;
  openJobs: number;
  keys: number;
  files: number;
  /** Total size of the backup. */
  bytes: number;
  /** Number of files that the job store names but the service has lost. */
  lost: number;
}

/** Thrown if the backup cannot be made. The message is a sentence without its full stop. */
export class BackupFailed extends Error {}

/** Files that are not copied, because a start creates them: lock, disk reserve, containers marker, SQLite's side files. */
const madeAnew = /^(lock\.sqlite.*|(service|keys)\.sqlite-.*|reserve|containers|\.nightrender-.*)$/;

/** Maximum number of passes. Each copies only files that were added since the previous one. */
const maxTries = 20;

/** Returns the size in bytes of the files to copy, including the write-ahead logs of the databases. */
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
 * Copies the data folder into the new folder `temporary`, checks the copy, and renames it to `to`, which may be an empty
 * folder. The copy is readable only by its owner. Removes `temporary` on failure. In the copy, endpoints with open jobs
 * are paused and sessions are deleted. Throws `BackupFailed`, `UnusableDatabase`, the reason of `signal`, and errors of
 * the system and SQLite.
 */
export async function backUpService(
  dataDir: string,
  { temporary, to, signal }: { temporary: string; to: string; signal: AbortSignal },
): Promise<Backup> {
  try {
    for (const folder of ['', ...textFolders]) await mkdir(join(temporary, folder), { mode: 0o700 });
    const backup = await fill(dataDir, temporary, signal);
    for (const folder of [...textFolders, '']) await syncPath(join(temporary, folder));
    signal.throwIfAborted();
    await rename(temporary, to);
    await syncPath(dirname(to));
    return backup;
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    throw error;
  }
}

async function fill(dataDir: string, dir: string, signal: AbortSignal): Promise<Backup> {
  const jobs = existsSync(join(dataDir, jobsFile)) ? await copyJobs(dataDir, dir, signal) : undefined;
  // Keys are copied after the jobs. They are never deleted, so every copied job's key is in the copy.
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
 * Copies the job store and its files until both match. The service writes a file before the store names it, and deletes
 * the file after its name. A named file that is missing was therefore deleted in the meantime, and the next copy of the
 * store does not name it. If the next copy still does, the service itself has lost the file.
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
  // Most files are copied in advance, so that the passes after the copy of the store are short.
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
 * Prepares a copy for a restore, and returns its number of open jobs. Their endpoints are paused, because a restored
 * service would run jobs again that may have been paid for already. The restored service does not know idempotency keys
 * from after the backup. So `idempotent.since` is set such that the next start begins a new period.
 */
function prepareForRestore(db: Database): number {
  db.exec('INSERT OR IGNORE INTO paused SELECT DISTINCT endpointId FROM job WHERE endedAt IS NULL');
  db.prepare('UPDATE idempotent SET since = ?').run(Number.MAX_SAFE_INTEGER);
  return db.prepare<[], number>('SELECT count(*) FROM job WHERE endedAt IS NULL').pluck().get() ?? 0;
}

/** Deletes sessions, because a restore would reopen sessions that were ended after the backup. */
function forgetSessions(db: Database): void {
  db.exec('DELETE FROM session');
}

/** Copies a database as of one moment, checks the copy, and applies `change` to it. Returns the number of rows by table. */
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

/** Copies a file that never changes or only grows; false if it no longer exists. Only the owner can read the copy. */
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
  await syncPath(to);
  return true;
}

/** Returns the names of the files directly in the data folder that a backup must contain. */
function ownFiles(dataDir: string): string[] {
  return filesIn(dataDir).filter((name) => !madeAnew.test(name));
}

function filesIn(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? entry.name : []));
}
