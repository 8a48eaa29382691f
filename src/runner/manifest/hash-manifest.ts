/** Tells whether a manifest is the one that was read before, without reading what it says. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';

const chunkBytes = 1024 * 1024;

/**
 * The sha256 of the file's bytes; undefined where it is none that can be read twice. Throws the `AbortError` of `signal`,
 * and the system's errors.
 */
export async function hashManifest(path: string, signal: AbortSignal): Promise<string | undefined> {
  if (!(await stat(path)).isFile()) return undefined;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes, signal }))
    hash.update(chunk as Buffer);
  return hash.digest('hex');
}
