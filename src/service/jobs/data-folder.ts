/** The data folder: only one service may use it, and notices if it is deleted or replaced. */
import { InUse } from '../../lib/files/temporary-files.ts';
import { statSync } from 'node:fs';
import { lockExclusively, type ExclusiveLock } from '../../lib/sqlite/exclusive-lock.ts';

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
