/** What tells in an output folder that the checkpoint is, or was, in a database. */
import { join } from 'node:path';
import { checkpointFile } from './find-loss.ts';

/**
 * Where the local copies of a shared checkpoint are, each machine's in a folder of its own: from the first run that shares
 * the batch on. `dir` is the output folder.
 */
export function copiesFolder(dir: string): string {
  return join(dir, '.shared');
}

/** What the batch had of its own before it was moved to a database. */
export function movedFile(dir: string): string {
  return `${checkpointFile(dir)}.moved`;
}
