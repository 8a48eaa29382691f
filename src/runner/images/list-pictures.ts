/** The names of all pictures in a folder, whoever knows of them. */
import { readdirSync } from 'node:fs';
import { isSystemError } from '../files/disk-failure.ts';

/** Relative to `root`, with `/` between folders, sorted; none where there is no such folder. */
export function listPictures(root: string, below = ''): string[] {
  try {
    const entries = readdirSync(`${root}/${below}`, { withFileTypes: true });
    return entries
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => {
        if (entry.isDirectory()) return listPictures(root, `${below}${entry.name}/`);
        return entry.isFile() && entry.name.endsWith('.png') ? [below + entry.name] : [];
      });
  } catch (error) {
    if (isSystemError(error) && ['ENOENT', 'ENOTDIR'].includes(error.code)) return [];
    throw error;
  }
}
