/** Checks of a run in its folder before it begins, and the opening of its checkpoint. `plan` does the same to a copy. */
import { noChoices, type BeginChoices } from './start-choices.ts';
import type { BegunRun, RunRequest } from './record.ts';
import { randomUUID } from 'node:crypto';
import { resolve, join } from 'node:path';
import { closeSync, existsSync, lstatSync, openSync, renameSync, rmSync } from 'node:fs';
import {
  openCheckpoint,
  readJobsInFlight,
  openCheckpointForReading,
  unseal,
} from '../runner/checkpoint/open-checkpoint.ts';
import type { Config } from '../runner/config/config.ts';
import { assertCollectable, assertLocalEndpoint } from './connect-service.ts';
import type { ReadScenes } from '../runner/list/read-scenes.ts';
import { addedColumns } from '../runner/list/scene-columns.ts';
import { shownLists, shownPath, configuredArguments, configuredRun } from './refusal.ts';
import { program } from '../lib/files/package-file.ts';
import { type BatchIdentity, readBatch, type PicturesInBucket } from '../runner/checkpoint/batch-identity.ts';
import { checkpointFile } from '../runner/checkpoint/find-loss.ts';
import { hasAttempts } from '../runner/checkpoint/read-totals.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import type { FileKind } from '../runner/core/picture.ts';
import { folderPlace } from '../runner/images/folder-place.ts';
import { createImageStore, type PreparedImageStore } from '../runner/images/image-store.ts';
import { imagesFolder, maintenanceOptions, picturesBucket, shownImages } from './pictures-place.ts';
import { ConditionError } from '../runner/core/condition.ts';
import { judgeOf } from '../runner/core/seeds-until.ts';
import { guessNames, namesWithoutIds } from '../runner/core/naming.ts';
import { pricingOf } from '../runner/core/spending.ts';

export type BegunBatch = Omit<BegunRun, 'kept'>;

/** Begins in the output folder itself, whose lock must be held. Throws like `beginBatch`. */
export async function beginRun(
  { file, config, choices }: RunRequest,
  scenes: ReadScenes | undefined,
): Promise<BegunRun> {
  const { dir } = config.output;
  const begun = await beginBatch(file, config, scenes, dir, choices);
  return { ...begun, kept: await keepIfAnew(config, choices, dir) };
}

/**
 * Keeps pictures as `.former` if all is rendered anew, and returns their number. After a crash, the next start
 * of the same command continues. `dir`: of the checkpoint.
 */
export async function keepIfAnew(config: Config, choices: BeginChoices, dir: string): Promise<number> {
  // Includes pictures of all formats. Their sidecars are renamed with them.
  const all = { ...maintenanceOptions(config.output), isOriginalKept: true };
  const images = choices.isFresh ? imagesInFolder(config, all) : undefined;
  if (images === undefined || whyNothingIsKnown(dir, dir) === undefined) return 0;
  const setAside = (files: string[]) => Promise.all(files.map((file) => images.setAside(file, 'former')));
  const pictures = await setAside(await images.list());
  const kept = [...pictures, ...(await setAside(await images.list(otherKinds(config))))];
  return kept.filter((file) => file !== undefined).length;
}

/**
 * Checks the folder and opens the checkpoint. `file` is the path of pipeline.yaml as given. `checkpointDir`
 * is the output folder or the folder of a copy, `recordDir` the folder of the original checkpoint. Throws
 * `ConfigError`, `UnusableDatabase` and system errors.
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

/** Returns the description of the batch that applies from this run on. */
export async function identityOf(
  file: string,
  config: Config,
  scenes: ReadScenes,
  choices: BeginChoices,
  checkpointDir: string,
): Promise<BatchIdentity> {
  const axes = [...new Set(addedColumns(config))].filter((name) => name !== 'seed');
  const words = namesWithoutIds(scenes.rules, config.stage !== undefined);
  const pricing = pricingOf(config);
  const until = config.scenes?.until;
  const adopted = choices.isAdopting ? imagesInFolder(config) : undefined;
  if (until !== undefined) assertUntil(config, until, [...scenes.columns, ...axes], checkpointDir);
  const pictures = picturesIn(file, config, checkpointDir);
  return {
    manifest: shownLists(config, file),
    ...(config.isManifestOverridden && { lists: config.manifest }),
    endpoint: config.endpoint,
    columns: scenes.columns,
    rules: scenes.rules,
    ...(axes.length > 0 && { axes }),
    // Adopted pictures keep their names.
    names: adopted === undefined ? words : guessNames(await adopted.list(), words),
    ...(config.stage && { stage: config.stage.from }),
    pipeline: resolve(file),
    ...(config.output.files.length > 0 && {
      files: config.output.files.map(({ label, kind }) => ({ label, kind })),
    }),
    ...(config.output.values.length > 0 && { values: config.output.values }),
    ...(until !== undefined && { until }),
    ...(pictures && { pictures }),
    ...(config.output.isOverridden && { output: config.output.dir }),
    ...(pricing !== undefined && { pricing }),
  };
}

/** Throws `ConfigError` if the condition is invalid. `columns`: of a list that was read, else recorded ones. */
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

/** Returns the bucket of the pictures. Throws `ConfigError` if the saved pictures are somewhere else. */
function picturesIn(file: string, config: Config, checkpointDir: string): PicturesInBucket | undefined {
  const { dir, pictures: url } = config.output;
  const db = openCheckpointForReading(checkpointDir);
  try {
    const known = db && readBatch(db)?.pictures;
    if (known?.url === url) return known;
    const hasAny = db !== undefined && hasAttempts(db);
    if (hasAny) throw movedPictures(file, config, shownImages(dir, known?.url));
  } finally {
    db?.close();
  }
  return picturesBucket(url, randomUUID());
}

function movedPictures(file: string, config: Config, from: string): ConfigError {
  const to = shownImages(config.output.dir, config.output.pictures);
  const move = `\`nightrender verify ${configuredArguments(file, config)} --move\``;
  const text = `this batch began with its pictures in ${from}, and this file puts them into ${to}. Change it back, or move the pictures with ${move}`;
  return new ConfigError([{ where: config.placeOf(['output', 'pictures']), text }]);
}

/**
 * Throws `ConfigError` before any write if pictures are unknown to the checkpoint. `checkpointDir`: `dir`
 * or a copy.
 */
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
  const images = imagesInFolder(config);
  if (images === undefined || why === undefined || choices.isFresh || choices.isAdopting) return;
  const [first] = [...(await images.list()), ...(await images.list(otherKinds(config)))];
  if (first === undefined) return;
  const text = `${why}, but ${shownPath(join(config.output.dir, 'images'))} has pictures (${first}), which would be paid for again. Put a copy of the file back, adopt the pictures with ${run} --adopt\`, or render everything again and keep them as .former with ${run} --fresh\``;
  throw new ConfigError([{ where, text }]);
}

/**
 * Throws `ConfigError` if the output folder has pictures, perhaps of this batch, and the checkpoint knows no job.
 * `checkpointDir`: `dir` or a copy.
 */
export async function assertNoneInFolder(file: string, config: Config, checkpointDir: string): Promise<void> {
  if (whyNothingIsKnown(checkpointDir, checkpointDir) === undefined) return;
  const folder = join(config.output.dir, 'images');
  const [first] = await createImageStore(folderPlace(folder), maintenanceOptions(config.output)).list();
  if (first === undefined) return;
  const run = `\`nightrender run ${configuredRun(file, config)}`;
  const move = `\`nightrender verify ${configuredArguments(file, config)} --move\``;
  const text = `the checkpoint has no job yet, but ${shownPath(folder)} has pictures (${first}), which would be paid for again. If they belong to this batch, remove output.pictures, adopt them with ${run} --adopt\`, put output.pictures back, and move them with ${move}. Or render everything into the bucket with ${run} --fresh\`; the folder stays as it is`;
  throw new ConfigError([{ where: config.placeOf(['output', 'pictures']), text }]);
}

/** Returns why no job is known; undefined if some are, or for a problem that is reported elsewhere. */
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

/**
 * Returns the pictures in the output folder, unknown ones too. Undefined if they are in a bucket, whose claim
 * names their batch.
 */
export function imagesInFolder(
  { output }: Pick<Config, 'output'>,
  options = maintenanceOptions(output),
): PreparedImageStore | undefined {
  const folder = imagesFolder({ output });
  return folder === undefined ? undefined : createImageStore(folderPlace(folder), options);
}

function otherKinds({ output }: Config): FileKind[] {
  return output.files.map(({ kind }) => kind);
}

/**
 * Removes remains of a lost checkpoint, which would be taken for parts of the new one in `dir`. Submissions
 * that the commit marker lists count as lost there.
 */
export function clearLostCheckpoint(dir: string): void {
  const path = checkpointFile(dir);
  if (lstatSync(path, { throwIfNoEntry: false })?.size) return;
  // The log of a small batch may contain everything, so it is kept.
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${path}-wal.former`);
  rmSync(`${path}-shm`, { force: true });
  closeSync(openSync(path, 'a'));
  unseal(dir);
}
