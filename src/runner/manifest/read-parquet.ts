/** Reads Parquet: the columns of its schema, and rows in slices, so that a file of any length is never in memory as a whole. */
import {
  parquetMetadataAsync,
  parquetScan,
  parquetSchema,
  type FileMetaData,
  type ParquetScan,
} from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { ManifestError, maxBatchRows, type Manifest, type ManifestEntry } from './manifest.ts';
import { explain } from './open-bytes.ts';
import { readColumns, type ParquetColumn } from './parquet-columns.ts';
import { openParquetFile, type ParquetFile } from './parquet-file.ts';
import { parsers, readRow } from './parquet-values.ts';

/**
 * Throws `ManifestError` for what makes the whole of it unreadable. `onBytes` is told of all bytes before the first row is
 * read.
 */
export async function readParquet(
  path: string,
  onBytes: (bytes: Buffer) => void,
  signal: AbortSignal | undefined,
): Promise<Manifest> {
  const file = await openParquetFile(path, onBytes, signal);
  try {
    const { scan, columns } = await openScan(path, file);
    const names = columns.map(({ name }) => name);
    return { path, columns: names, batches: readRows(path, file, scan, columns, signal) };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function openScan(
  path: string,
  file: ParquetFile,
): Promise<{ scan: ParquetScan; columns: ParquetColumn[] }> {
  // What a geographic column means is told by metadata that no prompt list has.
  const options = { file, parsers, geoparquet: false };
  const metadata = await readable(path, () => parquetMetadataAsync(file, options));
  const { columns, problems } = await readable(path, () => readColumns(parquetSchema(metadata)));
  problems.push(...storageProblems(metadata));
  if (problems.length > 0) throw new ManifestError(path, problems.join('; '));
  const scan = await readable(path, () => parquetScan({ ...options, metadata, compressors }));
  return { scan, columns };
}

/** As much of one column of a row group as is read at a time. */
const maxChunkBytes = 1024 * 1024 * 1024;

function storageProblems({ row_groups: groups }: FileMetaData): string[] {
  const chunks = groups.flatMap((group) => group.columns);
  if (chunks.some((chunk) => chunk.meta_data === undefined || chunk.crypto_metadata !== undefined))
    return ['some of its columns are encrypted, and these are not read'];
  const codecs = new Set(chunks.map(({ meta_data: data }) => data?.codec));
  const unknown = [...codecs].filter(
    (codec) => codec !== 'UNCOMPRESSED' && (codec === undefined || compressors[codec] === undefined),
  );
  const isLarge = chunks.some(({ meta_data: data }) => Number(data?.total_compressed_size) > maxChunkBytes);
  return [
    ...unknown.map(
      (codec) => `it is packed with ${codec ?? 'a codec'}, which is not known; write it with zstd or snappy`,
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

/**
 * Each slice unpacks its row group up to its end, of nested columns all of it: of a large group larger slices are made, so
 * that the work does not grow with the square of its rows.
 */
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

/** The values of each column. */
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

/** The reader trips over damaged bytes in many ways: each of them says the same. */
async function readable<T>(path: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ManifestError || !(error instanceof Error) || error.name === 'AbortError')
      throw error;
    if ('syscall' in error) throw explain(path, error);
    throw new ManifestError(path, `is a Parquet file that is damaged or cut short (${error.message})`);
  }
}
