/** Finds the package's own files, equally from the sources, from the build and in an installed package. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Absolute path of the folder with package.json. */
export const packageFolder = folderAbove(import.meta.dirname);

/** Returns the absolute path of a file in the package, such as `dist/web/gallery.js`. */
export function packageFile(path: string): string {
  return join(packageFolder, path);
}

function folderAbove(folder: string): string {
  const above = dirname(folder);
  return existsSync(join(folder, 'package.json')) || above === folder ? folder : folderAbove(above);
}
