/** Reads a folder of `.txt` files: each is a prompt, and its name the id. */
import { isUtf8 } from 'node:buffer';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ManifestError,
  maxBatchRows,
  maxRowBytes,
  type Manifest,
  type ManifestEntry,
  notUtf8,
} from './manifest.ts';
import { explain } from './open-bytes.ts';

/** In the order of their names; `onBytes` is told of names and texts. Throws `ManifestError` where there is none. */
export async function readTextFolder(path: string, onBytes: (bytes: Buffer) => void): Promise<Manifest> {
  const files = await readdir(path).catch((error: unknown) => {
    throw explain(path, error);
  });
  const names = files.filter((file) => /\.txt$/i.test(file)).toSorted();
  if (names.length === 0)
    throw new ManifestError(
      path,
      'is a folder without .txt files; expected a list, or a folder with a .txt a prompt',
    );
  return { path, columns: ['id', 'prompt'], batches: readBatches(path, names, onBytes) };
}

async function* readBatches(
  path: string,
  names: string[],
  onBytes: (bytes: Buffer) => void,
): AsyncGenerator<ManifestEntry[]> {
  for (let start = 0; start < names.length; start += maxBatchRows) {
    const batch: ManifestEntry[] = [];
    for (const [index, name] of names.slice(start, start + maxBatchRows).entries())
      batch.push(await readPrompt(join(path, name), name, start + index + 1, onBytes));
    yield batch;
  }
}

async function readPrompt(
  path: string,
  name: string,
  line: number,
  onBytes: (bytes: Buffer) => void,
): Promise<ManifestEntry> {
  const bad = (problem: string): ManifestEntry => ({ kind: 'bad', line, problem: `${name} ${problem}` });
  try {
    if ((await stat(path)).size > maxRowBytes) return bad('is longer than 1 MiB');
    const bytes = await readFile(path);
    onBytes(Buffer.from(`${name}\0`));
    onBytes(bytes);
    if (!isUtf8(bytes)) return bad(notUtf8);
    const prompt = bytes
      .toString('utf8')
      .replace(/^\uFEFF/, '')
      .trim();
    if (prompt === '') return bad('is empty');
    return { kind: 'row', columns: { id: name.replace(/\.txt$/i, ''), prompt }, line };
  } catch (error) {
    throw explain(path, error);
  }
}
