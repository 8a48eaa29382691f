/** Writes the report of a batch: `results.csv`, `results.jsonl`, `summary.json` and the gallery, `index.html`. */
import { join, resolve } from 'node:path';
import type { BatchSummary, RunSpan } from '../core/batch-summary.ts';
import type { SceneRecord } from '../core/scene-record.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import { makeFolder, syncFolder } from '../files/folders.ts';
import { removeLeftovers } from '../../lib/files/temporary-files.ts';
import { csvTable, type ListName } from './csv-table.ts';
import { GalleryCounts } from './gallery-counts.ts';
import { GalleryFiles } from './gallery-files.ts';
import { resultLine, summaryJson, type ReportHeader } from './result-json.ts';
import { UnfinishedFile } from '../files/unfinished-file.ts';

export type { ReportHeader } from './result-json.ts';

/** What the report is made of; `rows` is read in steps, with other work between them. */
export interface ReportSource {
  /** In manifest order. */
  rows(): Iterable<SceneRecord>;
  /** The manifest's own columns, in order. */
  columns(): string[];
  /** What files besides pictures are called, in order. */
  labels?(): string[];
  /** Lists of words that came with pictures. */
  lists?(): ListName[];
  /** The latest ones, oldest first. */
  runs(): RunSpan[];
  summary(): BatchSummary | Promise<BatchSummary>;
}

/** Absolute paths. */
export interface ReportFiles {
  index: string;
  csv: string;
  jsonl: string;
  summary: string;
}

/** Rows between two breathers: enough to be fast, few enough that a live run's requests never wait long. */
const sliceRows = 100;

/**
 * Writes these files into `dir`, which is made where it is missing. They replace older ones only once all
 * are complete and on the disk. A disk that does not take them throws `FatalFailure`, and the older ones stay; so they do
 * where `signal` aborts before, whose reason is then thrown.
 */
export async function writeReport(
  dir: string,
  source: ReportSource,
  about: ReportHeader,
  signal?: AbortSignal,
): Promise<ReportFiles> {
  const folder = resolve(dir);
  await withDiskFailure(folder, async () => makeFolder(folder, 0o700));
  await withDiskFailure(folder, () => removeLeftovers(folder, true));
  const files: Unfinished[] = [];
  try {
    const csv = await begin(files, folder, 'results.csv');
    const jsonl = await begin(files, folder, 'results.jsonl');
    const summary = await begin(files, folder, 'summary.json');
    const numbers = await source.summary();
    await summary.write(`${JSON.stringify(summaryJson(numbers, about), undefined, 2)}\n`);
    const columns = source.columns();
    const counts = new GalleryCounts({ about, summary: numbers, runs: source.runs(), columns });
    const gallery = new GalleryFiles(folder, columns, counts, about.bucket?.sign);
    // The last to take its name: the files that it refers to are there then.
    files.push(gallery);
    await gallery.begin();
    // Spreadsheets know UTF-8 by it.
    if (about.report?.bom === true) await csv.write('\uFEFF');
    await writeRows(source, { csv, jsonl, gallery }, about.report?.separator, signal);
    for (const file of files) await file.complete();
    signal?.throwIfAborted();
    for (const file of files) await file.takeName();
    await withDiskFailure(folder, () => syncFolder(folder));
  } catch (error) {
    for (const file of files) await file.discard();
    throw error;
  }
  return {
    index: join(folder, 'index.html'),
    csv: join(folder, 'results.csv'),
    jsonl: join(folder, 'results.jsonl'),
    summary: join(folder, 'summary.json'),
  };
}

/** What has no name yet. */
type Unfinished = Pick<UnfinishedFile, 'complete' | 'takeName' | 'discard'>;

async function begin(files: Unfinished[], folder: string, name: string): Promise<UnfinishedFile> {
  const file = await UnfinishedFile.begin(folder, name);
  files.push(file);
  return file;
}

async function writeRows(
  source: ReportSource,
  { csv, jsonl, gallery }: { csv: UnfinishedFile; jsonl: UnfinishedFile; gallery: GalleryFiles },
  separator: string | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const table = csvTable(source.columns(), {
    exact: false,
    separator,
    labels: source.labels?.() ?? [],
    lists: source.lists?.() ?? [],
  });
  await csv.write(table.header);
  for (const rows of slices(source.rows())) {
    signal?.throwIfAborted();
    await csv.write(table.text(rows));
    await jsonl.write(rows.map((row) => resultLine(row)).join(''));
    await gallery.add(rows);
  }
}

function* slices<T>(items: Iterable<T>): Generator<T[]> {
  let slice: T[] = [];
  for (const item of items) {
    slice.push(item);
    if (slice.length < sliceRows) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}
