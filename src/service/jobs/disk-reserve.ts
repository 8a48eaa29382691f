/** Room that is kept on the disk, so that jobs can be ended and what is over be deleted when it is full. */
import { randomFillSync } from 'node:crypto';
import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Sqlite } from '../../lib/sqlite/better-sqlite3.ts';

/** Where the room is kept that the jobs of a data folder need on a full disk. */
export function reserveIn(dataDir: string): string {
  return join(dataDir, 'reserve');
}

const blockBytes = 1024 * 1024;

export class DiskReserve {
  readonly #options;
  /** Whether the disk was full and has had no space since: what there is is for nothing new. */
  isFull = false;

  /** Reserves the space; where there is not enough, reports it and continues without. */
  constructor(options: {
    /** The file that takes the room. */
    path: string;
    /** 0 for none. */
    bytes: number;
    onProblem: (text: string) => void;
    /** True if the disk is full already, and the room was given back for the start. */
    isFull?: boolean | undefined;
  }) {
    this.#options = options;
    if (options.isFull === true) this.markFull();
    else if (options.bytes > 0 && !this.#take())
      options.onProblem(
        `the disk has too little space to reserve ${megabytes(options.bytes)} for ending jobs: no job can be cancelled once it is full`,
      );
  }

  /** Does what must be possible on a full disk: tried again with the reserve freed where it is full. */
  async spend<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
    this.markFull();
    // Of those that failed together the first gives the room to all.
    rmSync(this.#options.path, { force: true });
    return await write();
  }

  /** To be told of a full disk by whom the room is not for. */
  markFull(): void {
    const { bytes, onProblem } = this.#options;
    if (bytes === 0 || this.isFull) return;
    this.isFull = true;
    onProblem(
      `the disk is full: the service starts and accepts no jobs until ${megabytes(2 * bytes)} are free`,
    );
  }

  /** Takes the room again, after the disk was full and once there is twice as much; returns whether it did. */
  refill(): boolean {
    if (!this.isFull || this.#freeBytes() < 2 * this.#options.bytes || !this.#take()) return false;
    this.isFull = false;
    this.#options.onProblem('the disk has space again: the service starts and accepts jobs');
    return true;
  }

  #take(): boolean {
    const { path, bytes } = this.#options;
    // Of the service before; to write it anew would give the room away on a full disk.
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= bytes) return true;
    // What can be compressed takes no room on some file systems.
    const block = randomFillSync(Buffer.alloc(Math.min(bytes, blockBytes)));
    const file = openSync(path, 'w', 0o600);
    try {
      for (let at = 0; at < bytes; at += block.length) writeSync(file, block);
      return true;
    } catch (error) {
      rmSync(path, { force: true });
      if (isDiskFull(error)) return false;
      throw error;
    } finally {
      closeSync(file);
    }
  }

  #freeBytes(): number {
    const { bavail, bsize } = statfsSync(dirname(this.#options.path));
    return bavail * bsize;
  }
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`;
}

/** Whether SQLite or the system reports a full disk or quota. */
export function isDiskFull(error: unknown): boolean {
  if (error instanceof Sqlite.SqliteError) return error.code === 'SQLITE_FULL';
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}
