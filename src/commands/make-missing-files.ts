/** The thumbnails and copies that a batch lacks: of runs that died, and of those that were to make none. */
import { join } from 'node:path';
import { openCheckpointForReading } from '../checkpoint/open-checkpoint.ts';
import { readSavedJobs } from '../checkpoint/saved-pictures.ts';
import type { ReportSettings } from '../config/read-report-settings.ts';
import type { Made } from '../images/make-missing.ts';
import { makeMissingCopies } from '../images/missing-copies.ts';
import { makeMissingThumbnails } from '../images/missing-thumbnails.ts';
import { noBatch } from './no-batch.ts';
import { copyMakers } from './output-files.ts';

export interface MadeFiles {
  /** Undefined where none are wanted. */
  thumbnails?: Made;
  copies?: Made;
}

export interface MadeView {
  tellProgress: (what: keyof MadeFiles, made: number) => void;
  warn: (text: string) => void;
}

/** May be asked for during a run. Throws the reason of `signal` where that cuts it; what was made stays. */
export async function makeMissingFiles(
  dir: string,
  { hasThumbnails, output }: ReportSettings,
  signal: AbortSignal,
  { tellProgress, warn }: MadeView,
): Promise<MadeFiles> {
  const db = openCheckpointForReading(dir);
  if (db === undefined) throw noBatch(dir);
  const dirs = { images: join(dir, 'images'), report: join(dir, 'report') };
  const pictures = () => inOneRow(readSavedJobs(db));
  const progress = (what: keyof MadeFiles) => (made: number) => tellProgress(what, made);
  try {
    const thumbnails = hasThumbnails
      ? { thumbnails: await makeMissingThumbnails(dirs, pictures(), signal, progress('thumbnails')) }
      : {};
    const makers = copyMakers(output, warn);
    if (makers.length === 0) return thumbnails;
    const copies = await makeMissingCopies(dirs.images, makers, pictures(), signal, progress('copies'));
    return { ...thumbnails, copies };
  } finally {
    db.close();
  }
}

function* inOneRow<T>(groups: Iterable<T[]>): Generator<T> {
  for (const group of groups) yield* group;
}
