/** Writes the report of a batch: `results.csv`, `results.jsonl`, `summary.json` and the gallery, `index.html`. */
import { join, resolve } from 'node:path';
import type { BatchSummary, RunSpan, SceneRecord } from '../core/scene-record.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import { makeFolder, syncFolder, UnfinishedFile } from '../files/folders.ts';
import { assertPlainFile, isAlive, removeLeftovers } from '../../lib/files/temporary-files.ts';
import { csvTable, type OutputColumn, type ReportHeader, resultLine, summaryJson } from './result-columns.ts';
import { GalleryCounts } from './gallery-counts.ts';
import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import type { GalleryRow, GalleryData } from '../core/gallery-data.ts';
import { besideReport, galleryRow } from './gallery-row.ts';
import { createHash } from 'node:crypto';
import { packageFile } from '../../lib/files/package-file.ts';

export type { ReportHeader } from './result-columns.ts';

/** Data of the report. `rows` is read in steps, with other work between them. */
export interface ReportSource {
  /** In manifest order. */
  rows(): Iterable<SceneRecord>;
  columns(): string[];
  labels?(): string[];
  /** Columns with what jobs and clips tell. */
  told?(): OutputColumn[];
  /** The latest runs, oldest first. */
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

/** Number of rows between two pauses: enough to be fast, and few enough not to delay requests of a running batch. */
const sliceRows = 100;

/**
 * Writes the report into `dir`, which is created if it is missing. The files replace older ones only when all
 * are complete and on disk. Throws `FatalFailure` if the disk fails, or the reason of `signal` if it aborts
 * first. In both cases the older files stay.
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
    // Gets its name last, because it refers to the other files.
    files.push(gallery);
    await gallery.begin();
    // Spreadsheets recognize UTF-8 by the byte order mark.
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

/** A file that has not got its final name yet. */
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
    told: source.told?.() ?? [],
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

/** Number of rows in a file: quick to load for a page of pictures, and few files for a million rows. */
const chunkRows = 500;

/** Maximum length of a file in characters, however few rows it has. */
const chunkLength = 1_000_000;

/** Returns a signed URL, which shows a picture to anyone. */
type Sign = (file: string) => Promise<string>;

/** Names of folders that this process is writing. */
const inWork = new Set<string>();
let begun = 0;

/**
 * Writes the page of the report and the files of rows that it loads. Each report has its own folder of rows,
 * and the page is replaced at once when all rows are on disk. Therefore no reader sees a mixture of two
 * reports.
 */
class GalleryFiles {
  readonly #folder: string;
  readonly #links: ReturnType<typeof besideReport>;
  readonly #rowsName: string;
  readonly #columns: string[];
  readonly #counts: GalleryCounts;
  readonly #sign: Sign | undefined;
  readonly #chunks: number[] = [];
  #rows: string[] = [];
  #length = 0;
  #page: UnfinishedFile | undefined;

  /** `folder` is the report's folder. `columns` are the manifest's columns, in order. */
  constructor(folder: string, columns: string[], counts: GalleryCounts, sign?: Sign) {
    begun += 1;
    this.#folder = folder;
    this.#links = besideReport(folder);
    this.#rowsName = `rows-${Date.now().toString(36)}-${process.pid}-${begun}`;
    this.#columns = columns;
    this.#counts = counts;
    this.#sign = sign;
    inWork.add(this.#rowsName);
  }

  async begin(): Promise<void> {
    await withDiskFailure(this.#rowsPath(), async () => {
      makeFolder(join(this.#folder, 'gallery'), 0o700);
      await mkdir(this.#rowsPath(), { mode: 0o700 });
    });
  }

  async add(rows: SceneRecord[]): Promise<void> {
    for (const row of rows) {
      this.#counts.add(row);
      const text = scriptJson(await this.#rowOf(row));
      this.#rows.push(text);
      this.#length += text.length;
      if (this.#rows.length >= chunkRows || this.#length >= chunkLength) await this.#writeChunk();
    }
  }

  /** Writes everything to disk, the page under a temporary name. */
  async complete(): Promise<void> {
    if (this.#rows.length > 0) await this.#writeChunk();
    await withDiskFailure(this.#rowsPath(), () => syncFolder(this.#rowsPath()));
    await withDiskFailure(this.#rowsPath(), () => syncFolder(join(this.#folder, 'gallery')));
    this.#page = await UnfinishedFile.begin(this.#folder, 'index.html');
    const folder = `gallery/${this.#rowsName}`;
    await this.#page.write(await galleryPage(this.#counts.result({ folder, rows: this.#chunks })));
    await this.#page.complete();
  }

  /** Replaces the page, and removes the rows of the previous one. */
  async takeName(): Promise<void> {
    const before = await rowsOf(join(this.#folder, 'index.html'));
    await this.#page?.takeName();
    inWork.delete(this.#rowsName);
    const gallery = join(this.#folder, 'gallery');
    // Anything that cannot be removed now is removed with the next report.
    for (const name of await readdir(gallery).catch(() => [])) {
      const isOld = name === before || isLeftover(name);
      if (isOld && name !== this.#rowsName)
        await rm(join(gallery, name), { recursive: true, force: true }).catch(() => undefined);
    }
  }

  /** Removes the unfinished files. Never fails, because it follows another failure. */
  async discard(): Promise<void> {
    await this.#page?.discard();
    if (!inWork.delete(this.#rowsName)) return;
    await rm(this.#rowsPath(), { recursive: true, force: true }).catch(() => undefined);
  }

  async #rowOf(row: SceneRecord): Promise<GalleryRow> {
    const shown = galleryRow(row, this.#columns, this.#links);
    const links = [...(shown.pictures ?? []), ...(shown.files ?? [])];
    const saved = [...row.pictures, ...row.files];
    if (this.#sign !== undefined)
      for (const [i, link] of links.entries()) link.file = await this.#sign(saved[i]?.file ?? '');
    return shown;
  }

  #rowsPath(): string {
    return join(this.#folder, 'gallery', this.#rowsName);
  }

  async #writeChunk(): Promise<void> {
    this.#chunks.push(this.#rows.length);
    const number = this.#chunks.length;
    const path = join(this.#rowsPath(), `${number}.js`);
    const text = `nightrenderRows(${number},[\n${this.#rows.join(',\n')}\n]);\n`;
    this.#rows = [];
    this.#length = 0;
    await withDiskFailure(path, async () => {
      const file = await open(path, 'wx', 0o600);
      try {
        await file.appendFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
    });
  }
}

/** Returns the folder of rows that a page refers to. */
async function rowsOf(page: string): Promise<string | undefined> {
  try {
    assertPlainFile(page);
    return rowsFolderIn(await readFile(page, 'utf8'));
  } catch {
    // There is no page yet, or one of another program.
    return undefined;
  }
}

/** True if the writer of the folder no longer runs; a running one's page may be about to refer to it. */
function isLeftover(name: string): boolean {
  const [, pid] = /^rows-[0-9a-z]+-(\d+)-\d+$/.exec(name) ?? [];
  if (pid === undefined || inWork.has(name)) return false;
  return Number(pid) === process.pid || !isAlive(Number(pid));
}

/** Returns the page of the report. */
function galleryPage(data: GalleryData): Promise<string> {
  const rowsMark = `<meta name="nightrender-rows" content="${data.chunks.folder}">`;
  return pageWithData('gallery', data, {
    title: `${data.title} · nightrender`,
    marks: data.isSigned ? `${rowsMark}\n${signedMark}` : rowsMark,
    picturesAt: data.picturesAt,
    elsewhere: 'All of its rows are in results.csv and results.jsonl in the same folder.',
  });
}

/** A page that opens from a disk. */
interface StaticPage {
  title: string;
  /** Elements of the head for programs. */
  marks?: string;
  /** Base URL of the pictures; null if they are beside the page. */
  picturesAt?: string | null;
  /** Sentence for browsers without JavaScript. */
  elsewhere: string;
}

/** Returns a page with its code and data in it. Only its own code may load more (`strict-dynamic`), and no data becomes code. */
export async function pageWithData(
  name: 'gallery' | 'album',
  data: object,
  { title, marks = '', picturesAt = null, elsewhere }: StaticPage,
): Promise<string> {
  const code = await built(`${name}.js`);
  const style = await built(`${name}.css`);
  const sources = ["'self'", 'file:', picturesAt ?? []].flat().join(' ');
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(code)}' 'strict-dynamic'`,
    `style-src '${hashOf(style)}'`,
    `img-src ${sources}`,
    `media-src ${sources}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
${marks}
<title>${htmlText(title)}</title>
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript><p>This page needs JavaScript. ${elsewhere}</p></noscript>
<script type="application/json" id="data">${scriptJson(data)}</script>
<script>${code}</script>
</body>
</html>
`;
}

/** Marks a page whose links to pictures are credentials. */
const signedMark = '<meta name="nightrender-links" content="signed">';

/** Returns the name of the folder from which a page loads its rows. */
function rowsFolderIn(page: string): string | undefined {
  return /<meta name="nightrender-rows" content="gallery\/([\w-]+)">/.exec(page)?.[1];
}

/** Returns JSON for a script element: no value can end the script or begin a comment. */
function scriptJson(value: object): string {
  return JSON.stringify(value).replaceAll(/[<\u2028\u2029]/g, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

function htmlText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** Reads a built file. Line ends are normalized, because browsers do so before they check the hash. */
async function built(name: string): Promise<string> {
  const text = await readFile(packageFile(`dist/web/${name}`), 'utf8');
  return text.replaceAll('\r\n', '\n').trim();
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
