/** Writes the result files of a batch again from its checkpoint, and creates missing thumbnails and copies. */
import { join } from 'node:path';
import { ConfigError } from '../lib/yaml/problem.ts';
import { isRecorded, readSavedJobs } from '../runner/checkpoint/recorded-pictures.ts';
import type { ReportKeys } from '../runner/config/schema-parts.ts';
import type { RecordedPicture } from '../runner/core/scene-record.ts';
import { makeMissingCopies, makeMissingThumbnails, type Made } from '../runner/images/missing-files.ts';
import { uploadReport } from '../runner/images/upload-report.ts';
import { StoppedEarly, type Stop } from '../runner/pipeline/stop.ts';
import type { Book } from './book.ts';
import { copyMakers, linksTo, ownImages } from './pictures-place.ts';
import { noBatch } from './record.ts';
import { writeBatchReport } from './result-files.ts';

export interface MadeFiles {
  /** Undefined if no thumbnails are configured. */
  thumbnails?: Made;
  copies?: Made;
}

export interface ReportListener {
  /** Called with the number of pictures for which files were created so far. */
  onMade: (what: keyof MadeFiles, made: number) => void;
  /** Called with a sentence, once for each kind of copy that cannot be made of some picture. */
  onWarning: (text: string) => void;
}

export interface WrittenReport extends MadeFiles {
  /** Absolute paths of the result files. */
  files: string[];
}

/** Writes the files, atomically. `signedMs`: validity of links into a private bucket. Throws `StoppedEarly`. */
export async function rewriteReport(
  book: Book,
  settings: ReportKeys,
  signedMs: number | undefined,
  stop: Stop,
  listener: ReportListener,
): Promise<WrittenReport> {
  const { dir, record } = book;
  let consequence = 'The result files were not changed.';
  try {
    const files = await book.withPlaces(({ images }) => {
      const chosen = { bucket: linksTo(images, signedMs), report: settings.report };
      return writeBatchReport(dir, Date.now(), stop.leaving, chosen, record.dir);
    });
    if (files === undefined) throw noBatch(dir);
    consequence = 'The result files are written; thumbnails and copies are not complete.';
    await uploadCopy(book, signedMs, stop.leaving);
    const made = await makeMissingFiles(book, settings, stop.leaving, listener);
    return { files: [files.index, files.csv, files.jsonl, files.summary], ...made };
  } catch (error) {
    if (stop.ending === undefined || error !== stop.leaving.reason) throw error;
    throw new StoppedEarly(stop.ending, consequence);
  }
}

/** Uploads a copy of the report next to pictures in a bucket. A report with signed links is not uploaded. */
async function uploadCopy(book: Book, signedMs: number | undefined, signal: AbortSignal): Promise<void> {
  await book.withPlaces(async (places) => {
    const { images, reportCopy } = places;
    if (images.links === undefined && signedMs !== undefined)
      throw new ConfigError([{ where: '--signed', text: 'the pictures of this batch are in a folder' }]);
    if (reportCopy === undefined || signedMs !== undefined || book.isNamedByFolder) return;
    // Throws before the report of another batch would be replaced.
    await ownImages(places, book.db);
    await uploadReport(reportCopy, join(book.dir, 'report'), signal);
  });
}

/** Creates missing files, even during a run. Throws the reason of `signal`; files created so far stay. */
async function makeMissingFiles(
  book: Book,
  { report, output }: ReportKeys,
  signal: AbortSignal,
  { onMade, onWarning }: ReportListener,
): Promise<MadeFiles> {
  const progress = (what: keyof MadeFiles) => (made: number) => onMade(what, made);
  const { dir, db } = book;
  return book.withPlaces(async (places) => {
    const { images } = places;
    const pictures = () => picturesOf(readSavedJobs(db));
    const made = progress('thumbnails');
    const thumbnails = report.thumbnails
      ? { thumbnails: await makeMissingThumbnails(places, join(dir, 'report'), pictures(), signal, made) }
      : {};
    const makers = copyMakers(output, onWarning);
    if (makers.length === 0 || (images.isRemote && book.isNamedByFolder)) return thumbnails;
    const isPicture = async (file: string): Promise<boolean> => isRecorded(db, file);
    const wanted = { makers, isPicture };
    const copies = await makeMissingCopies(images, wanted, pictures(), signal, progress('copies'));
    return { ...thumbnails, copies };
  });
}

function* picturesOf(jobs: Iterable<RecordedPicture[]>): Generator<RecordedPicture> {
  for (const job of jobs) yield* job.filter(({ label }) => label === null);
}
