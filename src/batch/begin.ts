/** What a run looks at in its folder before it begins, and the opening of its checkpoint; `plan` does the same to a copy. */
import { noChoices, type BeginChoices } from './choices.ts';
import type { BegunRun, RunRequest } from './record.ts';
import { randomUUID } from 'node:crypto';
import { resolve, join } from 'node:path';
import { closeSync, existsSync, lstatSync, openSync, renameSync, rmSync } from 'node:fs';
import {
  openCheckpoint,
  readJobsInFlight,
  openCheckpointForReading,
} from '../runner/checkpoint/open-checkpoint.ts';
import type { Config } from '../runner/config/config.ts';
import { assertCollectable, assertLocalEndpoint } from './connections.ts';
import type { ReadScenes } from '../runner/list/read-scenes.ts';
import { addedColumns } from '../runner/list/scene-columns.ts';
import { shownLists, shownPath, configuredArguments, configuredRun } from './shown-path.ts';
import { program } from '../lib/files/program.ts';
import { type BatchIdentity, readBatch, type PicturesInBucket } from '../runner/checkpoint/batch-identity.ts';
import { checkpointFile } from '../runner/checkpoint/find-loss.ts';
import { hasAttempts } from '../runner/checkpoint/read-totals.ts';
import { unseal } from '../runner/checkpoint/open-for-changes.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import type { FileKind } from '../runner/core/named-file.ts';
import { folderPlace } from '../runner/images/folder-place.ts';
import { createImageStore } from '../runner/images/image-store.ts';
import { shownImages } from './pictures-place.ts';
import { ConditionError } from '../runner/core/condition.ts';
import { judgeOf } from '../runner/core/seeds-until.ts';
import { namesOf, wordsOf } from '../runner/core/default-name.ts';
import { pricingOf } from '../runner/core/spending.ts';
import { maintenanceOptions } from './output-files.ts';

export type BegunBatch = Omit<BegunRun, 'kept'>;

/** Begins in the output folder itself, whose lock is held. Throws as `beginBatch`. */
export async function beginRun(
  { file, config, choices }: RunRequest,
  scenes: ReadScenes | undefined,
): Promise<BegunRun> {
  const { dir } = config.output;
  const begun = await beginBatch(file, config, scenes, dir, choices);
  return { ...begun, kept: await keepIfAnew(config, choices, dir) };
}

/** Returns how many pictures are kept as `.former`, where all is to be rendered anew. `dir`: where the checkpoint is. */
export async function keepIfAnew(config: Config, choices: BeginChoices, dir: string): Promise<number> {
  const isAnew =
    choices.isFresh && config.output.pictures === undefined && whyNothingIsKnown(dir, dir) !== undefined;
  return isAnew ? keepPicturesAside(config) : 0;
}

/**
 * `file` is the pipeline.yaml, as it was given; `checkpointDir` is the output folder, or where a copy of its checkpoint
 * is, and `recordDir` where it is itself. Throws `ConfigError`, `UnusableDatabase`, and what the system says.
 */
export async function beginBatch(
  file: string,
  config: Config,
  scenes: ReadScenes | undefined,
  checkpointDir: string,
  choices: BeginChoices = noChoices,
  recordDir = config.output.dir,
): Promise<BegunBatch> {
  assertLocalEndpoint(config, checkpointDir);
  await assertPicturesKnown(file, config, choices, recordDir, checkpointDir);
  if (choices.isAdopting || choices.isFresh) clearLostCheckpoint(checkpointDir);
  const inFlight = readJobsInFlight(checkpointDir);
  assertCollectable(file, config, inFlight);
  const batch = scenes && (await identityOf(file, config, scenes, choices, checkpointDir));
  return {
    opened: openCheckpoint(checkpointDir, program, batch, Date.now(), choices.isLossAccepted),
    inFlight,
  };
}

/** What the batch is from this run on. */
export async function identityOf(
  file: string,
  config: Config,
  scenes: ReadScenes,
  choices: BeginChoices,
  checkpointDir: string,
): Promise<BatchIdentity> {
  const axes = [...new Set(addedColumns(config))].filter((name) => name !== 'seed');
  const words = wordsOf(scenes.rules);
  const pricing = pricingOf(config);
  const until = config.scenes?.until;
  if (until !== undefined) assertUntil(config, until, [...scenes.columns, ...axes], checkpointDir);
  return {
    manifest: shownLists(config, file),
    ...(config.isManifestOverridden && { lists: config.manifest }),
    endpoint: config.endpoint,
    columns: scenes.columns,
    rules: scenes.rules,
    ...(axes.length > 0 && { axes }),
    // Pictures that are adopted keep the names that they have.
    names:
      choices.isAdopting && config.output.pictures === undefined
        ? namesOf(await imagesInFolder(config).list(), words)
        : words,
    ...(config.stage && { stage: config.stage.from }),
    pipeline: resolve(file),
    ...(config.output.files.length > 0 && {
      files: config.output.files.map(({ label, kind }) => ({ label, kind })),
    }),
    ...(config.output.values.length > 0 && { values: config.output.values }),
    ...(until !== undefined && { until }),
    ...picturesIn(file, config, checkpointDir),
    ...(config.output.isOverridden && { output: config.output.dir }),
    ...(pricing !== undefined && { pricing }),
  };
}

/** Throws `ConfigError` where the condition cannot be understood. `columns`: of a list that was read; of one that was not, the checkpoint has them. */
function assertUntil(
  { output: { values }, placeOf }: Config,
  until: string,
  columns: string[],
  checkpointDir: string,
): void {
  const db = openCheckpointForReading(checkpointDir);
  try {
    const known = (db && readBatch(db)?.columns) ?? [];
    judgeOf({ until, columns: [...columns, ...known, ...values.map(({ name }) => name)], values });
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    throw new ConfigError([{ where: placeOf(['scenes', 'until']), text: error.message }]);
  } finally {
    db?.close();
  }
}

/** Throws `ConfigError` where the pictures that are saved are somewhere else. */
function picturesIn(file: string, config: Config, checkpointDir: string): { pictures?: PicturesInBucket } {
  const { dir, pictures: url } = config.output;
  const db = openCheckpointForReading(checkpointDir);
  try {
    const known = db && readBatch(db)?.pictures;
    if (known?.url === url) return known === undefined ? {} : { pictures: known };
    const hasAny = db !== undefined && hasAttempts(db);
    if (hasAny) throw movedPictures(file, config, shownImages(dir, known?.url));
  } finally {
    db?.close();
  }
  return url === undefined ? {} : { pictures: { url, batch: randomUUID() } };
}

function movedPictures(file: string, config: Config, from: string): ConfigError {
  const to = shownImages(config.output.dir, config.output.pictures);
  const move = `\`nightrender verify ${configuredArguments(file, config)} --move\``;
  const text = `this batch began with its pictures in ${from}, and this file puts them into ${to}. Change it back, or move what is there with ${move}`;
  return new ConfigError([{ where: config.placeOf(['output', 'pictures']), text }]);
}

/** Throws `ConfigError` before anything is written. `dir`: where the checkpoint is; `checkpointDir`: there, or where a copy is. */
export async function assertPicturesKnown(
  file: string,
  config: Config,
  choices: BeginChoices,
  dir: string,
  checkpointDir: string,
): Promise<void> {
  const run = `\`nightrender run ${configuredRun(file, config)}`;
  const where = shownPath(checkpointFile(dir));
  const why = whyNothingIsKnown(dir, checkpointDir);
  // A bucket has a claim of its own (`claimed`).
  if (config.output.pictures !== undefined) return;
  if (why === undefined || choices.isFresh || choices.isAdopting) return;
  const images = imagesInFolder(config);
  const [first] = [...(await images.list()), ...(await images.list(otherKinds(config)))];
  if (first === undefined) return;
  const text = `${why}, but ${shownPath(join(config.output.dir, 'images'))} has pictures (${first}), which would be paid for again. Put a copy of the file back, adopt the pictures with ${run} --adopt\`, or render everything again and keep them as .former with ${run} --fresh\``;
  throw new ConfigError([{ where, text }]);
}

/** Undefined where a checkpoint knows of jobs, or something else is wrong with it, which others report. */
function whyNothingIsKnown(dir: string, checkpointDir: string): string | undefined {
  const stats = lstatSync(checkpointFile(dir), { throwIfNoEntry: false });
  if (stats === undefined) return 'this file is missing';
  if (stats.isFile() && stats.size === 0) return 'this file is empty';
  const db = openCheckpointForReading(checkpointDir);
  try {
    const isEmpty = db !== undefined && !hasAttempts(db);
    return isEmpty ? 'this file has no job yet' : undefined;
  } finally {
    db?.close();
  }
}

/** Returns the pictures of the output folder, whoever knows of them. Those in a bucket have a claim that says whose they are. */
export function imagesInFolder({ output }: Pick<Config, 'output'>, options = maintenanceOptions(output)) {
  return createImageStore(folderPlace(join(output.dir, 'images')), options);
}

/** Kinds of files that scenes have besides pictures. */
function otherKinds({ output }: Config): FileKind[] {
  return output.files.map(({ kind }) => kind);
}

/** Returns how many. A crash in between leaves some to the next start of the same command. */
async function keepPicturesAside(config: Config): Promise<number> {
  // Pictures of all formats; sidecars go with them.
  const images = imagesInFolder(config, { ...maintenanceOptions(config.output), isOriginalKept: true });
  const setAside = (files: string[]) => Promise.all(files.map((file) => images.setAside(file, 'former')));
  const pictures = await setAside(await images.list());
  const kept = [...pictures, ...(await setAside(await images.list(otherKinds(config))))];
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
