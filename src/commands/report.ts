/** `nightrender report`: writes the result files anew from the checkpoint. */
import { join, resolve } from 'node:path';
import { readFile } from 'node:fs/promises';
import { readReportSettings, type ReportSettings } from '../runner/config/read-settings.ts';
import { createFilesView, type FilesView } from '../terminal/files-view.ts';
import { writeBatchReport } from './batch-report.ts';
import { noBatch, lookAtBatch } from './existing-batch.ts';
import { shownPath } from './shown-path.ts';
import { withSignals, StoppedEarly } from './signals.ts';
import { systemClock } from './system-clock.ts';
import { readSavedJobs } from '../runner/checkpoint/recorded-pictures.ts';
import type { Made } from '../runner/images/missing-files.ts';
import { makeMissingCopies } from '../runner/images/missing-files.ts';
import { makeMissingThumbnails, thumbnailFrom } from '../runner/images/missing-files.ts';
import { copyMakers } from './output-files.ts';
import { readRows } from '../runner/checkpoint/read-rows.ts';
import { batchName } from '../runner/core/batch-name.ts';
import type { SavedPicture } from '../runner/core/picture.ts';
import { promptOf } from '../runner/core/prompt.ts';
import { cellsOnSheet, contactSheet, type SheetCell } from '../runner/images/contact-sheet.ts';
import { thumbnailFiles } from '../runner/images/thumbnail.ts';
import { writeSheets } from '../runner/report/write-sheets.ts';
import type { Database } from '../lib/sqlite/database.ts';
import type { LoadedCommand } from './command.ts';
import { onBatch, type BatchCall } from './on-batch.ts';
import { common } from './exit-codes.ts';
import { fileIn } from './option-values.ts';

export const reportCommand: LoadedCommand = {
  purpose: `Writes the gallery (index.html), results.csv, results.jsonl and summary.json from the checkpoint, and creates missing thumbnails and copies (output.formats). Sends nothing; works during a run.`,
  shared: ['output', 'json'],
  options: {
    'contact-sheet': {
      type: 'boolean',
      describe: 'also write contact sheets of eighty pictures with their prompts and ids',
    },
  },
  examples: [
    ['$0 report pipeline.yaml', 'results.csv as of now'],
    ['$0 report pipeline.yaml --contact-sheet', 'all saved pictures at a glance'],
    ['$0 report pipeline.yaml --json', 'for a script: the paths as one JSON object'],
  ],
  exits: { ...common, complete: 'the files were written' },
  work: (argv) =>
    onBatch(fileIn(argv), argv, (call) => report(fileIn(argv), call, argv['contactSheet'] === true)),
};

async function report(
  file: string,
  { dir, json, others, overrides }: BatchCall,
  isWithSheets: boolean,
): Promise<void> {
  const settings = readReportSettings(file, overrides, process.env);
  const view = createFilesView({
    json,
    file: others,
    elapsed: () => systemClock.elapsed(),
  });
  const { files, made } = await writeUnlessStopped(dir, { ...settings, isWithSheets }, view);
  view.end(files.map(shownPath), made);
}

interface Written {
  /** Absolute paths. */
  files: string[];
  made: MadeFiles;
}

/** Of a result file that is not finished nothing is left. */
function writeUnlessStopped(
  dir: string,
  settings: ReportSettings & { isWithSheets: boolean },
  view: FilesView,
): Promise<Written> {
  return withSignals(async (stop) => {
    let consequence = 'The result files were not changed.';
    try {
      const files = await writeBatchReport(dir, Date.now(), stop.leaving);
      if (files === undefined) throw noBatch(dir);
      consequence = 'The result files are written; thumbnails, copies and contact sheets are not complete.';
      const made = await makeMissingFiles(dir, settings, stop.leaving, view);
      const sheets = settings.isWithSheets ? await makeContactSheets(dir, stop.leaving) : [];
      return { files: [files.index, files.csv, files.jsonl, files.summary, ...sheets], made };
    } catch (error) {
      if (stop.ending === undefined || error !== stop.leaving.reason) throw error;
      throw new StoppedEarly(stop.ending, consequence);
    }
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
  dir: string,
  { hasThumbnails, output }: ReportSettings,
  signal: AbortSignal,
  { onProgress, warn }: MadeView,
): Promise<MadeFiles> {
  const dirs = { images: join(dir, 'images'), report: join(dir, 'report') };
  const progress = (what: keyof MadeFiles) => (made: number) => onProgress(what, made);
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

/** Absolute paths; the report's folder is there. Throws the reason of `signal` where that cuts it, and older ones stay. */
async function makeContactSheets(dir: string, signal: AbortSignal): Promise<string[]> {
  return lookAtBatch(dir, (db) => writeSheets(join(dir, 'report'), sheetsOf(dir, db, signal), signal));
}

type Labelled = Omit<SheetCell, 'thumbnail'> & { picture: SavedPicture };

async function* sheetsOf(dir: string, db: Database, signal: AbortSignal): AsyncGenerator<Buffer> {
  let sheet: SheetCell[] = [];
  let first = 1;
  const drawn = (): Promise<Buffer> =>
    contactSheet(`${batchName(resolve(dir))} · ${first}–${first + sheet.length - 1}`, sheet);
  for (const { picture, ...words } of savedPictures(db)) {
    signal.throwIfAborted();
    sheet.push({ ...words, thumbnail: await thumbnailNow(dir, picture) });
    if (sheet.length < cellsOnSheet) continue;
    yield await drawn();
    first += sheet.length;
    sheet = [];
  }
  if (sheet.length > 0) yield await drawn();
}

function* savedPictures(db: Database): Generator<Labelled> {
  for (const { id, state, pictures, input, columns } of readRows(db)) {
    if (state !== 'saved' || id === null) continue;
    const prompt = promptOf(input ?? {}, columns) ?? '';
    for (const [i, picture] of pictures.entries())
      yield { label: i === 0 ? id : `${id} (${i + 1})`, prompt, picture };
  }
}

/** The file, or one made for the sheet alone. */
async function thumbnailNow(dir: string, picture: SavedPicture): Promise<Uint8Array | undefined> {
  const files = thumbnailFiles(join(dir, 'report'));
  const path = files.pathOf(picture);
  const found = path && files.find(path);
  if (found !== undefined) return readFile(found);
  return thumbnailFrom(resolve(dir, 'images'), { ...picture, moveTo: null });
}
