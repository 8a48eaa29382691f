/** Where the package's own files lie: the same for the sources, what is built of them, and an installed package. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Absolute; holds package.json. */
export const packageFolder = folderAbove(import.meta.dirname);

/** `path` from there, such as `dist/web/gallery.js`. */
export function packageFile(path: string): string {
  return join(packageFolder, path);
}

function folderAbove(folder: string): string {
  const above = dirname(folder);
  return existsSync(join(folder, 'package.json')) || above === folder ? folder : folderAbove(above);
}
