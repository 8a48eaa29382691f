/** Reads Parquet: columns of its schema, and rows in slices, so that the file is never in memory as a whole. Values become JSON exactly, or not at all. */
import { isUtf8 } from 'node:buffer';
import { open, stat, type FileHandle } from 'node:fs/promises';
import {
  parquetMetadataAsync,
  parquetScan,
  parquetSchema,
  type FileMetaData,
  type ParquetScan,
  type AsyncBuffer,
  type ParquetParsers,
  type SchemaTree,
  type SchemaElement,
} from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { whyNotKept, isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { ManifestError, maxBatchRows, maxRowBytes, type Manifest, type ManifestEntry } from './manifest.ts';
import { explain } from './open-bytes.ts';
import { idOf } from './read-json.ts';

/** Passes all bytes to `onBytes` before the first row. Throws `ManifestError` if the file is unreadable. */
export async function readParquet(
  path: string,
  onBytes: (bytes: Buffer) => void,
  signal: AbortSignal | undefined,
): Promise<Manifest> {
  const file = await openParquetFile(path, onBytes, signal);
  try {
    const { scan, columns } = await openScan(path, file);
    const names = columns.map(({ name }) => name);
    return { path, columns: names, batches: readRows(path, file, scan, columns, signal), notes: [] };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function openScan(
  path: string,
  file: ParquetFile,
): Promise<{ scan: ParquetScan; columns: ParquetColumn[] }> {
  // Geographic columns need metadata that no list of prompts has.
  const options = { file, parsers, geoparquet: false };
  const metadata = await readable(path, () => parquetMetadataAsync(file, options));
  const { columns, problems } = await readable(path, () => readColumns(parquetSchema(metadata)));
  problems.push(...storageProblems(metadata));
  if (problems.length > 0) throw new ManifestError(path, problems.join('; '));
  const scan = await readable(path, () => parquetScan({ ...options, metadata, compressors }));
  return { scan, columns };
}

/** Maximum bytes of one column of a row group, which are read at once. */
const maxChunkBytes = 1024 * 1024 * 1024;

function storageProblems({ row_groups: groups }: FileMetaData): string[] {
  const chunks = groups.flatMap((group) => group.columns);
  if (chunks.some((chunk) => chunk.meta_data === undefined || chunk.crypto_metadata !== undefined))
    return ['some of its columns are encrypted, which is not supported'];
  const codecs = new Set(chunks.map(({ meta_data: data }) => data?.codec));
  const unknown = [...codecs].filter(
    (codec) => codec !== 'UNCOMPRESSED' && (codec === undefined || compressors[codec] === undefined),
  );
  const isLarge = chunks.some(({ meta_data: data }) => Number(data?.total_compressed_size) > maxChunkBytes);
  return [
    ...unknown.map(
      (codec) =>
        `it is compressed with ${codec ?? 'an unknown codec'}, which is not supported; write it with zstd or snappy`,
    ),
    ...(isLarge
      ? ['a row group holds more than 1 GiB in one column; write the file with smaller row groups']
      : []),
  ];
}

async function* readRows(
  path: string,
  file: ParquetFile,
  scan: ParquetScan,
  columns: ParquetColumn[],
  signal: AbortSignal | undefined,
): AsyncGenerator<ManifestEntry[]> {
  try {
    const hasNested = columns.some(({ isNested }) => isNested);
    for (const { rowStart: from, rowEnd: to } of slices(scan.ranges, hasNested)) {
      signal?.throwIfAborted();
      const values = await readable(path, () => readSlice(scan, columns, from, to));
      for (let start = from; start < to; start += maxBatchRows) {
        const length = Math.min(maxBatchRows, to - start);
        yield Array.from({ length }, (_, index) =>
          readRow(
            columns,
            values.map((column) => column[start - from + index]),
            start + index + 1,
          ),
        );
      }
    }
    await file.assertUnchanged();
  } finally {
    await file.close();
  }
}

const sliceRows = 10_000;

/** Divides the rows. A slice unpacks its row group up to its end, so large groups get larger slices. */
function* slices(
  groups: ParquetScan['ranges'],
  hasNested: boolean,
): Generator<{ rowStart: number; rowEnd: number }> {
  for (const group of groups) {
    const rows = group.rowEnd - group.rowStart;
    const size = Math.max(sliceRows, Math.ceil(rows / (hasNested ? 8 : 64)));
    for (let rowStart = group.rowStart; rowStart < group.rowEnd; rowStart += size)
      yield { rowStart, rowEnd: Math.min(rowStart + size, group.rowEnd) };
  }
}

async function readSlice(
  scan: ParquetScan,
  columns: ParquetColumn[],
  rowStart: number,
  rowEnd: number,
): Promise<ArrayLike<unknown>[]> {
  const read: ArrayLike<unknown>[] = [];
  for (const { name } of columns) {
    const values = await scan.readColumn({ column: name, rowStart, rowEnd });
    if (values.length !== rowEnd - rowStart)
      throw new Error(`${values.length} values in rows ${rowStart + 1} to ${rowEnd} of the column ${name}`);
    read.push(values);
  }
  return read;
}

/**
 * Returns the result of `work`. Damaged bytes make the reader fail in many ways, which all become the same
 * `ManifestError`. Throws the `AbortError` unchanged.
 */
async function readable<T>(path: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ManifestError || !(error instanceof Error) || error.name === 'AbortError')
      throw error;
    if ('syscall' in error) throw explain(path, error);
    throw new ManifestError(path, `is a Parquet file that is damaged or truncated (${error.message})`);
  }
}

interface ParquetFile extends AsyncBuffer {
  /** Throws `ManifestError` if the file has changed since it was opened. */
  assertUnchanged(): Promise<void>;
  close(): Promise<void>;
}

const chunkBytes = 1024 * 1024;

/** Throws `ManifestError` if the file is not Parquet or not complete, and the `AbortError` of `signal`. */
async function openParquetFile(
  path: string,
  onBytes: (bytes: Buffer) => void,
  signal: AbortSignal | undefined,
): Promise<ParquetFile> {
  let handle: FileHandle | undefined;
  try {
    // Opening a pipe would block, and a pipe cannot be read at arbitrary positions.
    if (!(await stat(path)).isFile())
      throw new ManifestError(path, 'is not a regular file; Parquet cannot be read from a pipe');
    handle = await open(path);
    const stats = await handle.stat();
    if (stats.size === 0) throw new ManifestError(path, 'is empty');
    await assertWhole(path, handle, stats.size);
    await reportBytes(handle, onBytes, signal);
    return parquetFile(path, handle, stats);
  } catch (error) {
    await handle?.close();
    throw explain(path, error);
  }
}

function parquetFile(
  path: string,
  handle: FileHandle,
  { size, mtimeMs }: { size: number; mtimeMs: number },
): ParquetFile {
  return {
    byteLength: size,
    slice: (start, end = size) => readBytes(path, handle, start, end),
    assertUnchanged: async () => {
      const now = await handle.stat();
      if (now.size !== size || now.mtimeMs !== mtimeMs)
        throw new ManifestError(path, 'changed while it was read; start again');
    },
    close: () => handle.close(),
  };
}

async function readBytes(path: string, handle: FileHandle, start: number, end: number): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(Math.max(0, end - start));
  for (let filled = 0; filled < bytes.length;) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, start + filled);
    if (bytesRead === 0) throw new ManifestError(path, cutShort);
    filled += bytesRead;
  }
  return bytes.buffer;
}

const cutShort = 'is a Parquet file that is damaged or truncated';

/** Checks the letters at both ends of the file. */
async function assertWhole(path: string, handle: FileHandle, size: number): Promise<void> {
  const first = size < 4 ? '' : await letters(path, handle, 0);
  const last = size < 12 ? '' : await letters(path, handle, size - 4);
  if (first === 'PARE' || last === 'PARE')
    throw new ManifestError(path, 'is an encrypted Parquet file, which is not supported');
  if (first !== 'PAR1')
    throw new ManifestError(
      path,
      'is not a Parquet file (it does not begin with PAR1; a compressed file must be decompressed first)',
    );
  if (last !== 'PAR1') throw new ManifestError(path, `${cutShort} (it does not end with PAR1)`);
}

async function letters(path: string, handle: FileHandle, at: number): Promise<string> {
  return Buffer.from(await readBytes(path, handle, at, at + 4)).toString('latin1');
}

async function reportBytes(
  handle: FileHandle,
  onBytes: (bytes: Buffer) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const options = { start: 0, autoClose: false, highWaterMark: chunkBytes, ...(signal && { signal }) };
  for await (const chunk of handle.createReadStream(options)) onBytes(chunk as Buffer);
}

function readColumns(root: SchemaTree): { columns: ParquetColumn[]; problems: string[] } {
  const names = root.children.map(({ element }) => element.name);
  const problems = [
    ...names.flatMap((name, index) => (name === '' ? [`column ${index + 1} has no name`] : [])),
    ...new Set(names.filter((name, index) => names.indexOf(name) !== index).map(twice)),
    ...root.children.flatMap((tree) => problemsOf(tree)),
  ];
  const columns = root.children.map(({ element, children }) => ({
    name: element.name,
    scale: element.converted_type === 'DECIMAL' ? (element.scale ?? 0) : undefined,
    isNested: children.length > 0 || element.repetition_type === 'REPEATED',
  }));
  return { columns, problems };
}

function twice(name: string): string {
  return `two columns are called ${JSON.stringify(name)}`;
}

function problemsOf(tree: SchemaTree): string[] {
  const { element, children, path } = tree;
  const problem = element.name === '__proto__' ? 'has a reserved name' : whyUnfit(tree);
  if (problem !== undefined) return [`the column ${JSON.stringify(path.join('.'))} ${problem}`];
  return children.flatMap((child) => problemsOf(child));
}

function whyUnfit({ element, children, path }: SchemaTree): string | undefined {
  const annotation = annotationOf(element);
  if (children.length > 0) {
    const isPlain = annotation === undefined || annotation === 'LIST';
    return isPlain ? undefined : `is of the type ${annotation}, which is not supported; ${advice}`;
  }
  const known = (element.type && kinds[element.type]) ?? [];
  if (!known.includes(annotation)) {
    const isBytes = annotation === undefined && element.type?.endsWith('BYTE_ARRAY') === true;
    return isBytes
      ? `holds bytes, and only text can be sent; ${advice}`
      : `is of the type ${annotation ?? element.type}, which is not supported; ${advice}`;
  }
  if (annotation !== 'DECIMAL' || (path.length === 1 && (element.precision ?? 99) <= maxDigits))
    return undefined;
  return `holds decimals that would lose digits; write them as text or leave the column out of the file`;
}

const advice = 'write it as text or leave it out of the file';

/** Maximum digits of a decimal. Decimals with more digits are not distinct as numbers. */
const maxDigits = 15;

/** Annotations that are supported for each physical type. */
const kinds: Record<string, (string | undefined)[]> = {
  BOOLEAN: [undefined, 'NULL'],
  INT32: [undefined, 'NULL', 'INTEGER', 'DATE', 'DECIMAL'],
  INT64: [undefined, 'NULL', 'INTEGER', 'TIMESTAMP', 'DECIMAL'],
  INT96: [undefined],
  FLOAT: [undefined, 'NULL'],
  DOUBLE: [undefined, 'NULL'],
  BYTE_ARRAY: ['STRING', 'ENUM', 'JSON', 'NULL', 'DECIMAL'],
  FIXED_LEN_BYTE_ARRAY: ['UUID', 'FLOAT16', 'DECIMAL'],
};

/** Returns the annotation of a column. The older form takes precedence, as in other readers. */
function annotationOf({
  converted_type: converted,
  logical_type: logical,
}: SchemaElement): string | undefined {
  if (converted === undefined) {
    // For these the reader knows only the older form, and would return the underlying bytes.
    const isMisread = ['DECIMAL', 'DATE', 'JSON'].includes(logical?.type ?? '');
    return isMisread ? `${logical?.type} without a converted type` : logical?.type;
  }
  if (/^U?INT_\d+$/.test(converted)) return 'INTEGER';
  if (converted.startsWith('TIMESTAMP_')) return 'TIMESTAMP';
  return converted === 'UTF8' ? 'STRING' : converted;
}

/** A value that JSON cannot represent. `problem` follows the name of the column. */
class Unfit {
  readonly problem: string;

  constructor(problem: string) {
    this.problem = problem;
  }
}

/** Parsers of texts, dates and JSON. A problem in a row affects only that row. */
const parsers: Partial<ParquetParsers> = {
  stringFromBytes: (bytes: Uint8Array | undefined) => bytes && textOf(bytes),
  jsonFromBytes: (bytes: Uint8Array | undefined) => bytes && parsedJson(textOf(bytes)),
  dateFromDays: (days: number) => dayOf(isoText(BigInt(days) * 86_400_000n)),
  timestampFromMilliseconds: (at: bigint) => isoText(at),
  timestampFromMicroseconds: (at: bigint) => finer(at, 1_000n),
  timestampFromNanoseconds: (at: bigint) => finer(at, 1_000_000n),
};

/** Builds a row from one value per column. `number`: of the row, 1-based. */
export function readRow(columns: ParquetColumn[], values: unknown[], number: number): ManifestEntry {
  const row: JsonObject = {};
  const size = { bytes: 0 };
  const problems: string[] = [];
  for (const [index, { name, scale }] of columns.entries()) {
    const value = jsonOf(values[index], size);
    if (value instanceof Unfit) problems.push(`the column ${JSON.stringify(name)} ${value.problem}`);
    else row[name] = scale !== undefined && typeof value === 'number' ? Number(value.toFixed(scale)) : value;
  }
  if (size.bytes > maxRowBytes) problems.push('is longer than 1 MiB');
  if (problems.length === 0) return { kind: 'row', columns: row, line: number };
  return { kind: 'bad', line: number, problem: problems.join('; '), ...idOf(row) };
}

function jsonOf(value: unknown, size: { bytes: number }): JsonValue | Unfit {
  if (value === null || value === undefined) return null;
  size.bytes += typeof value === 'string' ? Buffer.byteLength(value) : 8;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return wholeNumber(value);
  if (typeof value !== 'number') return composed(value, size);
  return Number.isFinite(value) ? value : new Unfit(`holds ${value}, which JSON cannot represent`);
}

function composed(value: unknown, size: { bytes: number }): JsonValue | Unfit {
  if (value instanceof Unfit) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => jsonOf(item, size));
    const unfit = items.find((item) => item instanceof Unfit);
    return unfit ?? (items as JsonValue[]);
  }
  if (!isJsonObject(value) || ArrayBuffer.isView(value))
    throw new Error('a value of a type that was not let in');
  const entries: [string, JsonValue][] = [];
  for (const [key, inner] of Object.entries(value)) {
    const read = jsonOf(inner, size);
    if (read instanceof Unfit) return read;
    size.bytes += key.length;
    entries.push([key, read]);
  }
  // Assigning the key __proto__ would lose it.
  return Object.fromEntries(entries);
}

function wholeNumber(value: bigint): number | Unfit {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  return new Unfit(`holds ${value}, which would lose digits; write the column as text`);
}

function textOf(bytes: Uint8Array): string | Unfit {
  return isUtf8(bytes) ? Buffer.from(bytes).toString() : new Unfit('is not valid UTF-8');
}

function parsedJson(text: string | Unfit): unknown {
  if (text instanceof Unfit) return text;
  try {
    const value: unknown = JSON.parse(text);
    const problem = whyNotKept(text);
    return problem === undefined ? value : new Unfit(problem);
  } catch (error) {
    return new Unfit(`is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function isoText(ms: bigint): string | Unfit {
  const date = new Date(Number(ms));
  return Number.isNaN(date.getTime()) ? new Unfit('holds a date out of range') : date.toISOString();
}

function dayOf(text: string | Unfit): string | Unfit {
  return text instanceof Unfit ? text : text.replace(/T.*/, '');
}

/** Returns a time in UTC from a finer unit, without losing digits. */
function finer(at: bigint, perMs: bigint): string | Unfit {
  const rest = ((at % perMs) + perMs) % perMs;
  const text = isoText((at - rest) / perMs);
  if (text instanceof Unfit || rest === 0n) return text;
  const digits = String(rest).padStart(String(perMs).length - 1, '0');
  return text.replace('Z', `${digits}Z`);
}

interface ParquetColumn {
  name: string;
  /** Digits after the decimal point, if the values are decimals. */
  scale: number | undefined;
  /** True for lists and structs, for which even a few rows unpack the whole row group. */
  isNested: boolean;
}
