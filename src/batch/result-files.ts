/** Writes the report of a batch from its checkpoint, and records how a run ended, which the report shows. */
import { existsSync, readFileSync } from 'node:fs';
import { assertPlainFile } from '../lib/files/temporary-files.ts';
import { endings, type Ending } from '../runner/core/ending.ts';
import { FatalFailure } from '../runner/core/failure.ts';
import { isClipFile } from '../runner/core/picture.ts';
import type { RunStats } from '../runner/core/run-stats.ts';
import { uploadReport } from '../runner/images/saved-files.ts';
import { type OpenCheckpoint, openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import { linksTo, ownImages, copyMakers } from './pictures-place.ts';
import { refusalOf } from './refusal.ts';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { readBatch, resultColumns, type BatchIdentity } from '../runner/checkpoint/batch-identity.ts';
import {
  readLabels,
  readOutputColumns,
  readSavedJobs,
  isRecorded,
} from '../runner/checkpoint/recorded-pictures.ts';
import { readRecords } from '../runner/checkpoint/scene-records.ts';
import { readRuns, readSummary } from '../runner/checkpoint/read-summary.ts';
import { batchName } from '../runner/core/naming.ts';
import { untilNote } from '../runner/core/seeds-until.ts';
import { MarksFile } from '../runner/files/marks-file.ts';
import type { ReportHeader } from '../runner/report/result-columns.ts';
import { writeReport, type ReportFiles } from '../runner/report/write-report.ts';
import { program } from '../lib/files/package-file.ts';
import { type Made, makeMissingThumbnails, makeMissingCopies } from '../runner/images/missing-files.ts';
import type { Book } from './book.ts';
import type { ReportKeys } from '../runner/config/schema-parts.ts';
import { type Stop, StoppedEarly } from '../runner/pipeline/stop.ts';
import { noBatch } from './record.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import type { RecordedPicture } from '../runner/core/scene-record.ts';

/** Maximum number of runs whose time the report adds up. */
export const maxRuns = 10_000;

/** Data for the report that the checkpoint does not contain. */
export type HeaderChoices = Pick<ReportHeader, 'bucket' | 'report'>;

/** Writes the report, and returns its files. Undefined if no run has begun in `checkpointDir`. Throws the reason of `signal`. */
export async function writeBatchReport(
  dir: string,
  now: number,
  signal: AbortSignal,
  chosen: HeaderChoices = {},
  checkpointDir = dir,
): Promise<ReportFiles | undefined> {
  const db = openCheckpointForReading(checkpointDir);
  if (db === undefined) return undefined;
  try {
    // One view of the batch for all files, even if a run is writing.
    db.exec('BEGIN');
    const batch = readBatch(db);
    if (batch === undefined) return undefined;
    const source = {
      rows: () => readRecords(db),
      columns: () => resultColumns(batch),
      labels: () => readLabels(db),
      told: () => readOutputColumns(db),
      runs: () => readRuns(db, maxRuns),
      summary: () => readSummary(db, signal),
    };
    const about = { ...reportHeader(dir, batch, now, chosen), ...marksIn(dir) };
    return await writeReport(join(dir, 'report'), source, about, signal);
  } finally {
    db.close();
  }
}

/** Returns the marks for a page that is opened without `watch`. A file that cannot be read prevents no report. */
function marksIn(dir: string): Pick<ReportHeader, 'marks'> {
  try {
    const { marks } = new MarksFile(dir).read();
    return marks.size === 0 ? {} : { marks: [...marks].map(([id, { mark, at }]) => [id, mark, at]) };
  } catch {
    return {};
  }
}

/** Returns the data of a report that do not depend on its rows. `dir`: output folder. `writtenAt`: epoch ms. */
export function reportHeader(
  dir: string,
  { axes = [], values = [], manifest, endpoint, pipeline, output, rules, stage, until }: BatchIdentity,
  writtenAt: number,
  chosen: HeaderChoices = {},
): ReportHeader {
  const name = batchName(resolve(dir));
  const batch = { manifest, endpoint };
  const stageAt =
    stage === undefined || pipeline === undefined
      ? undefined
      : `${relative(join(resolve(dir), 'report'), dirname(pipeline))
          .split(sep)
          .map(encodeURIComponent)
          .join('/')}/`;
  const names = values.map((value) => value.name);
  const bias = until === undefined ? null : untilNote(until);
  const about = { name, axes, values: names, batch, rules, bias, stageAt, pipeline, output };
  return { ...about, program, writtenAt, ...chosen };
}

/** Like `Report.keep`. */
export function keptReport(dir: string, opened: OpenCheckpoint, ending?: Ending): string | undefined {
  const folder = join(dir, 'report');
  const reportedAt = existsSync(join(folder, 'index.html')) ? writtenAtOf(folder) : NaN;
  return opened.forgetRun(reportedAt, ending && endOf(ending)) ? folder : undefined;
}

/** Returns the time of existing result files in epoch ms. NaN if it is unknown. */
function writtenAtOf(folder: string): number {
  try {
    const summary = join(folder, 'summary.json');
    assertPlainFile(summary);
    const { writtenAt } = JSON.parse(readFileSync(summary, 'utf8')) as {
      writtenAt: string;
    };
    return Date.parse(writtenAt);
  } catch {
    return NaN;
  }
}

/**
 * Writes the report. Returns false if `signal` aborts first. Throws `FatalFailure`, also if there is no checkpoint.
 * `now` is in epoch ms.
 */
export async function tryWriteReport(
  dir: string,
  signal: AbortSignal,
  chosen?: HeaderChoices,
  now = Date.now(),
  checkpointDir = dir,
): Promise<boolean> {
  try {
    const files = await writeBatchReport(dir, now, signal, chosen, checkpointDir);
    if (files === undefined)
      throw new FatalFailure({
        kind: 'output-unwritable',
        text: 'the checkpoint was removed during the run',
      });
    return true;
  } catch (error) {
    if (signal.aborted && error === signal.reason) return false;
    throw error;
  }
}

/** Records the ending. Ignores that the disk cannot be written, because the ending of such a run reports that itself. */
export async function recordEnd(opened: OpenCheckpoint, ending: Ending, stats?: RunStats): Promise<void> {
  try {
    await opened.recordEnd({ at: Date.now(), ...endOf(ending), stats });
  } catch (error) {
    if (refusalOf(error, undefined)?.ending !== 'output-unwritable') throw error;
  }
}

function endOf({ kind, text }: Ending): { exitCode: number; ending: string } {
  return { exitCode: endings[kind].exitCode, ending: text };
}

/** Records that a run ended by an error. */
export async function recordThrown(opened: OpenCheckpoint, thrown: unknown, dir: string): Promise<void> {
  await recordEnd(opened, { kind: refusalOf(thrown, dir)?.ending ?? 'bug', text: (thrown as Error).message });
}

interface MadeFiles {
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
    // The rows say which clips have a poster.
    const posters = settings.report.thumbnails ? await makePosters(book, stop.leaving) : undefined;
    const files = await book.withPlaces(({ images }) => {
      const chosen = { bucket: linksTo(images, signedMs), report: settings.report };
      return writeBatchReport(dir, Date.now(), stop.leaving, chosen, record.dir);
    });
    if (files === undefined) throw noBatch(dir);
    consequence = 'The result files are written; thumbnails and copies are not complete.';
    await uploadCopy(book, signedMs, stop.leaving);
    const made = await makeMissingFiles(book, settings, stop.leaving, listener);
    if (made.thumbnails !== undefined) made.thumbnails.made += posters?.made ?? 0;
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
    const pictures = () => picturesOf(readSavedJobs(db), false);
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

/** Makes missing posters of clips, if this machine can. */
function makePosters(book: Book, signal: AbortSignal): Promise<Made> {
  const clips = picturesOf(readSavedJobs(book.db), true);
  return book.withPlaces((places) =>
    makeMissingThumbnails(places, join(book.dir, 'report'), clips, signal, () => undefined),
  );
}

function* picturesOf(jobs: Iterable<RecordedPicture[]>, areClips: boolean): Generator<RecordedPicture> {
  for (const job of jobs)
    yield* job.filter(({ label, file }) => label === null && isClipFile(file) === areClips);
}
