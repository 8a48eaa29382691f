/** What on the disk keeps a command from its work, where that can be seen, and what to do about it. */
import { accessSync, closeSync, constants, lstatSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { diskFailure, isSystemError } from '../runner/files/disk-failure.ts';
import { shownPath } from './shown-path.ts';

const databases = ['checkpoint.sqlite', '.lock.sqlite', 'service.sqlite', 'keys.sqlite', 'lock.sqlite'];
const besides = ['', '-wal', '-shm', '-journal'];

/** SQLite names no file; the system does, and mostly means it. Undefined where nothing can be seen. */
export function explainBlockedPath(
  error: Error & { path?: unknown; dest?: unknown },
  dir: string,
): string | undefined {
  const path = error.dest ?? error.path;
  if (isSystemError(error) && typeof path === 'string') return diskFailure(nearestThere(path), error).message;
  const folders = [dir, join(dir, 'images'), join(dir, 'report'), join(dir, 'local-service')];
  const paths = folders.flatMap((folder) => [
    ...databases.flatMap((name) => besides.map((end) => join(folder, name + end))),
    folder,
  ]);
  return paths.map((each) => obstacle(each, folders.includes(each))).find((text) => text !== undefined);
}

/** Why a run could not write what it has to, as far as that can be seen without writing; undefined where it could. */
export function notWritable(dir: string): string | undefined {
  if (isThere(dir)) return explainBlockedPath(new Error(), dir);
  const parent = nearestThere(dirname(dir));
  return obstacle(parent, true);
}

/** A file that is only locked and never written to, and yet holds something. */
export function damagedLock(dir: string): string | undefined {
  const locks = [join(dir, '.lock.sqlite'), join(dir, 'lock.sqlite'), join(dir, 'local-service/lock.sqlite')];
  const lock = locks.find((path) => isThere(path) && statSync(path).isFile() && !isSqlite(path));
  return lock && `${shownPath(lock)} is damaged; it is only a lock and holds no data: remove it`;
}

/** What does not exist yet cannot be mended: the folder that it was to be made in can. */
function nearestThere(path: string): string {
  return isThere(path) || dirname(path) === path ? path : nearestThere(dirname(path));
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

function obstacle(path: string, isFolderWanted: boolean): string | undefined {
  if (!isThere(path)) return undefined;
  const shown = shownPath(path);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return `${shown} is a broken link; fix or remove it`;
  if (isFolderWanted && !stats.isDirectory()) return `${shown} is a file, but must be a folder; move it away`;
  if (!isFolderWanted && stats.isDirectory()) return `${shown} is a folder, but must be a file; move it away`;
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return undefined;
  } catch {
    const denied = isFolderWanted ? `cannot write to the folder ${shown}` : `cannot read and write ${shown}`;
    return `this user ${denied}; give this user access to it, or choose another output.dir`;
  }
}

function isSqlite(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const start = Buffer.alloc(16);
    const length = readSync(file, start);
    return length === 0 || start.toString('latin1') === 'SQLite format 3\0';
  } finally {
    closeSync(file);
  }
}
