/** Reads .xlsx in pieces: the stored values of the first sheet that is not hidden. Formulas are not evaluated. */
import { posix } from 'node:path';
import { crc32 } from 'node:zlib';
import sax, { type Tag } from 'sax';
import { fromBufferPromise, type Entry, type ZipFile } from 'yauzl';
import type { ListReading } from '../core/expansion.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import {
  commentNotes,
  isComment,
  type Manifest,
  type ManifestEntry,
  ManifestError,
  maxBatchRows,
  maxRowBytes,
  seemsComment,
} from './manifest.ts';
import { startingWith } from './open-bytes.ts';
import { idOf } from './read-json.ts';
import { readHeader } from './read-table.ts';
import {
  cellName,
  CellText,
  type CellTables,
  type OnElement,
  SheetReader,
  type SheetRow,
} from './sheet-reader.ts';

const maxFileBytes = 64_000_000;
const maxRows = 1_000_000;
/** Limits the text, because many cells can refer to one long text. */
const maxCharacters = 2 ** 30;
const maxColumns = 1_000;
/** Maximum unpacked bytes of a part. Only the sheet is read in pieces. */
const maxPartBytes = { sheet: 2 ** 31, strings: 2 ** 29, other: 2 ** 24 };
/** A part above `smallBytes` may be compressed by the factor `maxRatio` at most. Sheets usually shrink to a tenth. */
const smallBytes = 2 ** 26;
const maxRatio = 200;
const maxStrings = 10_000_000;
const maxDepth = 100;
const maxParts = 10_000;
const asCsv = 'save the list as CSV (UTF-8)';

/** Throws `ManifestError` if the file as a whole is unreadable, and the `AbortError` of `signal`. */
export async function readXlsx(
  path: string,
  bytes: AsyncIterable<Buffer>,
  { header, comments }: ListReading,
  signal: AbortSignal | undefined,
): Promise<Manifest> {
  const book = await openBook(path, await wholeFile(path, bytes), signal);
  const { title, part, tables, notes } = await openSheet(book);
  const reader = new SheetReader(tables);
  const groups = readSheet(book, part, reader);
  const first = await groups.next();
  const [head, ...rest] = first.done === true ? [] : first.value;
  if (head === undefined)
    throw new ManifestError(
      path,
      `has no cells in the sheet ${title}, the first that is not hidden; move the list there`,
    );
  const { line, problem } = head;
  const names = Array.from(head.values, (value = '') => String(value));
  const given = header === undefined ? { values: names, problem } : { values: [...header] };
  const columns = readHeader(path, { line, ...given }, { readsSpreadsheets: true });
  if (columns.length > maxColumns)
    throw new ManifestError(
      path,
      `has ${columns.length.toLocaleString('en')} columns; expected 1,000 at most`,
    );
  const rows = startingWith(header === undefined ? rest : [head, ...rest], groups);
  return { path, columns, batches: readRows(path, rows, columns, comments, reader.merged, notes), notes };
}

async function* readRows(
  path: string,
  groups: AsyncIterable<SheetRow[]>,
  columns: string[],
  comments: string | undefined,
  merged: string[],
  notes: string[],
): AsyncGenerator<ManifestEntry[]> {
  let count = 0;
  let characters = 0;
  const seeming: number[] = [];
  for await (const group of groups) {
    count += group.length;
    const rows = group.filter(({ values: [first] }) => !isComment(String(first ?? ''), comments));
    for (const { line, values } of rows) if (seemsComment(String(values[0] ?? ''))) seeming.push(line);
    if (count > maxRows) throw new ManifestError(path, `has more than 1,000,000 rows; ${asCsv}`);
    for (const { values } of group) for (const value of values) characters += String(value ?? '').length;
    if (characters > maxCharacters) throw new ManifestError(path, `has more than 1 GiB of text; ${asCsv}`);
    for (let start = 0; start < rows.length; start += maxBatchRows)
      yield rows.slice(start, start + maxBatchRows).map((row) => entryOf(row, columns));
  }
  notes.push(...commentNotes(seeming));
  if (merged.length > 0)
    notes.push(
      `merged cells, such as ${merged[0]}, have a value in their first row only; the other rows are empty`,
    );
}

function entryOf({ line, values, problem }: SheetRow, columns: string[]): ManifestEntry {
  const row: JsonObject = {};
  for (const [index, name] of columns.entries()) row[name] = values[index] ?? '';
  const last = values.length - 1;
  if (problem === undefined && last < columns.length) return { kind: 'row', columns: row, line };
  const beyond = `has a value in ${cellName(last, line)}, which is beyond the header`;
  return { kind: 'bad', line, problem: problem ?? beyond, ...idOf(row) };
}

async function* readSheet(book: Book, part: string, reader: SheetReader): AsyncGenerator<SheetRow[]> {
  for await (const _ of parse(book, part, maxPartBytes.sheet, reader.onElement)) {
    const rows = reader.take();
    if (rows.length > 0) yield rows;
  }
}

async function wholeFile(path: string, bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of bytes) {
    size += piece.length;
    if (size > maxFileBytes) throw new ManifestError(path, `is larger than 64 MB; ${asCsv}`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

interface Book {
  path: string;
  zip: ZipFile;
  /** Parts by their names in lower case, because case does not distinguish names. */
  parts: Map<string, Entry>;
  signal: AbortSignal | undefined;
}

async function openBook(path: string, bytes: Buffer, signal: AbortSignal | undefined): Promise<Book> {
  if (bytes.length === 0) throw new ManifestError(path, 'is empty');
  if (bytes.toString('hex', 0, 4) === 'd0cf11e0') throw new ManifestError(path, protectedOrOld);
  if (bytes.toString('latin1', 0, 2) !== 'PK') throw new ManifestError(path, noWorkbook);
  try {
    const zip = await fromBufferPromise(bytes);
    if (zip.entryCount > maxParts) throw new Error(`${zip.entryCount} parts`);
    const parts = new Map<string, Entry>();
    for await (const entry of zip.eachEntry()) parts.set(entry.fileName.toLowerCase(), entry);
    return { path, zip, parts, signal };
  } catch (error) {
    throw damaged(path, error);
  }
}

const noWorkbook = 'is not a workbook, despite its name; give the file its right ending, such as .csv';
const protectedOrOld =
  'is protected by a password, or is an old .xls file; save it as .xlsx without a password';

function damaged(path: string, error: unknown): unknown {
  if (error instanceof ManifestError || !(error instanceof Error) || error.name === 'AbortError')
    return error;
  return new ManifestError(path, `is a .xlsx file that is damaged or truncated (${error.message})`);
}

/** Finds the first worksheet that is not hidden, and reads the tables that its cells refer to. */
async function openSheet(
  book: Book,
): Promise<{ title: string; part: string; tables: CellTables; notes: string[] }> {
  const main = (await relationsOf(book, '')).find(({ type }) => type === 'officeDocument')?.part;
  const relations = main === undefined ? [] : await relationsOf(book, main);
  const sheets: { title: string; part: string; state: string }[] = [];
  let dayZero = Date.UTC(1899, 11, 30);
  await readPart(book, main, maxPartBytes.other, (name, attributes) => {
    const { name: title = '', state = 'visible', date1904 = '0' } = attributes;
    if (['1', 'true'].includes(date1904)) dayZero = Date.UTC(1904, 0, 1);
    const id = Object.entries(attributes).find(([key]) => key.endsWith(':id'))?.[1];
    // Sheets of charts have no cells.
    const found = relations.find((relation) => relation.id === id && relation.type === 'worksheet');
    if (name === 'sheet' && found !== undefined) sheets.push({ title, part: found.part, state });
  });
  const sheet = sheets.find(({ state }) => state === 'visible') ?? sheets[0];
  if (sheet === undefined)
    throw new ManifestError(book.path, `is a zip file without a sheet of a workbook; ${asCsv}`);
  const partOf = (wanted: string): string | undefined => relations.find(({ type }) => type === wanted)?.part;
  const strings = await readStrings(book, partOf('sharedStrings'));
  const isDate = await readStyles(book, partOf('styles'));
  const note = `the sheet ${JSON.stringify(sheet.title)} is read, one of ${sheets.length}`;
  const notes = sheets.length > 1 ? [note] : [];
  return {
    title: JSON.stringify(sheet.title),
    part: sheet.part,
    tables: { strings, isDate, dayZero },
    notes,
  };
}

/** Reads the relations of a part, each type by its last word. `''` stands for the file itself. */
async function relationsOf(book: Book, part: string): Promise<{ id: string; type: string; part: string }[]> {
  const folder = posix.dirname(part);
  const file = posix.join(folder, '_rels', `${posix.basename(part)}.rels`);
  const relations: { id: string; type: string; part: string }[] = [];
  if (!book.parts.has(file.toLowerCase())) return relations;
  await readPart(
    book,
    file,
    maxPartBytes.other,
    (_, { Id: id = '', Type: type = '', Target: target = '' }) => {
      const place = target.startsWith('/') ? target.slice(1) : posix.join(folder, target);
      relations.push({ id, type: posix.basename(type), part: place });
    },
  );
  return relations;
}

async function readStrings(book: Book, part: string | undefined): Promise<string[]> {
  const strings: string[] = [];
  const run = new CellText();
  await readPart(book, part, maxPartBytes.strings, (name, _, text) => {
    run.addElement(name, text);
    if (name !== 'si') return;
    if (strings.length === maxStrings) throw new Error('more than 10,000,000 texts');
    // The copy lets go of the longer text that the piece would keep in memory.
    strings.push(Buffer.from(run.take()).toString());
  });
  return strings;
}

/** Returns true for each cell style that shows a number as a date or a time. */
async function readStyles(book: Book, part: string | undefined): Promise<boolean[]> {
  const codes = new Map<string, string>();
  const styles: boolean[] = [];
  await readPart(book, part, maxPartBytes.other, (name, { numFmtId: id = '0', formatCode = '' }) => {
    // Differential formats come later, and may repeat a number.
    if (name === 'numFmt' && !codes.has(id)) codes.set(id, formatCode);
    if (name === 'xf') styles.push(isDateFormat(Number(id), codes.get(id)));
    // Cells refer to the list that comes after this one.
    if (name === 'cellStyleXfs') styles.length = 0;
  });
  return styles;
}

/** True for a date format, by its section for positive numbers or its number (ECMA-376, part 1, 18.8.30). */
function isDateFormat(id: number, code: string | undefined): boolean {
  if (code !== undefined) return /^[^;]*[ymdhs]/i.test(code.replaceAll(/"[^"]*"|[\\_*].|\[[^\]]*\]/g, ''));
  return [
    [14, 22],
    [27, 36],
    [45, 47],
    [50, 58],
  ].some(([from = 0, to = 0]) => id >= from && id <= to);
}

async function readPart(
  book: Book,
  part: string | undefined,
  maxBytes: number,
  onElement: OnElement,
): Promise<void> {
  if (part !== undefined) for await (const _ of parse(book, part, maxBytes, onElement));
}

/** Calls `onElement` for the elements of a part, and yields after each piece of it. */
async function* parse(
  { path, zip, parts, signal }: Book,
  part: string,
  maxBytes: number,
  onElement: OnElement,
): AsyncGenerator<void> {
  try {
    const entry = parts.get(part.toLowerCase());
    if (entry === undefined) throw new Error(`${part} is missing`);
    // yauzl refuses a part that unpacks to more than it declares.
    const { compressedSize, uncompressedSize } = entry;
    if (uncompressedSize > Math.min(maxBytes, smallBytes + maxRatio * compressedSize))
      throw new ManifestError(path, `unpacks to ${uncompressedSize} bytes in ${part}; ${asCsv}`);
    const open: Tag['attributes'][] = [];
    let text = '';
    let textBytes = 0;
    const addText = (piece: string): void => void (text += piece);
    const xml = Object.assign(sax.parser(true, { position: false }), {
      onopentag: ({ attributes }: Tag) => {
        if (open.push(attributes) > maxDepth) throw new Error(`${maxDepth} levels`);
        text = '';
        textBytes = 0;
      },
      ontext: addText,
      oncdata: addText,
      onclosetag: (name: string) => {
        onElement(name.slice(name.indexOf(':') + 1), open.pop() ?? {}, text);
        text = '';
      },
      onerror: (error: Error) => {
        throw error;
      },
    });
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let sum = 0;
    for await (const piece of (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>) {
      signal?.throwIfAborted();
      sum = crc32(piece, sum);
      textBytes += piece.length;
      if (textBytes > 4 * maxRowBytes) throw new Error(`a text of more than 4 MiB in ${part}`);
      xml.write(decoder.decode(piece, { stream: true }));
      yield;
    }
    if (sum !== entry.crc32) throw new Error(`${part} has the wrong checksum`);
    xml.write(decoder.decode()).close();
    yield;
  } catch (error) {
    throw damaged(path, error);
  }
}
