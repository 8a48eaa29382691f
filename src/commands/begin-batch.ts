/** What a run looks at in its folder before it begins, and the opening of its checkpoint; `plan` does the same to a copy. */
import { resolve } from 'node:path';
import {
  openCheckpoint,
  readJobsInFlight,
  type JobsInFlight,
  type OpenCheckpoint,
} from '../runner/checkpoint/open-checkpoint.ts';
import type { Config } from '../runner/config/config.ts';
import { noChoices, type BeginChoices } from './begin-options.ts';
import { assertCollectable } from './connections.ts';
import {
  assertPicturesKnown,
  clearLostCheckpoint,
  keepPicturesAside,
  whyNothingIsKnown,
} from './lost-checkpoint.ts';
import type { ReadScenes } from './read-scenes.ts';
import { axesOf } from './scene-columns.ts';
import { shownLists } from './shown-lists.ts';
import { program } from './version.ts';

export interface BegunBatch {
  opened: OpenCheckpoint;
  /** At each endpoint, left by earlier runs. */
  inFlight: JobsInFlight[];
}

/** In the output folder itself, whose lock is held. As below; `kept`: pictures that are kept as `.former`. */
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
    pipeline: resolve(file),
    ...(config.output.isOverridden && { output: config.output.dir }),
    ...(config.pricing !== undefined && { pricing: config.pricing }),
  };
  return {
    opened: openCheckpoint(checkpointDir, program, batch, Date.now(), choices.isLossAccepted),
    inFlight,
  };
}
