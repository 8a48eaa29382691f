/** Finds pictures whose file is gone or has another size: quick enough to be done at every start. */
import { statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RecordedPicture } from '../core/verification.ts';
import { isSystemError, withDiskFailure } from '../files/disk-failure.ts';
import type { MissingPictures } from '../pipeline/ports.ts';

/** Looked at between two turns of the event loop: some milliseconds. */
const sliceSize = 500;

/** `pathOf` gives files of the images folder `root` their paths. Undefined where `signal` aborts before all were looked at. */
export function findMissing(
  root: string,
  pathOf: (file: string) => string,
  pictures: Iterable<RecordedPicture>,
  signal: AbortSignal,
): Promise<MissingPictures | undefined> {
  return withDiskFailure(root, async () => {
    const found: MissingPictures = { checked: 0, missing: 0, example: '' };
    for (const { file, moveTo, bytes } of pictures) {
      const isThere = [file, moveTo ?? file].some((name) => sizeOf(pathOf(name)) === bytes);
      if (!isThere && found.missing === 0) found.example = file;
      if (!isThere) found.missing += 1;
      found.checked += 1;
      if (found.checked % sliceSize !== 0) continue;
      await nextTurn();
      if (signal.aborted) return undefined;
    }
    return found;
  });
}

/** Undefined where there is no such file. */
function sizeOf(path: string): number | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats?.isFile() === true ? stats.size : undefined;
  } catch (error) {
    // Below a file there is nothing either.
    if (isSystemError(error) && error.code === 'ENOTDIR') return undefined;
    throw error;
  }
}
