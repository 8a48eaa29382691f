/** Opens a manifest of any format and reads its rows as a stream. */
import { isUtf8 } from 'node:buffer';
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { addAbortSignal, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type ListReading, plainReading } from '../core/expansion.ts';
import {
  commentNotes,
  type Delimiter,
  isComment,
  type Manifest,
  type ManifestEntry,
  ManifestError,
  maxBatchRows,
  maxRowBytes,
  seemsComment,
} from './manifest.ts';
import {
  asUtf8,
  EncodingProblem,
  explain,
  isWorkbook,
  notUtf8,
  openFile,
  peek,
  type Peeked,
  plainBytes,
  startingWith,
} from './open-bytes.ts';
import { readJsonArray, readJsonLine, readJsonObject } from './read-json.ts';
import { isKnownColumn, readTable, type Start } from './read-table.ts';
import { delimiters, isBlank, type LineBlock, splitLines, withoutReturn } from './table-records.ts';

export { leaveUnread, ManifestError } from './manifest.ts';
export interface ManifestOptions {
  source?: Readable;
  signal?: AbortSignal;
  onBytes?: (bytes: Buffer) => void;
  /** Default: `plainReading`. */
  reading?: ListReading;
}

export type { Manifest, ManifestEntry } from './manifest.ts';

/**
 * Opens the file at `path`, or `source` if it is given. Recognizes gzip and zstd by their first bytes. The
 * format of a file is detected from its extension, that of standard input from the first bytes. Passes the
 * raw bytes, packed or not, to `onBytes`. Throws `ManifestError` if the whole file is unreadable, and an
 * `AbortError` as soon as `signal` aborts.
 */
export async function openManifest(
  path: string,
  { source, signal, onBytes = () => undefined, reading = plainReading }: ManifestOptions = {},
): Promise<Manifest> {
  if (source !== undefined)
    return readFrom(abortable(source, signal), 'standard input', { onBytes, reading, signal });
  if (await isFolder(path)) return readTextFolder(path, onBytes, reading);
  const format = formatOfEnding(path);
  if (format === undefined) throw unknownEnding(path);
  if (format === 'parquet') {
    // Its libraries are loaded only if they are needed.
    const { readParquet } = await import('./read-parquet.ts');
    return readParquet(path, onBytes, signal);
  }
  return readFrom(abortable(await openFile(path), signal), path, { onBytes, reading, signal }, format);
}

/** True if the path is a folder. Throws `ManifestError` if nothing readable is there. */
async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw explain(path, error);
  }
}

function abortable(stream: Readable, signal: AbortSignal | undefined): Readable {
  return signal === undefined ? stream : addAbortSignal(signal, stream);
}

function unknownEnding(path: string): ManifestError {
  const ending = extname(path);
  const isTable = /^\.(xls[mb]?|ods|numbers)$/i.test(ending);
  if (isTable)
    return new ManifestError(path, `is a spreadsheet (${ending}); save it as .xlsx or CSV (UTF-8)`);
  const found = ending === '' ? 'it has no extension' : `the extension ${ending} is unknown`;
  return new ManifestError(path, `unknown format: ${found}; supported are ${knownEndings}`);
}

async function readFrom(
  stream: Readable,
  path: string,
  {
    onBytes,
    reading,
    signal,
  }: Required<Pick<ManifestOptions, 'onBytes' | 'reading'>> & { signal: AbortSignal | undefined },
  known?: Exclude<Format, 'parquet'>,
): Promise<Manifest> {
  try {
    const start = await peek(await plainBytes(path, stream, onBytes, reading.encoding), headBytes + 1);
    if (known === 'xlsx' || isWorkbook(start.head)) {
      const { readXlsx } = await import('./read-xlsx.ts');
      return await readXlsx(path, start.bytes, reading, signal);
    }
    if (known === undefined && isParquet(start.head)) throw new ManifestError(path, parquetFromStream);
    const isArray = known === undefined ? beginsArray(start.head) : known === 'json';
    if (beginsObject(start.head, known === 'json')) {
      const read = await readJsonObject(path, start.bytes);
      if ('lines' in read)
        return await readText(path, { ...start, bytes: read.lines }, 'json-lines', reading);
      return { path, columns: undefined, batches: read.batches, notes: [] };
    }
    if (isArray) return { path, columns: undefined, batches: readJsonArray(path, start.bytes), notes: [] };
    return await readText(path, start, known === 'json' ? undefined : known, reading);
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

function isParquet(start: Buffer): boolean {
  return start.toString('latin1', 0, 4) === 'PAR1';
}

const parquetFromStream =
  'is Parquet, which cannot be read from a stream; give the path of the file as the manifest';

async function readText(
  path: string,
  { head, bytes }: Peeked,
  known: TextFormat | undefined,
  reading: ListReading,
): Promise<Manifest> {
  const { comments, trimsLines } = reading;
  // Earlier programs took such a line of a text for a prompt.
  const mayState = known === undefined ? reading.readsSpreadsheets : known === 'csv' || known === 'tsv';
  const lines = splitLines(bytes, endsInReturn(head));
  const start = await startReading(path, lines, comments, mayState);
  const { blocks } = start;
  const format = formatOfLines(start, known, reading);
  const notes: string[] = [];
  if (format === 'json-lines')
    return { path, columns: undefined, batches: readLines(blocks, readJsonLine, comments), notes };
  if (format === 'text')
    return { path, columns: ['prompt'], batches: readTextLines(blocks, trimsLines, comments, notes), notes };
  const usual = format === 'csv' ? ',' : '\t';
  return { path, ...(await readTable(path, start, usual, reading, notes)), notes };
}

/** Reads up to the first line that is neither empty nor a comment, to detect the format. */
async function startReading(
  shown: string,
  blocks: AsyncGenerator<LineBlock>,
  comments: string | undefined,
  mayState: boolean,
): Promise<Start> {
  for (;;) {
    const next = await blocks.next();
    if (next.done === true) throw new ManifestError(shown, 'is empty');
    const block = next.value;
    const index = block.lines.findIndex(
      (line, at) => !isComment(line, comments) && (!isBlank(line) || block.problems.has(block.first + at)),
    );
    // Earlier blocks contained only blank lines and comments, which are rows in no format.
    if (index !== -1) {
      const stated = mayState ? statedDelimiter(block.lines[index] ?? '') : undefined;
      if (stated !== undefined) block.lines[index] = '';
      const lines = block.lines.slice(index).filter((line) => !isComment(line, comments));
      return { lines, stated, blocks: startingWith(block, blocks) };
    }
  }
}

/** Reads plain text: one prompt per line, trimmed if `isTrimmed`. */
async function* readTextLines(
  blocks: AsyncIterable<LineBlock>,
  isTrimmed: boolean,
  comments: string | undefined,
  notes: string[],
): AsyncGenerator<ManifestEntry[]> {
  const seeming: number[] = [];
  const readLine = (text: string, line: number): ManifestEntry => {
    if (comments === undefined && seemsComment(text)) seeming.push(line);
    return { kind: 'row', columns: { prompt: isTrimmed ? text.trim() : text }, line };
  };
  yield* readLines(blocks, readLine, comments);
  notes.push(...commentNotes(seeming));
}

/** Reads formats in which every line is a row of its own. */
async function* readLines(
  blocks: AsyncIterable<LineBlock>,
  readLine: (text: string, line: number) => ManifestEntry,
  comments: string | undefined,
): AsyncGenerator<ManifestEntry[]> {
  for await (const { first, lines, problems } of blocks) {
    let batch: ManifestEntry[] = [];
    for (const [index, text] of lines.entries()) {
      if (isComment(text, comments)) continue;
      const line = first + index;
      const problem = problems.get(line);
      if (problem !== undefined) batch.push({ kind: 'bad', line, problem });
      else if (!isBlank(text)) batch.push(readLine(withoutReturn(text), line));
      if (batch.length === maxBatchRows) {
        yield batch;
        batch = [];
      }
    }
    if (batch.length > 0) yield batch;
  }
}

type TextFormat = 'csv' | 'tsv' | 'json-lines' | 'text';
type Format = TextFormat | 'json' | 'xlsx' | 'parquet';

const formats: Record<string, Format> = {
  '.csv': 'csv',
  '.tsv': 'tsv',
  '.jsonl': 'json-lines',
  '.ndjson': 'json-lines',
  '.txt': 'text',
  '.json': 'json',
  '.xlsx': 'xlsx',
  '.parquet': 'parquet',
};

const endings = Object.keys(formats);

const knownEndings = `${endings.filter((ending) => ending !== '.parquet').join(', ')}, each also with .gz or .zst, and .parquet`;

/** Returns the format by the file's extension, ignoring case, `.gz` and `.zst`. Undefined for an unknown extension. */
function formatOfEnding(path: string): Format | undefined {
  const name = path.toLowerCase().replace(/\.(gz|zst)$/, '');
  const ending = endings.find((known) => name.endsWith(known));
  return ending === undefined ? undefined : formats[ending];
}

/** Number of first bytes that show how lines end, and if standard input is an array. */
const headBytes = 4096;

/** True if the first line ends with a carriage return alone. `head`: one byte more than `headBytes`, or all bytes. */
function endsInReturn(head: Buffer): boolean {
  const text = head.toString('latin1', 0, headBytes + 1);
  const end = text.search(/[\r\n]/);
  return end !== -1 && end < headBytes && text[end] === '\r' && text[end + 1] !== '\n';
}

/** True if the bytes, `headBytes` or all, begin a JSON array of objects. Prompts may begin with brackets. */
function beginsArray(start: Buffer): boolean {
  return /^\s*\[\s*($|[{\]])/.test(start.toString('latin1'));
}

/** True if the bytes begin an object over lines: on standard input only with `{` alone on its line. */
function beginsObject(start: Buffer, isJson: boolean): boolean {
  return (isJson ? /^\s*\{/ : /^\s*\{[ \t]*[\r\n]/).test(start.toString('latin1'));
}

/**
 * Detects the format from the first line that is not blank. `{` begins JSON Lines, a tab means TSV, and a
 * header with a column `id`, `scene` or `prompt` (any case) means CSV. Everything else is plain text, because
 * commas are common in prompts. Some spreadsheet programs write TSV to .txt files, which such a header shows.
 */
function formatOfLines(
  { lines: [line = ''], stated }: Start,
  known: TextFormat | undefined,
  { readsSpreadsheets }: ListReading,
): TextFormat {
  if (known !== undefined && known !== 'text') return known;
  const isTsv = readsSpreadsheets && isHeader(line, '\t') && line.includes('\t');
  if (known === 'text') return isTsv ? 'tsv' : 'text';
  const text = line.trim();
  if (text.startsWith('{')) return 'json-lines';
  if (line.includes('\t')) return 'tsv';
  const isCsv = stated !== undefined || isHeader(text, ',') || (readsSpreadsheets && isHeader(text, ';'));
  return isCsv ? 'csv' : 'text';
}

function isHeader(text: string, delimiter: Delimiter): boolean {
  return text.split(delimiter).some((name) => isKnownColumn(name.trim().replace(/^"(.*)"$/, '$1')));
}

/** Reads the texts of a folder by name, and passes both to `onBytes`. Throws `ManifestError` if none. */
async function readTextFolder(
  path: string,
  onBytes: (bytes: Buffer) => void,
  { encoding }: ListReading,
): Promise<Manifest> {
  const files = await readdir(path).catch((error: unknown) => {
    throw explain(path, error);
  });
  const names = files.filter((file) => /\.txt$/i.test(file)).toSorted();
  if (names.length === 0)
    throw new ManifestError(
      path,
      'is a folder without .txt and .parquet files; for the lists in it, write a pattern such as *.csv behind its name',
    );
  const notes: string[] = [];
  return {
    path,
    columns: ['id', 'prompt'],
    batches: readBatches(path, names, onBytes, encoding, notes),
    notes,
  };
}

/** Number of lines above which a file is probably a list and not one prompt. */
const maxPromptLines = 20;

async function* readBatches(
  path: string,
  names: string[],
  onBytes: (bytes: Buffer) => void,
  encoding: ListReading['encoding'],
  notes: string[],
): AsyncGenerator<ManifestEntry[]> {
  const long: string[] = [];
  for (let start = 0; start < names.length; start += maxBatchRows) {
    const batch: ManifestEntry[] = [];
    for (const [index, name] of names.slice(start, start + maxBatchRows).entries())
      batch.push(await readPrompt(join(path, name), name, start + index + 1, onBytes, encoding, long));
    yield batch;
  }
  const more = long.length > 1 ? ` (and ${(long.length - 1).toLocaleString('en')} more)` : '';
  if (long.length > 0)
    notes.push(
      `each file is one prompt, but ${long[0]}${more} has more than ${maxPromptLines} lines; manifest: ${path}/*.txt makes each line a prompt`,
    );
}

async function readPrompt(
  path: string,
  name: string,
  line: number,
  onBytes: (bytes: Buffer) => void,
  encoding: ListReading['encoding'],
  long: string[],
): Promise<ManifestEntry> {
  const bad = (problem: string): ManifestEntry => ({ kind: 'bad', line, problem: `${name} ${problem}` });
  try {
    if ((await stat(path)).size > maxRowBytes) return bad('is longer than 1 MiB');
    const bytes = await readFile(path);
    onBytes(Buffer.from(`${name}\0`));
    onBytes(bytes);
    const text = await buffer(asUtf8(bytes, Readable.from([bytes]), encoding));
    if (!isUtf8(text)) return bad(notUtf8(text));
    const prompt = text.toString('utf8').trim();
    if (prompt === '') return bad('is empty');
    if (prompt.split('\n').length > maxPromptLines) long.push(name);
    return { kind: 'row', columns: { id: name.replace(/\.txt$/i, ''), prompt }, line };
  } catch (error) {
    if (error instanceof EncodingProblem) return bad(error.message);
    throw explain(path, error);
  }
}

/** Returns the delimiter that a first line such as `sep=;` states, as Excel reads it; undefined for other lines. */
function statedDelimiter(line: string): Delimiter | undefined {
  const [, stated] = /^"?sep=(.)"?\s*$/i.exec(line) ?? [];
  return delimiters.find((delimiter) => delimiter === stated);
}
