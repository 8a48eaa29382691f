/** Whether a batch has its checkpoint in its folder or shares one, and on which disk: it keeps to where it began, or was moved. */
import { existsSync } from 'node:fs';
import { ConfigError } from '../lib/yaml/problem.ts';
import { checkpointFile } from '../runner/checkpoint/find-loss.ts';
import { copiesFolder, movedFile } from '../runner/checkpoint/copies-folder.ts';
import { assertMounted } from './known-batch.ts';
import { shownPath } from './shown-path.ts';

/** Throws where the batch has begun with its own file and is to be shared, or the other way round, or, unless all `isFresh`, on a disk that is not there. */
export function assertPlace(dir: string, sharedAt: string | undefined, isFresh = false): void {
  if (!isFresh) assertDisk(dir);
  const isOwn = existsSync(checkpointFile(dir));
  if (sharedAt !== undefined && isOwn) {
    const text = `the batch in ${shownPath(dir)} has begun with a checkpoint of its own, ${shownPath(checkpointFile(dir))}, and would be rendered and paid for again; move it to the database with \`nightrender verify <pipeline> --move\`, leave checkpoint out to go on with it, or choose another output.dir for a batch that is shared`;
    throw new ConfigError([{ where: sharedAt, text }]);
  }
  if (sharedAt === undefined && !isOwn && isElsewhere(dir)) {
    const text = `the checkpoint of this batch is in a database (a run with checkpoint: has begun it), and it would be rendered and paid for again; set checkpoint: as it was, move it back to this folder with \`nightrender verify <pipeline> --move\` (DATABASE_URL in the environment says where it is), or choose another output.dir`;
    throw new ConfigError([{ where: shownPath(dir), text }]);
  }
}

/** Throws where the disk of the batch is not there. */
export function assertDisk(dir: string): void {
  if (!isElsewhere(dir)) assertMounted(dir);
}

/** Of a folder without a checkpoint: whether it is in a database. */
export function isElsewhere(dir: string): boolean {
  return existsSync(copiesFolder(dir)) || existsSync(movedFile(dir));
}
