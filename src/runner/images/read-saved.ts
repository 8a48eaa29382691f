/** Reads a saved picture from the disk. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isSystemError } from '../files/disk-failure.ts';

/** Undefined where it cannot be read, or is not what was saved: what is made of another would pass for made of this one. */
export async function readSaved(path: string, sha256: string): Promise<Buffer | undefined> {
  try {
    const png = await readFile(path);
    return createHash('sha256').update(png).digest('hex') === sha256 ? png : undefined;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return undefined;
  }
}
