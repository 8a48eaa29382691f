/** Where the local copies of a shared checkpoint are, each machine's in a folder of its own. */
import { join } from 'node:path';

/** `dir` is the output folder; the copies are there from the first run that shares the batch. */
export function copiesFolder(dir: string): string {
  return join(dir, '.shared');
}
