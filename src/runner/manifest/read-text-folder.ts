/** Reads a folder of `.txt` files: each is a prompt, and its name the id. */
import { isUtf8 } from 'node:buffer';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { asUtf8, EncodingProblem, notUtf8 } from './encodings.ts';
import type { ListReading } from '../core/list-reading.ts';
import { ManifestError, maxBatchRows, maxRowBytes, type Manifest, type ManifestEntry } from './manifest.ts';
import { explain } from './open-bytes.ts';

/** In the order of their names; `onBytes` is told of names and texts. Throws `ManifestError` where there is none. */
export async function readTextFolder(
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

/** Most prompts are shorter, and most lists longer. */
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
