/** The bytes of a Parquet file, which are read here and there, and told in order as those of any manifest. */
import { open, stat, type FileHandle } from 'node:fs/promises';
import type { AsyncBuffer } from 'hyparquet';
import { ManifestError } from './manifest.ts';
import { explain } from './open-bytes.ts';

export interface ParquetFile extends AsyncBuffer {
  /** Throws `ManifestError` where the file is another than it was when it was opened. */
  assertUnchanged(): Promise<void>;
  close(): Promise<void>;
}

const chunkBytes = 1024 * 1024;

/** Throws `ManifestError` where the file is none or not whole, and the `AbortError` of `signal`. */
export async function openParquetFile(
  path: string,
  onBytes: (bytes: Buffer) => void,
  signal: AbortSignal | undefined,
): Promise<ParquetFile> {
  let handle: FileHandle | undefined;
  try {
    // A pipe would be waited for, and could not be read here and there.
    if (!(await stat(path)).isFile())
      throw new ManifestError(path, 'is no file of its own; Parquet cannot be read from a pipe');
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
    slice: (start, end = size) => readSlice(path, handle, start, end),
    assertUnchanged: async () => {
      const now = await handle.stat();
      if (now.size !== size || now.mtimeMs !== mtimeMs)
        throw new ManifestError(path, 'was changed while it was read; start again');
    },
    close: () => handle.close(),
  };
}

async function readSlice(path: string, handle: FileHandle, start: number, end: number): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(Math.max(0, end - start));
  for (let filled = 0; filled < bytes.length;) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, start + filled);
    if (bytesRead === 0) throw new ManifestError(path, cutShort);
    filled += bytesRead;
  }
  return bytes.buffer;
}

const cutShort = 'is a Parquet file that is damaged or cut short';

/** By the letters at both ends. */
async function assertWhole(path: string, handle: FileHandle, size: number): Promise<void> {
  const first = size < 4 ? '' : await letters(path, handle, 0);
  const last = size < 12 ? '' : await letters(path, handle, size - 4);
  if (first === 'PARE' || last === 'PARE')
    throw new ManifestError(path, 'is an encrypted Parquet file, which is not read');
  if (first !== 'PAR1')
    throw new ManifestError(
      path,
      'is no Parquet file (it does not begin with PAR1, as one does that is not packed)',
    );
  if (last !== 'PAR1') throw new ManifestError(path, `${cutShort} (it does not end with PAR1)`);
}

async function letters(path: string, handle: FileHandle, at: number): Promise<string> {
  return Buffer.from(await readSlice(path, handle, at, at + 4)).toString('latin1');
}

async function reportBytes(
  handle: FileHandle,
  onBytes: (bytes: Buffer) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const options = { start: 0, autoClose: false, highWaterMark: chunkBytes, ...(signal && { signal }) };
  for await (const chunk of handle.createReadStream(options)) onBytes(chunk as Buffer);
}
