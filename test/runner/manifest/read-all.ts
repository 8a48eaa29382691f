/** Reads whole manifests for tests, from a file in a temporary folder or from a stream in given chunks. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  ManifestError,
  openManifest,
  type Manifest,
  type ManifestEntry,
} from '../../../src/runner/manifest/read-manifest.ts';

export interface ReadManifest {
  columns: string[] | undefined;
  entries: ManifestEntry[];
}

export async function withFile<T>(
  name: string,
  content: string | Uint8Array,
  use: (path: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'manifest-'));
  try {
    const path = join(folder, name);
    await writeFile(path, content);
    return await use(path);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Reads a file with this name and content. */
export function readFileOf(name: string, content: string | Uint8Array): Promise<ReadManifest> {
  return withFile(name, content, async (path) => collect(await openManifest(path)));
}

/** Reads these chunks from standard input. */
export async function readStream(...pieces: (string | Uint8Array)[]): Promise<ReadManifest> {
  return collect(
    await openManifest('-', { source: Readable.from(pieces.map((piece) => Buffer.from(piece))) }),
  );
}

/** Returns the values of good rows, and bad rows as `line: problem`. */
export function shown({ entries }: ReadManifest): unknown[] {
  return entries.map((entry) => (entry.kind === 'row' ? entry.columns : `${entry.line}: ${entry.problem}`));
}

export function badRows({ entries }: ReadManifest): ManifestEntry[] {
  return entries.filter((entry) => entry.kind === 'bad');
}

/** Returns the message of the error without the temporary folder. */
export async function complaint(reading: Promise<unknown>): Promise<string> {
  const error: unknown = await reading.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ManifestError)) throw new Error('no ManifestError', { cause: error });
  return error.message.replace(/^.*manifest-[^/]+\//, '');
}

export async function collect({ columns, batches }: Manifest): Promise<ReadManifest> {
  const entries: ManifestEntry[] = [];
  for await (const batch of batches) {
    if (batch.length > 1000) throw new Error(`a batch of ${batch.length}`);
    for (const entry of batch) entries.push(entry);
  }
  return { columns, entries };
}
