/** Writes the result files of a batch anew from its checkpoint, and what is missing beside its pictures. */
import { join } from 'node:path';
import type { Bucket } from '../lib/s3/bucket.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { isRecorded, readSavedJobs } from '../runner/checkpoint/recorded-pictures.ts';
import type { ReportKeys } from '../runner/config/schema-parts.ts';
import { isSized, sidecarPath } from '../runner/core/picture-copy.ts';
import type { RecordedPicture } from '../runner/core/verification.ts';
import {
  copiesInBucket,
  copiesInFolder,
  makeMissingCopies,
  makeMissingThumbnails,
  thumbnailsInBucket,
  type CopyFiles,
  type Made,
  type ThumbnailSource,
} from '../runner/images/missing-files.ts';
import { picturesInBucket, picturesInFolder } from '../runner/images/picture-files.ts';
import { uploadReport } from '../runner/images/upload-report.ts';
import { StoppedEarly, type Stop } from '../runner/pipeline/stop.ts';
import type { Book } from './book.ts';
import { copyMakers } from './output-files.ts';
import { assertOwnBucket, linksTo } from './pictures-place.ts';
import { noBatch } from './record.ts';
import { writeBatchReport } from './result-files.ts';

export interface MadeFiles {
  /** Undefined if none are wanted. */
  thumbnails?: Made;
  copies?: Made;
}

export interface ReportListener {
  /** Gets the number of pictures for which files were made so far. */
  onMade: (what: keyof MadeFiles, made: number) => void;
  /** Gets a sentence once for each kind of copy that cannot be made of some picture. */
  onWarning: (text: string) => void;
}

export interface WrittenReport extends MadeFiles {
  /** Absolute paths of the result files. */
  files: string[];
}

/**
 * `signedMs`: how long links show pictures in a bucket; undefined if the bucket can be read. Throws `StoppedEarly` if
 * `stop` is requested: no result file is half written then.
 */
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
    const files = await book.withBucket((bucket) => {
      const links = bucket && linksTo(bucket, signedMs);
      const chosen = { bucket: links, report: settings.report };
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

/** Puts a copy of the report beside pictures in a bucket. Links that are credentials stay on this machine. */
async function uploadCopy(book: Book, signedMs: number | undefined, signal: AbortSignal): Promise<void> {
  await book.withBucket(async (bucket) => {
    if (bucket === undefined && signedMs !== undefined)
      throw new ConfigError([{ where: '--signed', text: 'the pictures of this batch are in a folder' }]);
    if (bucket === undefined || signedMs !== undefined || book.isNamedByFolder) return;
    // Another batch's report stays.
    await assertOwnBucket(bucket, book.db);
    await uploadReport(bucket, join(book.dir, 'report'), signal);
  });
}

/** Works during a run. Throws the reason of `signal` if that aborts; what was made stays. */
async function makeMissingFiles(
  book: Book,
  { report, output }: ReportKeys,
  signal: AbortSignal,
  { onMade, onWarning }: ReportListener,
): Promise<MadeFiles> {
  const progress = (what: keyof MadeFiles) => (made: number) => onMade(what, made);
  const { dir, db } = book;
  return book.withBucket(async (bucket) => {
    const pictures = () => picturesOf(readSavedJobs(db));
    const source = await thumbnailSource(dir, bucket);
    const made = progress('thumbnails');
    const thumbnails = report.thumbnails
      ? { thumbnails: await makeMissingThumbnails(source, join(dir, 'report'), pictures(), signal, made) }
      : {};
    const makers = copyMakers(output, onWarning);
    if (makers.length === 0 || (bucket !== undefined && book.isNamedByFolder)) return thumbnails;
    const files = bucket === undefined ? copiesInFolder(join(dir, 'images')) : await copiesInBucket(bucket);
    const lacking: CopyFiles['lacking'] = (file, wanted) =>
      files
        .lacking(file, wanted)
        .filter(({ ending }) => !isSized(ending) || !isRecorded(db, sidecarPath(file, ending)));
    const copies = await makeMissingCopies(
      { ...files, lacking },
      makers,
      pictures(),
      signal,
      progress('copies'),
    );
    return { ...thumbnails, copies };
  });
}

async function thumbnailSource(dir: string, bucket: Bucket | undefined): Promise<ThumbnailSource> {
  if (bucket === undefined) return { files: picturesInFolder(join(dir, 'images')) };
  return { files: picturesInBucket(bucket), stored: await thumbnailsInBucket(bucket) };
}

function* picturesOf(jobs: Iterable<RecordedPicture[]>): Generator<RecordedPicture> {
  for (const job of jobs) yield* job.filter(({ label }) => label === null);
}
