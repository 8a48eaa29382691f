/** `nightrender report`: writes the result files anew from the checkpoint. */
import { noBatch } from '../batch/record.ts';
import { plural } from '../lib/text/format.ts';
import { join } from 'node:path';
import type { ReportKeys } from '../runner/config/pipeline-parts.ts';
import { writeBatchReport } from '../batch/result-files.ts';
import { shownPath } from '../batch/shown-path.ts';
import { withSignals } from './signals.ts';
import { StoppedEarly } from '../runner/pipeline/stop.ts';
import { systemClock } from '../batch/system-clock.ts';
import { readSavedJobs } from '../runner/checkpoint/recorded-pictures.ts';
import type { Bucket } from '../lib/s3/bucket.ts';
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
import { durationWithin } from '../lib/yaml/scalar-schemas.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import type { Batch } from '../batch/batch.ts';
import type { Book } from '../batch/book.ts';
import { assertOwnBucket, linksTo } from '../batch/pictures-place.ts';
import { isRecorded } from '../runner/checkpoint/recorded-pictures.ts';
import { isSized, sidecarPath } from '../runner/core/picture-copy.ts';
import { copyMakers } from '../batch/output-files.ts';
import type { RecordedPicture } from '../runner/core/verification.ts';
import { type LoadedCommand, common, textOption } from './command.ts';
import { onBatch } from './reply.ts';
import { clearStatus, writeError, writeOut, writeStatus } from '../terminal/console.ts';
import { writeJsonLine } from '../terminal/json-lines.ts';

export const reportCommand: LoadedCommand = {
  purpose: `Writes the gallery (index.html), results.csv, results.jsonl and summary.json from the checkpoint, and creates missing thumbnails and copies (output.formats). Sends nothing; works during a run.`,
  shared: ['output', 'json'],
  options: {
    signed: {
      ...textOption,
      describe:
        'pictures in a bucket: links in the gallery here that show them to anyone who has it, for so long: 12h, 7d',
    },
  },
  examples: [
    ['$0 report pipeline.yaml', 'results.csv as of now'],
    ['$0 report pipeline.yaml --json', 'for a script: the paths as one JSON object'],
  ],
  exits: { ...common, complete: 'the files were written' },
  work: (argv) => onBatch(argv, (batch, json) => report(batch, signedMs(argv), json)),
};

async function report(batch: Batch, signed: number | undefined, json: boolean): Promise<void> {
  const view = createFilesView({ json, file: batch.arguments, elapsed: () => systemClock.elapsed() });
  const settings = { ...batch.parts.report(), signedMs: signed };
  const { files, made } = await batch.read((book) => writeUnlessStopped(book, settings, view));
  view.end(files.map(shownPath), made);
}

/** Writes the report so that no result file names a picture where it was before it was moved. */
export function reportMoved(batch: Batch, json: boolean): Promise<unknown> {
  const view = createFilesView({ json, file: batch.arguments, elapsed: () => systemClock.elapsed() });
  const settings = { ...batch.parts.report(), signedMs: undefined };
  return batch.read((book) => writeUnlessStopped(book, settings, view));
}

interface ReportChoices {
  /** How long links to pictures in a bucket show them; undefined where the bucket has to be readable. */
  signedMs: number | undefined;
}

const longestSigned = '7d';

function signedMs(argv: Record<string, unknown>): number | undefined {
  const text = argv['signed'];
  if (text === undefined) return undefined;
  const read = durationWithin('1s', longestSigned).safeParse(text);
  if (read.success) return read.data;
  const expected = `a time such as 12h, ${longestSigned} at most`;
  throw new ConfigError([{ where: '--signed', text: `${JSON.stringify(text)}; expected ${expected}` }]);
}

interface Written {
  /** Absolute paths. */
  files: string[];
  made: MadeFiles;
}

/** Of a result file that is not finished nothing is left. */
function writeUnlessStopped(
  book: Book,
  settings: ReportKeys & ReportChoices,
  view: FilesView,
): Promise<Written> {
  const { dir, record } = book;
  return withSignals(async (stop) => {
    let consequence = 'The result files were not changed.';
    try {
      const files = await book.withBucket((bucket) => {
        const links = bucket && linksTo(bucket, settings.signedMs);
        return writeBatchReport(
          dir,
          Date.now(),
          stop.leaving,
          { bucket: links, report: settings.report },
          record.dir,
        );
      });
      if (files === undefined) throw noBatch(dir);
      consequence = 'The result files are written; thumbnails and copies are not complete.';
      await uploadCopy(book, settings, stop.leaving);
      const made = await makeMissingFiles(book, settings, stop.leaving, view);
      return { files: [files.index, files.csv, files.jsonl, files.summary], made };
    } catch (error) {
      if (stop.ending === undefined || error !== stop.leaving.reason) throw error;
      throw new StoppedEarly(stop.ending, consequence);
    }
  });
}

/** Where the pictures are in a bucket. Links that are credentials stay on this machine. */
async function uploadCopy(
  book: Book,
  { signedMs: signed }: ReportChoices,
  signal: AbortSignal,
): Promise<void> {
  await book.withBucket(async (bucket) => {
    if (bucket === undefined && signed !== undefined)
      throw new ConfigError([{ where: '--signed', text: 'the pictures of this batch are in a folder' }]);
    if (bucket === undefined || signed !== undefined) return;
    // Another batch's report stays.
    await assertOwnBucket(bucket, book.db);
    await uploadReport(bucket, join(book.dir, 'report'), signal);
  });
}

interface MadeFiles {
  /** Undefined where none are wanted. */
  thumbnails?: Made;
  copies?: Made;
}

interface MadeView {
  onProgress: (what: keyof MadeFiles, made: number) => void;
  warn: (text: string) => void;
}

/** May be asked for during a run. Throws the reason of `signal` where that cuts it; what was made stays. */
async function makeMissingFiles(
  book: Book,
  { report: { thumbnails: areWanted }, output }: ReportKeys,
  signal: AbortSignal,
  { onProgress, warn }: MadeView,
): Promise<MadeFiles> {
  const progress = (what: keyof MadeFiles) => (made: number) => onProgress(what, made);
  const { dir, db } = book;
  return book.withBucket(async (bucket) => {
    const pictures = () => picturesOf(readSavedJobs(db));
    const source = await thumbnailSource(dir, bucket);
    const made = progress('thumbnails');
    const thumbnails = areWanted
      ? { thumbnails: await makeMissingThumbnails(source, join(dir, 'report'), pictures(), signal, made) }
      : {};
    const makers = copyMakers(output, warn);
    if (makers.length === 0) return thumbnails;
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

interface FilesView {
  onProgress: (what: keyof MadeFiles, made: number) => void;
  warn: (text: string) => void;
  end: (files: string[], made: MadeFiles) => void;
}

interface FilesViewOptions {
  json: boolean;
  /** What follows `nightrender verify` for this batch. */
  file: string;
  /** Monotonic ms. */
  elapsed: () => number;
}

const progressEveryMs = 500;

function createFilesView({ json, file, elapsed }: FilesViewOptions): FilesView {
  let shownElapsed = elapsed();
  return {
    onProgress: (what, made) => {
      if (json || elapsed() - shownElapsed < progressEveryMs) return;
      shownElapsed = elapsed();
      writeStatus(`${what} created for ${plural(made, 'picture')}`);
    },
    // Beside the paths, which scripts read.
    warn: (text) => {
      if (json) return writeJsonLine('warning', { text });
      clearStatus();
      writeError(text);
    },
    end: (files, made) => {
      if (json) return writeJsonLine('files-written', { files, ...made });
      clearStatus();
      for (const each of files) writeOut(each);
      for (const line of describe('thumbnail', made.thumbnails, file)) writeError(line);
      for (const line of describe('copies', made.copies, file)) writeError(line);
    },
  };
}

function describe(what: 'thumbnail' | 'copies', made: Made | undefined, file: string): string[] {
  const { made: count, lacking } = made ?? { made: 0, lacking: 0 };
  const thing = what === 'thumbnail' ? 'no thumbnail' : 'not all copies';
  return [
    ...(count > 0
      ? [`Missing ${what === 'thumbnail' ? 'thumbnails' : what} created for ${plural(count, 'picture')}.`]
      : []),
    ...(lacking > 0
      ? [
          `${plural(lacking, 'picture has', 'pictures have')} ${thing}: the picture is missing or damaged (\`nightrender verify ${file}\`), or the file cannot be created.`,
        ]
      : []),
  ];
}
