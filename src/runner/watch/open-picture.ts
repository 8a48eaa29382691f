/** Opens a picture in a folder, and nothing that is none or lies elsewhere. */
import { constants, type Stats } from 'node:fs';
import { open, realpath, type FileHandle } from 'node:fs/promises';
import { join, sep } from 'node:path';

export interface OpenPicture {
  file: FileHandle;
  stats: Stats;
  /** `image/png`, … */
  type: string;
}

/**
 * `path` is relative, with `/` between its parts. Undefined where there is no such picture; rejects where the system
 * cannot read it. Whoever opens it closes it.
 */
export async function openPicture(dir: string, path: string): Promise<OpenPicture | undefined> {
  const file = await openWithin(dir, path.split('/'));
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    const type = stats.isFile() ? await typeOf(file) : undefined;
    if (type !== undefined) return { file, stats, type };
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return undefined;
}

/** Links are followed only as far as they stay in the folder, which may be one itself. */
async function openWithin(dir: string, parts: string[]): Promise<FileHandle | undefined> {
  if (parts.some((part) => /^\.{0,2}$|[/\\\0]/.test(part))) return undefined;
  try {
    const root = await realpath(dir);
    const real = await realpath(join(root, ...parts));
    if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined;
    // A named pipe would be waited for.
    return await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

function isGone(error: unknown): boolean {
  const code = String((error as NodeJS.ErrnoException).code);
  return ['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO', 'EINVAL'].includes(code);
}

/** Told by the bytes: no name makes a script of a picture. */
async function typeOf(file: FileHandle): Promise<string | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(12), 0, 12, 0);
  const head = buffer.subarray(0, bytesRead).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1A\n')) return 'image/png';
  if (head.startsWith('\xFF\xD8\xFF')) return 'image/jpeg';
  if (/^RIFF[^]{4}WEBP/.test(head)) return 'image/webp';
  if (/^[^]{4}ftypavi[fs]/.test(head)) return 'image/avif';
  return undefined;
}
