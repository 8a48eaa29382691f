/** What a run looks at in its folder before it begins, and the opening of its checkpoint; `plan` does the same to a copy. */
import { resolve, join } from 'node:path';
import { closeSync, existsSync, lstatSync, openSync, renameSync, rmSync } from 'node:fs';
import {
  openCheckpoint,
  readJobsInFlight,
  type JobsInFlight,
  type OpenCheckpoint,
  openCheckpointForReading,
} from '../runner/checkpoint/open-checkpoint.ts';
import type { Config } from '../runner/config/config.ts';
import { noChoices, type BeginChoices } from './begin-options.ts';
import { assertCollectable } from './connections.ts';
import type { ReadScenes } from './read-scenes.ts';
import { axesOf } from './scene-columns.ts';
import { shownLists, shownPath } from './shown-path.ts';
import { program } from './version.ts';
import { checkpointFile } from '../runner/checkpoint/find-loss.ts';
import { unseal } from '../runner/checkpoint/open-for-changes.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { createImageStore } from '../runner/images/image-store.ts';
import { listPictures } from '../runner/images/saved-files.ts';
import { configuredRun } from './command-arguments.ts';
import { namesOf } from '../runner/core/default-name.ts';
import { outputFiles } from './output-files.ts';

export interface BegunBatch {
  opened: OpenCheckpoint;
  /** At each endpoint, left by earlier runs. */
  inFlight: JobsInFlight[];
}

/** In the output folder itself, whose lock is held. As below; `kept`: pictures kept as `.former`. */
export async function beginRun(
  file: string,
  config: Config,
  scenes: ReadScenes | undefined,
  choices: BeginChoices,
): Promise<BegunBatch & { kept: number }> {
  const { dir } = config.output;
  const isAnew = choices.isFresh && whyNothingIsKnown(dir, dir) !== undefined;
  const begun = beginBatch(file, config, scenes, dir, choices);
  return { ...begun, kept: isAnew ? await keepPicturesAside(config) : 0 };
}

/**
 * `file` is the pipeline.yaml, as it was given; `checkpointDir` is the output folder, or where a copy of its checkpoint
 * is. Throws `ConfigError`, `UnusableDatabase`, and what the system says.
 */
export function beginBatch(
  file: string,
  config: Config,
  scenes: ReadScenes | undefined,
  checkpointDir: string,
  choices: BeginChoices = noChoices,
): BegunBatch {
  assertPicturesKnown(file, config, choices, checkpointDir);
  if (choices.isAdopting || choices.isFresh) clearLostCheckpoint(checkpointDir);
  const inFlight = readJobsInFlight(checkpointDir);
  assertCollectable(file, config, inFlight);
  const axes = axesOf(config);
  const batch = scenes && {
    manifest: shownLists(config, file),
    ...(config.isManifestOverridden && { lists: config.manifest }),
    endpoint: config.endpoint,
    columns: scenes.columns,
    seedBits: scenes.seedBits,
    ...(axes.length > 0 && { axes }),
    // Pictures that are adopted keep the names that they have.
    names: choices.isAdopting ? namesOf(listPictures(join(config.output.dir, 'images'))) : 'prompt',
    pipeline: resolve(file),
    ...(config.output.isOverridden && { output: config.output.dir }),
    ...(config.pricing !== undefined && { pricing: config.pricing }),
  };
  return {
    opened: openCheckpoint(checkpointDir, program, batch, Date.now(), choices.isLossAccepted),
    inFlight,
  };
}

/** Throws `ConfigError` before anything is written. `checkpointDir`: the output folder, or where a copy of its checkpoint is. */
function assertPicturesKnown(
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
  const text = `${why}, but ${shownPath(images)} has pictures (${first}), which would be paid for again. Put a copy of the file back, adopt the pictures with ${run} --adopt\`, or render everything again and keep them as .former with ${run} --fresh\``;
  throw new ConfigError([{ where, text }]);
}

/** Undefined where a checkpoint knows of jobs, or something else is wrong with it, which others report. */
function whyNothingIsKnown(dir: string, checkpointDir: string): string | undefined {
  const stats = lstatSync(checkpointFile(dir), { throwIfNoEntry: false });
  if (stats === undefined) return 'this file is missing';
  if (stats.isFile() && stats.size === 0) return 'this file is empty';
  const db = openCheckpointForReading(checkpointDir);
  try {
    const isEmpty = db !== undefined && db.prepare('SELECT 1 FROM attempts LIMIT 1').get() === undefined;
    return isEmpty ? 'this file has no job yet' : undefined;
  } finally {
    db?.close();
  }
}

/** Returns how many. A death in between leaves some to the next start of the same command. */
async function keepPicturesAside({ output }: Config): Promise<number> {
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
 * the submissions that its mark lists count as lost there.
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
