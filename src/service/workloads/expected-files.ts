/** Checks programs, files and folders that an endpoint names. `…Expected` functions return a message, or undefined if all is well. */
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';

export function moduleExpected(path: string): string | undefined {
  return kindOf(path) === 'file' ? undefined : `an existing file: ${path} is not one`;
}

export function folderExpected(path: string): string | undefined {
  return kindOf(path) === 'folder' ? undefined : `an existing folder: ${path} is not one`;
}

/** Checks that a program exists. A name that is no path is searched in `folders`. */
export function programExpected(program: string, folders: string[]): string | undefined {
  if (!isPath(program)) {
    const isFound = folders.some((folder) => folder !== '' && isProgram(join(folder, program)));
    return isFound ? undefined : `an existing program: ${program} is in no folder of PATH`;
  }
  if (isProgram(program)) return undefined;
  if (kindOf(program) !== 'file') return `an existing program: ${program} is not one`;
  return `an executable program: run chmod +x ${program}`;
}

/** True for a path, false for a name that is searched in the folders of PATH. */
export function isPath(program: string): boolean {
  return program.includes('/');
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return kindOf(path) === 'file';
  } catch {
    return false;
  }
}

function kindOf(path: string): 'file' | 'folder' | undefined {
  try {
    const found = statSync(path);
    if (found.isDirectory()) return 'folder';
    return found.isFile() ? 'file' : undefined;
  } catch {
    return undefined;
  }
}
