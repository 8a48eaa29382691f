/** What a run looks at in its folder before it begins, and the opening of its checkpoint; `plan` does the same to a copy. */
import { resolve } from 'node:path';
import {
  openCheckpoint,
  readJobsInFlight,
  type JobsInFlight,
  type OpenCheckpoint,
} from '../checkpoint/open-checkpoint.ts';
import type { Config } from '../config/config.ts';
import type { BeginChoices } from './begin-options.ts';
import { assertCollectable } from './connections.ts';
import { warningOfLostCheckpoint } from './lost-checkpoint.ts';
import type { ReadScenes } from './read-scenes.ts';
import { axesOf } from './scene-columns.ts';
import { shownLists } from './shown-lists.ts';
import { program } from './version.ts';

export interface BegunBatch {
  opened: OpenCheckpoint;
  /** At each endpoint, left by earlier runs. */
  inFlight: JobsInFlight[];
  /** What should be known of the folder, in words. */
  warning: string | undefined;
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
  { isLossAccepted }: BeginChoices = { isLossAccepted: false },
): BegunBatch {
  const inFlight = readJobsInFlight(checkpointDir);
  assertCollectable(file, config, inFlight);
  const warning = warningOfLostCheckpoint(config.output.dir);
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
    opened: openCheckpoint(checkpointDir, program, batch, Date.now(), isLossAccepted),
    inFlight,
    warning,
  };
}
