/** The thumbnails that the report of a batch lacks: of runs that died, and of those that made none. */
import { join } from 'node:path';
import { openCheckpointForReading } from '../checkpoint/open-checkpoint.ts';
import { readSavedJobs } from '../checkpoint/saved-pictures.ts';
import { makeMissingThumbnails, type MadeThumbnails } from '../images/missing-thumbnails.ts';
import { noBatch } from './no-batch.ts';

/** May be asked for during a run. Throws the reason of `signal` where that cuts it; what was made stays. */
export async function makeThumbnails(
  dir: string,
  signal: AbortSignal,
  tellProgress: (made: number) => void,
): Promise<MadeThumbnails> {
  const db = openCheckpointForReading(dir);
  if (db === undefined) throw noBatch(dir);
  try {
    const dirs = { images: join(dir, 'images'), report: join(dir, 'report') };
    return await makeMissingThumbnails(dirs, inOneRow(readSavedJobs(db)), signal, tellProgress);
  } finally {
    db.close();
  }
}

function* inOneRow<T>(groups: Iterable<T[]>): Generator<T> {
  for (const group of groups) yield* group;
}
