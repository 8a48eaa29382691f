/** One service a data folder. */
import { lockExclusively, type ExclusiveLock } from '../../lib/sqlite/exclusive-lock.ts';

/** Another living service works in the folder. */
export class DataFolderInUse extends Error {}

/** Holds `path`, a file that exists for this alone; throws `DataFolderInUse`. */
export function lockDataFolder(path: string): ExclusiveLock {
  const lock = lockExclusively(path);
  if (lock === undefined)
    throw new DataFolderInUse(`another service is running on this data folder (it holds ${path})`);
  return lock;
}
