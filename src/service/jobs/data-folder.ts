/** The data folder: only one service may use it, notices if it is deleted or replaced, and keeps space on its disk in reserve. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DiskReserve, isDiskFull } from '../../lib/files/disk-reserve.ts';
import { InUse } from '../../lib/files/temporary-files.ts';
import { type ExclusiveLock, lockExclusively } from '../../lib/sqlite/exclusive-lock.ts';

export class FolderWatch {
  readonly #dir: string;
  readonly #onProblem: (text: string) => void;
  /** Device and inode of each file when it was opened, by path. */
  readonly #opened: ReadonlyMap<string, string | undefined>;
  #isLost = false;
  #isStopped = false;

  /** `paths`: files in the folder that stay the same while the service runs. */
  constructor(dir: string, paths: readonly string[], onProblem: (text: string) => void) {
    this.#dir = dir;
    this.#onProblem = onProblem;
    this.#opened = new Map(paths.map((path) => [path, identityOf(path)]));
  }

  /** True if the last check found that files were deleted or replaced. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Stops the checks. Call this before closing the files, because closing deletes some of them. */
  stop(): void {
    this.#isStopped = true;
  }

  /** True if a file is missing or was replaced. Takes a few microseconds. */
  check(): boolean {
    if (this.#isStopped) return this.#isLost;
    const isLost = [...this.#opened].some(([path, opened]) => identityOf(path) !== opened);
    if (isLost !== this.#isLost) this.#onProblem(isLost ? lostText(this.#dir) : foundText(this.#dir));
    this.#isLost = isLost;
    return isLost;
  }
}

/** Returns device and inode. Undefined if the file is missing or cannot be reached. */
function identityOf(path: string): string | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats && `${stats.dev} ${stats.ino}`;
  } catch {
    return undefined;
  }
}

function lostText(dir: string): string {
  return (
    `the data folder ${dir} was deleted or replaced while the service was running. New jobs are refused (503); ` +
    'those it has run until it ends, and are lost then. Move the folder back, ' +
    'or restart the service'
  );
}

function foundText(dir: string): string {
  return `the data folder ${dir} is back; jobs are accepted again`;
}

export class DataFolderInUse extends InUse {}

/** Locks `path`, a file that exists only for this. Throws `DataFolderInUse`. */
export function lockDataFolder(path: string): ExclusiveLock {
  const lock = lockExclusively(path);
  if (lock === undefined)
    throw new DataFolderInUse(`another service is using this data folder (it has locked ${path})`);
  return lock;
}

/** Returns the path of the file that holds the reserved space. */
export function reserveIn(dataDir: string): string {
  return join(dataDir, 'reserve');
}

/** Disk space reserved for ending jobs and deleting results on a full disk. */
export class JobReserve {
  readonly #disk: DiskReserve;
  readonly #bytes: number;
  readonly #onProblem: (text: string) => void;
  /** True from when the disk was full until it has space again. No jobs are accepted or started meanwhile. */
  isFull = false;

  /** Reserves the space. If the disk has too little space, reports that and continues without a reserve. */
  constructor(options: {
    path: string;
    /** Size of the reserve; 0 for none. */
    bytes: number;
    onProblem: (text: string) => void;
    /** True if the disk is already full, and the reserve was released for the start. */
    isFull?: boolean | undefined;
  }) {
    const { path, bytes, onProblem } = options;
    this.#disk = new DiskReserve(path, bytes);
    this.#bytes = bytes;
    this.#onProblem = onProblem;
    if (options.isFull === true) this.markFull();
    else if (bytes > 0 && !this.#take())
      onProblem(
        `the disk has too little space to reserve ${megabytes(bytes)} for ending jobs: no job can be cancelled once it is full`,
      );
  }

  /** Runs a write that must succeed on a full disk. If the disk is full, releases the reserve and tries again. */
  async spend<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
    this.markFull();
    // If several writes failed together, the first one releases the space for all.
    this.#disk.release();
    return await write();
  }

  /** Records that the disk is full, after a failed write that may not use the reserve. */
  markFull(): void {
    if (this.#bytes === 0 || this.isFull) return;
    this.isFull = true;
    this.#onProblem(
      `the disk is full: the service starts and accepts no jobs until ${megabytes(2 * this.#bytes)} are free`,
    );
  }

  /** Reserves the space again once twice as much is free. Returns true if it did. */
  refill(): boolean {
    if (!this.isFull || this.#disk.freeBytes < 2 * this.#bytes || !this.#take()) return false;
    this.isFull = false;
    this.#onProblem('the disk has space again: the service starts and accepts jobs');
    return true;
  }

  #take(): boolean {
    try {
      this.#disk.take();
      return true;
    } catch (error) {
      if (isDiskFull(error)) return false;
      throw error;
    }
  }
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`;
}
