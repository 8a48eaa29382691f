/** The thumbnails and copies that a batch lacks: of runs that died, and of those that were to make none. */
import { join } from 'node:path';
import { readSavedJobs } from '../runner/checkpoint/saved-pictures.ts';
import type { ReportSettings } from '../runner/config/read-report-settings.ts';
import type { Made } from '../runner/images/make-missing.ts';
import { makeMissingCopies } from '../runner/images/missing-copies.ts';
import { makeMissingThumbnails } from '../runner/images/missing-thumbnails.ts';
import { lookAtBatch } from './look-at-batch.ts';
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
  const dirs = { images: join(dir, 'images'), report: join(dir, 'report') };
  const progress = (what: keyof MadeFiles) => (made: number) => tellProgress(what, made);
  return lookAtBatch(dir, async (db) => {
    const pictures = () => inOneRow(readSavedJobs(db));
    const thumbnails = hasThumbnails
      ? { thumbnails: await makeMissingThumbnails(dirs, pictures(), signal, progress('thumbnails')) }
      : {};
    const makers = copyMakers(output, warn);
    if (makers.length === 0) return thumbnails;
    const copies = await makeMissingCopies(dirs.images, makers, pictures(), signal, progress('copies'));
    return { ...thumbnails, copies };
  });
}

function* inOneRow<T>(groups: Iterable<T[]>): Generator<T> {
  for (const group of groups) yield* group;
}
