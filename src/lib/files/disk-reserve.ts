/** Space that a file keeps on a disk for what must still be written when the disk is full. */
import { randomFillSync } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { Sqlite } from '../sqlite/database.ts';
import { assertPlainFile } from './temporary-files.ts';

const blockBytes = 1024 * 1024;

export class DiskReserve {
  readonly #path: string;
  readonly #bytes: number;

  constructor(path: string, bytes: number) {
    this.#path = path;
    this.#bytes = bytes;
  }

  /** Reserves the space. Throws `NotAFile`, or the system's error if the disk has too little space. */
  take(): void {
    assertPlainFile(this.#path);
    // Writing a file of an earlier start again would give its space away on a full disk.
    if ((statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) >= this.#bytes) return;
    const file = openSync(this.#path, 'w', 0o600);
    try {
      // Some file systems keep no space for bytes that can be compressed.
      const block = randomFillSync(Buffer.alloc(Math.min(this.#bytes, blockBytes)));
      for (let at = 0; at < this.#bytes; at += block.length) writeSync(file, block);
      fsyncSync(file);
    } catch (error) {
      rmSync(this.#path, { force: true });
      throw error;
    } finally {
      closeSync(file);
    }
  }

  /** Gives the space to whoever writes next. Returns false if it is given away already, or the file cannot be removed. */
  release(): boolean {
    if (!existsSync(this.#path)) return false;
    try {
      rmSync(this.#path, { force: true });
      return true;
    } catch {
      // The file stays, and the next start uses it.
      return false;
    }
  }

  /** Free bytes of the disk, without the reserve. */
  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(dirname(this.#path));
    return bavail * bsize;
  }
}

export function isDiskFull(error: unknown): boolean {
  if (error instanceof Sqlite.SqliteError) return error.code === 'SQLITE_FULL';
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}
