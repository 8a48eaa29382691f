/** Files that are not files: opening a named pipe waits for whoever is at its other end, which may be for ever. */
import { statSync, type Stats } from 'node:fs';

/** The message says what stands there, without its full stop. */
export class NotAFile extends Error {}

/** Throws `NotAFile` where something else than a file or a folder stands there, and the system's errors. */
export function assertPlainFile(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  const what = stats && kindOf(stats);
  if (what !== undefined) throw new NotAFile(`${path} is ${what}, but must be a file`);
}

function kindOf(stats: Stats): string | undefined {
  if (stats.isFIFO()) return 'a named pipe';
  if (stats.isSocket()) return 'a socket';
  return stats.isCharacterDevice() || stats.isBlockDevice() ? 'a device' : undefined;
}
