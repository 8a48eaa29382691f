/** Paths in an output folder that show that the checkpoint is, or was, in a shared database. */
import { join } from 'node:path';
import { checkpointFile } from './find-loss.ts';

/**
 * Returns the folder of the local copies of a shared checkpoint, with a subfolder for each machine. The first
 * run that shares the batch creates it. `dir` is the output folder.
 */
export function copiesFolder(dir: string): string {
  return join(dir, '.shared');
}

/** Returns the path of the batch's own checkpoint after it was moved to a database. */
export function movedFile(dir: string): string {
  return `${checkpointFile(dir)}.moved`;
}
