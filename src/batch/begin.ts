/** Begins a run for `startRun` (start-run.ts): checks its folder and opens its checkpoint. `plan` does the same to a copy. */
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, lstatSync, openSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { program } from '../lib/files/package-file.ts';
import { didYouMean } from '../lib/text/closest.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { type BatchIdentity, type PicturesInBucket, readBatch } from '../runner/checkpoint/batch-identity.ts';
import { checkpointFile } from '../runner/checkpoint/find-loss.ts';
import { openCheckpoint, openCheckpointForReading, unseal } from '../runner/checkpoint/open-checkpoint.ts';
import { hasAttempts, jobsInFlight, type JobsInFlight } from '../runner/checkpoint/read-totals.ts';
import type { Config } from '../runner/config/config.ts';
import type { Endpoint } from '../runner/core/attempt.ts';
import { ConditionError } from '../runner/core/condition.ts';
import { guessNames, namesWithoutIds } from '../runner/core/naming.ts';
import type { FileKind } from '../runner/core/picture.ts';
import { judgeOf } from '../runner/core/seeds-until.ts';
import { pricingOf } from '../runner/core/spending.ts';
import { folderPlace } from '../runner/images/folder-place.ts';
import { createImageStore, type MaintainedImageStore } from '../runner/images/image-store.ts';
import type { ReadScenes } from '../runner/list/read-scenes.ts';
import { addedColumns } from '../runner/list/scene-columns.ts';
import { assertCollectable } from './connect-service.ts';
import { imagesFolder, maintenanceOptions, picturesBucket, shownImages } from './pictures-place.ts';
import type { BegunRun, RunRequest } from './record.ts';
import { configuredArguments, configuredRun, shownLists, shownPath } from './refusal.ts';
import { type BeginChoices, noChoices } from './start-choices.ts';

export type BegunBatch = Omit<BegunRun, 'kept'>;

/** Begins in the output folder itself, whose lock must be held. Throws like `beginBatch`. */
export async function beginRun(
  { file, config, choices }: RunRequest,
  scenes: ReadScenes | undefined,
): Promise<BegunRun> {
  const { dir } = config.output;
  const begun = await beginBatch(file, config, scenes, dir, choices);
  return { ...begun, kept: await setAsideIfFresh(config, choices, dir) };
}

/**
 * With `--fresh`, renames pictures and other files to `.former` if no job is known, and returns their number. After a
 * crash, the next start of the same command continues. `dir` is the folder of the checkpoint.
 */
export async function setAsideIfFresh(config: Config, choices: BeginChoices, dir: string): Promise<number> {
  // Includes pictures of all formats. Their sidecars are renamed with them.
  const all = { ...maintenanceOptions(config.output), isOriginalKept: true };
  const images = choices.isFresh ? imagesInFolder(config, all) : undefined;
  if (images === undefined || whyNothingIsKnown(dir, knownIn(dir)) === undefined) return 0;
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
  const request = { file, config, choices };
  const { batch, inFlight } = await checkStart(request, scenes, checkpointDir, { recordDir });
  return {
    opened: openCheckpoint(checkpointDir, program, batch, Date.now(), choices.isLossAccepted),
    inFlight,
  };
}

interface CheckedStart {
  /** Undefined without scenes. */
  batch: BatchIdentity | undefined;
  inFlight: JobsInFlight[];
}

/**
 * Checks the folder and the recorded batch, and describes the batch. `own` is absent for the local copy of a
 * shared batch. Throws as `beginBatch` does.
 */
export async function checkStart(
  { file, config, choices }: { file: string; config: Config; choices: BeginChoices },
  scenes: ReadScenes | undefined,
  checkpointDir: string,
  own?: { recordDir: string },
): Promise<CheckedStart> {
  const known = knownIn(checkpointDir);
  await assertPicturesKnown(file, config, choices, own?.recordDir ?? checkpointDir, known);
  if (own !== undefined && (choices.isAdopting || choices.isFresh)) clearLostCheckpoint(checkpointDir);
  const inFlight = known()?.inFlight ?? [];
  assertCollectable(file, config, inFlight);
  return { inFlight, batch: scenes && (await identityOf(file, config, scenes, choices, known())) };
}

/** Facts of the recorded batch on which its next start depends. */
interface KnownBatch {
  batch: BatchIdentity | undefined;
  hasAttempts: boolean;
  inFlight: JobsInFlight[];
}

/**
 * Returns a function that reads these facts at its first call, because opening the checkpoint takes most of the time.
 * It returns undefined if there is no checkpoint. Throws as `openCheckpointForReading` does.
 */
function knownIn(checkpointDir: string): () => KnownBatch | undefined {
  let read: { known: KnownBatch | undefined } | undefined;
  return () => (read ??= { known: readKnown(checkpointDir) }).known;
}

function readKnown(checkpointDir: string): KnownBatch | undefined {
  const db = openCheckpointForReading(checkpointDir);
  try {
    return db && { batch: readBatch(db), hasAttempts: hasAttempts(db), inFlight: jobsInFlight(db) };
  } finally {
    db?.close();
  }
}

/** Ids of the endpoints that the local service has. */
const localIds = ['scene-renderer', 'painter'];

/**
 * Throws `ConfigError` for an `endpoint.id` that the local service does not have. A batch that began with
 * such an id, which earlier versions allowed, goes on. `checkpointDir` is the folder of the checkpoint or of
 * a copy.
 */
function assertLocalEndpoint(config: Config, checkpointDir: string): void {
  const { baseUrl, id } = config.endpoint;
  if (baseUrl !== 'local' || localIds.includes(id) || hasBegunWith(config.endpoint, checkpointDir)) return;
  const meant = didYouMean(id, localIds);
  const text = `endpoint.id is ${JSON.stringify(id)}, but the local service has only ${localIds.join(' and ')}${meant === undefined ? '' : `; ${meant}`}`;
  throw new ConfigError([{ where: config.placeOf(['endpoint', 'id']), text }]);
}

function hasBegunWith({ baseUrl, id }: Endpoint, checkpointDir: string): boolean {
  const known = readKnown(checkpointDir)?.batch?.endpoint;
  return known?.baseUrl === baseUrl && known.id === id;
}

/** Returns the description of the batch that applies from this run on. */
async function identityOf(
  file: string,
  config: Config,
  scenes: ReadScenes,
  choices: BeginChoices,
  known: KnownBatch | undefined,
): Promise<BatchIdentity> {
  const axes = [...new Set(addedColumns(config))].filter((name) => name !== 'seed');
  const words = namesWithoutIds(scenes.rules, config.stage !== undefined);
  const pricing = pricingOf(config);
  const until = config.scenes?.until;
  const adopted = choices.isAdopting ? imagesInFolder(config) : undefined;
  if (until !== undefined)
    assertUntil(config, until, [...scenes.columns, ...axes, ...(known?.batch?.columns ?? [])]);
  const pictures = picturesIn(file, config, known);
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

/** Throws `ConfigError` if the condition is invalid. `columns`: of the list, and recorded ones. */
function assertUntil({ output: { values }, placeOf }: Config, until: string, columns: string[]): void {
  try {
    judgeOf({ until, columns: [...columns, ...values.map(({ name }) => name)], values });
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    throw new ConfigError([{ where: placeOf(['scenes', 'until']), text: error.message }]);
  }
}

/** Returns the bucket of the pictures; undefined for the folder. Throws `ConfigError` if the batch has jobs and began elsewhere. */
function picturesIn(
  file: string,
  config: Config,
  known: KnownBatch | undefined,
): PicturesInBucket | undefined {
  const { dir, pictures: url } = config.output;
  const before = known?.batch?.pictures;
  if (before?.url === url) return before;
  if (known?.hasAttempts) throw movedPictures(file, config, shownImages(dir, before?.url));
  return picturesBucket(url, randomUUID());
}

function movedPictures(file: string, config: Config, from: string): ConfigError {
  const to = shownImages(config.output.dir, config.output.pictures);
  const move = `\`nightrender verify ${configuredArguments(file, config)} --move\``;
  const text = `this batch began with its pictures in ${from}, and this file puts them into ${to}. Change it back, or move the pictures with ${move}`;
  return new ConfigError([{ where: config.placeOf(['output', 'pictures']), text }]);
}

/** Throws `ConfigError` if the folder has pictures and the checkpoint knows no job. `known`: from `dir` or a copy. */
async function assertPicturesKnown(
  file: string,
  config: Config,
  choices: BeginChoices,
  dir: string,
  known: () => KnownBatch | undefined,
): Promise<void> {
  const run = `\`nightrender run ${configuredRun(file, config)}`;
  const where = shownPath(checkpointFile(dir));
  const why = whyNothingIsKnown(dir, known);
  const images = imagesInFolder(config);
  if (images === undefined || why === undefined || choices.isFresh || choices.isAdopting) return;
  const [first] = [...(await images.list()), ...(await images.list(otherKinds(config)))];
  if (first === undefined) return;
  const text = `${why}, but ${shownPath(join(config.output.dir, 'images'))} has pictures (${first}), which would be paid for again. Put a copy of the file back, adopt the pictures with ${run} --adopt\`, or render everything again and keep them as .former with ${run} --fresh\``;
  throw new ConfigError([{ where, text }]);
}

/**
 * Throws `ConfigError` if the output folder has pictures, perhaps of this batch, and the checkpoint knows no job.
 * `checkpointDir`: the output folder or the folder of a copy.
 */
export async function assertNoneInFolder(file: string, config: Config, checkpointDir: string): Promise<void> {
  if (whyNothingIsKnown(checkpointDir, knownIn(checkpointDir)) === undefined) return;
  const folder = join(config.output.dir, 'images');
  const [first] = await createImageStore(folderPlace(folder), maintenanceOptions(config.output)).list();
  if (first === undefined) return;
  const run = `\`nightrender run ${configuredRun(file, config)}`;
  const move = `\`nightrender verify ${configuredArguments(file, config)} --move\``;
  const text = `the checkpoint has no job yet, but ${shownPath(folder)} has pictures (${first}), which would be paid for again. If they belong to this batch, remove output.pictures, adopt them with ${run} --adopt\`, put output.pictures back, and move them with ${move}. Or render everything into the bucket with ${run} --fresh\`; the folder stays as it is`;
  throw new ConfigError([{ where: config.placeOf(['output', 'pictures']), text }]);
}

/** Returns why no job is known; undefined if some are, or for a problem that is reported elsewhere. */
function whyNothingIsKnown(dir: string, known: () => KnownBatch | undefined): string | undefined {
  const stats = lstatSync(checkpointFile(dir), { throwIfNoEntry: false });
  if (stats === undefined) return 'this file is missing';
  if (stats.isFile() && stats.size === 0) return 'this file is empty';
  return known()?.hasAttempts === false ? 'this file has no job yet' : undefined;
}

/**
 * Returns the pictures in the output folder, unknown ones too. Undefined if they are in a bucket, where a
 * claim file names the batch.
 */
export function imagesInFolder(
  { output }: Pick<Config, 'output'>,
  options = maintenanceOptions(output),
): MaintainedImageStore | undefined {
  const folder = imagesFolder({ output });
  return folder === undefined ? undefined : createImageStore(folderPlace(folder), options);
}

function otherKinds({ output }: Config): FileKind[] {
  return output.files.map(({ kind }) => kind);
}

/**
 * Removes or renames remains of a lost checkpoint, which would be taken for parts of the new one in `dir`. Submissions
 * that the commit mark lists count as lost there.
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
