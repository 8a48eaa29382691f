/** Detects files that are not plain: opening a named pipe may wait forever for its other end. */
import { statSync, type Stats } from 'node:fs';

/** The message says what the path is, without a full stop. */
export class NotAFile extends Error {}

/** Returns undefined if the path does not exist. Throws `NotAFile` if it is neither a file nor a folder, and the system's errors. */
export function assertPlainFile(path: string): Stats | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  const what = stats && kindOf(stats);
  if (what !== undefined) throw new NotAFile(`${path} is ${what}, but must be a file`);
  return stats;
}

function kindOf(stats: Stats): string | undefined {
  if (stats.isFIFO()) return 'a named pipe';
  if (stats.isSocket()) return 'a socket';
  return stats.isCharacterDevice() || stats.isBlockDevice() ? 'a device' : undefined;
}
