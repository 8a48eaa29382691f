/** Making a folder with those above it. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { FatalFailure } from '../core/failure.ts';
import { isSystemError } from './disk-failure.ts';

/**
 * `mode` is that of every folder made. Errors are the operating system's; `FatalFailure` where the file system takes no
 * folders, such as /proc: there Node's own recursive `mkdir` goes on for ever.
 */
export function makeFolder(folder: string, mode: number): void {
  if (isFolder(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder), mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // Another program may have made it meanwhile.
    if (error.code === 'EEXIST' && isFolder(folder)) return;
    if (error.code === 'ENOENT')
      throw new FatalFailure({ kind: 'output-unwritable', text: noFolders(folder) });
    throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function noFolders(folder: string): string {
  return `cannot make the folder ${folder}: the file system takes no folders there; choose another place, then give the same command again`;
}
