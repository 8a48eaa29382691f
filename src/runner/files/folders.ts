/** Creates folders, makes renames within them durable, and writes files that are named only when complete. */
import { closeSync, fsync, mkdirSync, openSync, statSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryName } from '../../lib/files/temporary-files.ts';
import { FatalFailure } from '../core/failure.ts';
import { isSystemError, withDiskFailure } from './disk-failure.ts';

/** Running sync of each folder. */
const running = new Map<string, Promise<void>>();

/** Next sync of each folder. Callers whose renames are done before it begins share it. */
const planned = new Map<string, Promise<void>>();

/** Makes earlier renames in the folder durable. Throws errors of the operating system. */
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
  // Windows has no such operation, but its file system keeps a journal of names.
  if (process.platform === 'win32') return;
  // Opened each time, because the path may point to another folder by now.
  const file = openSync(folder, 'r');
  try {
    await synced(file);
  } catch (error) {
    // Some network file systems lack the operation, too.
    if (!isSystemError(error) || !['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'].includes(error.code)) throw error;
  } finally {
    closeSync(file);
  }
}

/**
 * Creates the folder and its parents with the given `mode`. Throws errors of the operating system, and
 * `FatalFailure` if the file system does not allow folders. On such file systems (/proc), Node's own
 * recursive `mkdir` never returns.
 */
export function makeFolder(folder: string, mode: number): void {
  if (isFolder(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder), mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // Another program may have created it meanwhile.
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

/** A file that gets its name only when it is complete and on disk, so nobody reads it half-written. */
export class UnfinishedFile {
  readonly #path: string;
  readonly #temporary: string;
  readonly #handle: FileHandle;

  private constructor(path: string, temporary: string, handle: FileHandle) {
    this.#path = path;
    this.#temporary = temporary;
    this.#handle = handle;
  }

  /** Creates the file under a temporary name, because two programs may write the same report. */
  static async begin(folder: string, name: string): Promise<UnfinishedFile> {
    const path = join(folder, name);
    const temporary = join(folder, temporaryName());
    const handle = await withDiskFailure(path, () => open(temporary, 'wx', 0o600));
    return new UnfinishedFile(path, temporary, handle);
  }

  write(content: string | Uint8Array): Promise<void> {
    return withDiskFailure(this.#path, () => this.#handle.appendFile(content));
  }

  async complete(): Promise<void> {
    await withDiskFailure(this.#path, () => this.#handle.sync());
    await withDiskFailure(this.#path, () => this.#handle.close());
  }

  takeName(): Promise<void> {
    return withDiskFailure(this.#path, () => rename(this.#temporary, this.#path));
  }

  /** Removes the temporary file. Never fails, because it follows another failure. */
  async discard(): Promise<void> {
    await this.#handle.close().catch(() => undefined);
    await rm(this.#temporary, { force: true }).catch(() => undefined);
  }
}
