/** Making renames within a folder last. */
import { open } from 'node:fs/promises';
import { isSystemError } from './disk-trouble.ts';

/** Errors are the operating system's. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows has no such operation; its file system keeps a journal of names.
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } catch (error) {
    // Some network file systems do not know it either.
    if (!isSystemError(error) || !['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'].includes(error.code)) throw error;
  } finally {
    await handle.close();
  }
}
