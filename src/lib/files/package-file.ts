/** Finds the package's own files, from the sources, the build or an installed package, and reads name and version. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Absolute path of the folder with package.json. */
const packageFolder = folderAbove(import.meta.dirname);

/** Returns the absolute path of a file in the package, such as `dist/web/gallery.js`. */
export function packageFile(path: string): string {
  return join(packageFolder, path);
}

function folderAbove(folder: string): string {
  const above = dirname(folder);
  return existsSync(join(folder, 'package.json')) || above === folder ? folder : folderAbove(above);
}

const { version } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as { version: string };

/** Name and version of this program, such as `nightrender 0.2.0`. */
export const program = `nightrender ${version}`;
