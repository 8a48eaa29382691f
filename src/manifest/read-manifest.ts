/** Opens a manifest of any format and reads its rows as a stream. */
import { extname } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { formatOfEnding, formatOfFirstLine, knownEndings, type Format } from './detect-format.ts';
import { ManifestError, type Manifest } from './manifest.ts';
import { assertReadable, openFile, plainBytes } from './open-bytes.ts';
import { readJsonLine } from './read-json-line.ts';
import { readLines } from './read-lines.ts';
import { readTable } from './read-table.ts';
import { readTextLine } from './read-text-line.ts';
import { isBlank, splitLines, type LineBlock } from './split-lines.ts';

export { ManifestError } from './manifest.ts';
export interface ManifestOptions {
  source?: Readable;
  signal?: AbortSignal;
  onBytes?: (bytes: Buffer) => void;
}

export type { Manifest, ManifestEntry } from './manifest.ts';

/**
 * Opens the file at `path`, or `source` where `path` is `-`; gzip is recognised by its first bytes.
 * The format of a file is told by its ending, that of standard input by its first line.
 * Throws `ManifestError` for what makes the whole of it unreadable, and where `signal` aborts an `AbortError`, also
 * while nothing comes. `onBytes` is told of the bytes as they lie there, packed or not.
 */
export async function openManifest(
  path: string,
  { source, signal, onBytes = () => undefined }: ManifestOptions = {},
): Promise<Manifest> {
  if (source !== undefined) return readFrom(abortable(source, signal), 'standard input', onBytes);
  await assertReadable(path);
  const format = formatOfEnding(path);
  if (format === undefined) throw unknownEnding(path);
  return readFrom(abortable(await openFile(path), signal), path, onBytes, format);
}

function abortable(stream: Readable, signal: AbortSignal | undefined): Readable {
  return signal === undefined ? stream : addAbortSignal(signal, stream);
}

function unknownEnding(path: string): ManifestError {
  const ending = extname(path);
  const found = ending === '' ? 'it has no ending' : `the ending ${ending} is not known`;
  return new ManifestError(
    path,
    `cannot tell the format: ${found}; known are ${knownEndings.join(', ')}, each also with .gz`,
  );
}

async function readFrom(
  stream: Readable,
  path: string,
  onBytes: (bytes: Buffer) => void,
  known?: Format,
): Promise<Manifest> {
  try {
    const { firstLine, blocks } = await startReading(path, await plainBytes(path, stream, onBytes));
    const format = known ?? formatOfFirstLine(firstLine);
    if (format === 'json-lines')
      return { path, columns: undefined, batches: readLines(blocks, readJsonLine) };
    if (format === 'text') return { path, columns: ['prompt'], batches: readLines(blocks, readTextLine) };
    return { path, ...(await readTable(path, blocks, format)) };
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

/** Reads up to the first line that says anything, so that the format can be told from it. */
async function startReading(
  shown: string,
  bytes: AsyncIterable<Buffer>,
): Promise<{ firstLine: string; blocks: AsyncIterable<LineBlock> }> {
  const blocks = splitLines(bytes);
  for (;;) {
    const next = await blocks.next();
    if (next.done === true) throw new ManifestError(shown, 'is empty');
    const block = next.value;
    const index = block.lines.findIndex((line, at) => !isBlank(line) || block.problems.has(block.first + at));
    // The blocks before this one held nothing but blank lines, which no format counts as rows.
    if (index !== -1) return { firstLine: block.lines[index] ?? '', blocks: startingWith(block, blocks) };
  }
}

async function* startingWith<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first;
  yield* rest;
}
