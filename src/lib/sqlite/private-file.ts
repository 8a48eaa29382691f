/** Databases that only their owner may read: SQLite gives the files beside one (`-wal`, `-shm`, `-journal`) its permissions. */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';

const ownerOnly = 0o600;

/** Makes the file, empty, where there is none yet. One that is there is not opened: closing it would drop its locks. */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', ownerOnly));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Takes what others may do with a database that something else made, such as a copy that was put back. */
export function withdrawFromOthers(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats !== undefined && (stats.mode & 0o077) !== 0) chmodSync(file, ownerOnly);
  }
}
