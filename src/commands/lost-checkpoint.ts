/** Pictures that no checkpoint knows were paid for: a person says whether they are taken over or kept aside. */
import { closeSync, existsSync, lstatSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkpointFile } from '../runner/checkpoint/find-loss.ts';
import { openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import { unseal } from '../runner/checkpoint/open-for-changes.ts';
import type { Config } from '../runner/config/config.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { createImageStore } from '../runner/images/image-store.ts';
import { listPictures } from '../runner/images/list-pictures.ts';
import type { BeginChoices } from './begin-options.ts';
import { configuredRun } from './command-arguments.ts';
import { outputFiles } from './output-files.ts';
import { shownPath } from './shown-path.ts';

/** Throws `ConfigError` before anything is written. `checkpointDir`: the output folder, or where a copy of its checkpoint is. */
export function assertPicturesKnown(
  file: string,
  config: Config,
  choices: BeginChoices,
  checkpointDir: string,
): void {
  const { dir } = config.output;
  const run = `\`nightrender run ${configuredRun(file, config)}`;
  const where = shownPath(checkpointFile(dir));
  const why = whyNothingIsKnown(dir, checkpointDir);
  if (why === undefined || choices.isFresh || choices.isAdopting) return;
  const images = join(dir, 'images');
  const [first] = listPictures(images);
  if (first === undefined) return;
  const text = `${why}, though ${shownPath(images)} holds pictures (${first}), which would be paid for again. Put a copy of it back; or take over those that fit, each checked, with ${run} --adopt\`; or begin afresh and keep them as .former, with ${run} --fresh\``;
  throw new ConfigError([{ where, text }]);
}

/** Undefined where a checkpoint knows of jobs, or something else is wrong with it, which others tell. */
export function whyNothingIsKnown(dir: string, checkpointDir: string): string | undefined {
  const stats = lstatSync(checkpointFile(dir), { throwIfNoEntry: false });
  if (stats === undefined) return 'this file is missing';
  if (stats.isFile() && stats.size === 0) return 'this file is empty';
  const db = openCheckpointForReading(checkpointDir);
  try {
    const isEmpty = db !== undefined && db.prepare('SELECT 1 FROM attempts LIMIT 1').get() === undefined;
    return isEmpty ? 'this file knows of no job yet' : undefined;
  } finally {
    db?.close();
  }
}

/** Returns how many. A death in between leaves some to the next start of the same command. */
export async function keepPicturesAside({ output }: Config): Promise<number> {
  const dir = join(output.dir, 'images');
  const images = createImageStore(
    dir,
    outputFiles(output, () => undefined),
  );
  const kept = await Promise.all(listPictures(dir).map((file) => images.setAside(file, 'former')));
  return kept.filter((file) => file !== undefined).length;
}

/**
 * What belongs to a checkpoint that is missing or empty would be taken for the new one's. `dir` is where that will be;
 * the submissions that its mark tells of count as lost there.
 */
export function clearLostCheckpoint(dir: string): void {
  const path = checkpointFile(dir);
  if (lstatSync(path, { throwIfNoEntry: false })?.size) return;
  // Of a small batch it may hold all.
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${path}-wal.former`);
  rmSync(`${path}-shm`, { force: true });
  closeSync(openSync(path, 'a'));
  unseal(dir);
}
