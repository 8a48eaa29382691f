/** Finds the package's own files, from the sources, the build or an installed package, and reads name and version. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

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

export const program = `nightrender ${version}`;
