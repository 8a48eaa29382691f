/** Makes folders, and makes renames within them durable. */
import { closeSync, fsync, openSync, mkdirSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { dirname } from 'node:path';
import { FatalFailure } from '../core/failure.ts';
import { isSystemError } from './disk-failure.ts';

/** By folder, the sync that is under way. */
const running = new Map<string, Promise<void>>();

/** By folder, the one that is yet to begin: all share it whose renames are done by then. */
const planned = new Map<string, Promise<void>>();

/** Errors are the operating system's. */
export function syncFolder(folder: string): Promise<void> {
  const shared = planned.get(folder);
  if (shared !== undefined) return shared;
  const before = running.get(folder) ?? Promise.resolve();
  const next = before
    .catch(() => undefined)
    .then(() => {
      planned.delete(folder);
      const sync = syncNow(folder).finally(() => running.delete(folder));
      running.set(folder, sync);
      return sync;
    });
  planned.set(folder, next);
  return next;
}

const synced = promisify(fsync);

async function syncNow(folder: string): Promise<void> {
  // Windows has no such operation; its file system keeps a journal of names.
  if (process.platform === 'win32') return;
  // Opened each time, since another folder may have taken its place.
  const file = openSync(folder, 'r');
  try {
    await synced(file);
  } catch (error) {
    // Some network file systems do not know it either.
    if (!isSystemError(error) || !['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'].includes(error.code)) throw error;
  } finally {
    closeSync(file);
  }
}

/**
 * `mode` is that of every folder made. Errors are the operating system's; `FatalFailure` where the file system takes no
 * folders, such as /proc: there Node's own recursive `mkdir` never returns.
 */
export function makeFolder(folder: string, mode: number): void {
  if (isFolder(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder), mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // Another program may have made it meanwhile.
    if (error.code === 'EEXIST' && isFolder(folder)) return;
    if (error.code === 'ENOENT')
      throw new FatalFailure({ kind: 'output-unwritable', text: noFolders(folder) });
    throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function noFolders(folder: string): string {
  return `cannot make the folder ${folder}: the file system takes no folders there; choose another place, then give the same command again`;
}
