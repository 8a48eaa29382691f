/** Reads the lists of a batch: files, standard input, and for a stage the pictures of the batch before it (`openStage`). */
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pipelineIn } from '../lib/files/glob.ts';
import { realPath } from '../lib/files/temporary-files.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { shellWord } from '../lib/text/format.ts';
import { isJsonObject, type JsonObject } from '../lib/text/json.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { readYamlFile, shownFile } from '../lib/yaml/yaml-file.ts';
import { type BatchIdentity, readBatch, resultColumns } from '../runner/checkpoint/batch-identity.ts';
import { asDamage } from '../runner/checkpoint/damage.ts';
import {
  openCheckpointForReading,
  readRecordedList,
  type RecordedList,
} from '../runner/checkpoint/open-checkpoint.ts';
import { hasPicturesOrJobs } from '../runner/checkpoint/read-totals.ts';
import { type Config, PipelineParts, type StageSource, starredScenes } from '../runner/config/config.ts';
import { namesWithoutIds } from '../runner/core/naming.ts';
import { withoutFormat } from '../runner/core/picture.ts';
import { newestRules, readRulesVersion, type RulesVersion } from '../runner/core/scene.ts';
import { markedIn } from '../runner/files/marks-file.ts';
import { createImageStore } from '../runner/images/image-store.ts';
import { listDigest } from '../runner/list/read-expansion.ts';
import {
  type ListOptions,
  type ReadScenes,
  readScenes,
  type StageManifest,
} from '../runner/list/read-scenes.ts';
import { addedColumns } from '../runner/list/scene-columns.ts';
import { idLines, type StagePicture, StagePictures } from '../runner/list/stage-pictures.ts';
import { type ManifestRow, maxBatchRows } from '../runner/manifest/manifest.ts';
import { hashManifest } from '../runner/manifest/open-bytes.ts';
import { pictureName } from '../runner/pipeline/picture-names.ts';
import type { ImageStore } from '../runner/pipeline/ports.ts';
import { openRecord } from './find-record.ts';
import { assertBucketConfigured, locationOf, maintenanceOptions, openPlaces } from './pictures-place.ts';
import { noBatch } from './record.ts';

/** The checkpoint of the batch. It is in `dir` and readable if `recordKind` is set; otherwise it will be created there. */
export interface ListedBatch {
  dir: string;
  recordKind: 'own' | 'shared' | undefined;
  isAdopting: boolean;
  /** Called with a sentence when a bucket does not answer. */
  onTrouble: (text: string) => void;
}

/** Reads the lists. Throws `ConfigError`, and the `AbortError` of `signal`. */
export async function batchLists(
  config: Config,
  { dir, recordKind, isAdopting, onTrouble }: ListedBatch,
  signal: AbortSignal,
): Promise<ReadScenes> {
  const rules = isAdopting ? await adoptedRules(config, dir, onTrouble, signal) : undefined;
  const options = { stdin: process.stdin, signal, openStage, checkpointDir: dir, rules };
  return readLists(config, options, rules === undefined ? recordKind : undefined);
}

/**
 * Returns the scenes of a batch. Does not read lists that are the same as at the last comparison. `recordKind`: set if
 * the batch has a readable checkpoint, either its own file or a copy of a shared one. The caller holds the batch's lock,
 * or has a copy of the checkpoint in `options.checkpointDir`. Throws `ConfigError`, and the `AbortError` of `signal`.
 */
export async function readLists(
  config: Config,
  options: ListOptions,
  recordKind?: 'own' | 'shared',
): Promise<ReadScenes> {
  const { signal, checkpointDir = config.output.dir } = options;
  const recorded =
    recordKind && (await orUndefined(signal, () => readRecordedList(checkpointDir, recordKind === 'shared')));
  const same = recorded && (await sameScenes(config, recorded, signal));
  return same ?? (await readScenes(config, { ...options, rules: options.rules ?? recorded?.rules }));
}

/** Returns undefined if the lists have to be read. That reading also reports all problems. */
async function sameScenes(
  config: Config,
  { rules, digest }: RecordedList,
  signal: AbortSignal,
): Promise<ReadScenes | undefined> {
  // The lists do not show changes of files that are sent or of another batch.
  if (digest === undefined || config.input?.sendsFiles === true || config.stage !== undefined)
    return undefined;
  const contents: string[] = [];
  const lists = config.manifestFiles.map(({ path }) => path);
  for (const path of [...lists, ...valueFiles(config)]) {
    if (path === '-') return undefined;
    const content = await orUndefined(signal, () => hashManifest(shownFile(path), signal));
    if (content === undefined) return undefined;
    contents.push(content);
  }
  if (listDigest(config, rules, contents) !== digest) return undefined;
  return {
    list: { digest, scenes: unread, badRows: unread, close: () => undefined },
    // The checkpoint has the columns.
    columns: [],
    rules,
    notes: [],
    remarks: [],
  };
}

async function orUndefined<T>(signal: AbortSignal, work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}

function unread(): never {
  throw new Error('the manifest was not read, because the batch was compared with it before');
}

/** Returns the absolute paths of the files with values of `matrix` and `zip`, in the order in which they are read. */
function valueFiles({ scenes }: Config): string[] {
  const axes = scenes === undefined ? [] : [...scenes.matrix, ...scenes.zip];
  return axes.flatMap(({ source }) => (source.kind === 'file' ? [source.path] : []));
}

/**
 * Returns the rules that most pictures record, else those of the report, else those that fit the names. Other
 * rules would make other scenes. Undefined if the batch has recorded pictures or jobs, or if nothing shows
 * the rules. `checkpointDir` is the folder of the checkpoint or of a copy. Throws the `AbortError` of
 * `signal`.
 */
export async function adoptedRules(
  config: Config,
  checkpointDir: string,
  onTrouble: (text: string) => void,
  signal: AbortSignal,
): Promise<RulesVersion | undefined> {
  if (hasBegun(checkpointDir)) return undefined;
  const { output, env, proxies } = config;
  const { dir, pictures: url } = output;
  const places = await openPlaces({ dir, url, env, bucket: { proxies, onTrouble } });
  try {
    const images = createImageStore(places.images, maintenanceOptions(output));
    const said = (await rulesOf(images, signal)) ?? reportedRules(dir);
    return said ?? (await rulesByNames(config, await images.list(), checkpointDir, signal));
  } finally {
    await places.close();
  }
}

function hasBegun(dir: string): boolean {
  const db = openCheckpointForReading(dir);
  try {
    return db !== undefined && hasPicturesOrJobs(db);
  } finally {
    db?.close();
  }
}

/** Number of pictures to examine, spread over the folder, so that those of another batch are in the minority; also of scenes. */
const maxExamined = 100;

async function rulesOf(
  images: Pick<ImageStore, 'list' | 'examine'>,
  signal: AbortSignal,
): Promise<RulesVersion | undefined> {
  const files = await images.list();
  const votes = new Map<RulesVersion, number>();
  const apart = Math.max(1, files.length / maxExamined);
  for (let at = 0; at < files.length; at += apart) {
    signal.throwIfAborted();
    const seen = await images.examine(files[Math.floor(at)] ?? '');
    const rules = 'picture' in seen ? seen.origin?.rules : undefined;
    if (rules !== undefined) votes.set(rules, (votes.get(rules) ?? 0) + 1);
  }
  return [...votes].toSorted(([, a], [, b]) => b - a)[0]?.[0];
}

/** Returns the rules under which most pictures have the name of a scene. With other rules, rows have other ids. */
async function rulesByNames(
  config: Config,
  files: string[],
  checkpointDir: string,
  signal: AbortSignal,
): Promise<RulesVersion | undefined> {
  // Standard input can be read only once.
  if (files.length === 0 || config.manifest.includes('-')) return undefined;
  const stems = new Set(files.map(withoutFormat));
  const named: [RulesVersion, number][] = [];
  for (const rules of [newestRules, 3] as const)
    named.push([rules, await countNamed(config, stems, rules, checkpointDir, signal)]);
  return named.toSorted(([, a], [, b]) => b - a)[0]?.[0];
}

/** Counts the first scenes whose picture name is in `stems`. 0 if the list is refused. */
async function countNamed(
  config: Config,
  stems: ReadonlySet<string>,
  rules: RulesVersion,
  checkpointDir: string,
  signal: AbortSignal,
): Promise<number> {
  try {
    const { list } = await readScenes(config, {
      stdin: process.stdin,
      signal,
      openStage,
      checkpointDir,
      rules,
    });
    const named = { ...config, names: namesWithoutIds(rules, config.stage !== undefined) };
    let [seen, count] = [0, 0];
    for (const { id, input, columns } of list.scenes()) {
      const scene = { input: JSON.parse(input) as JsonObject, columns: JSON.parse(columns) as JsonObject };
      if (stems.has(withoutFormat(pictureName(named, { id, ...scene, seed: '', index: 1 })))) count += 1;
      seen += 1;
      if (seen === maxExamined) break;
    }
    list.close();
    return count;
  } catch (error) {
    if (error instanceof ConfigError) return 0;
    throw error;
  }
}

/** Returns undefined if there is no report. */
function reportedRules(dir: string): RulesVersion | undefined {
  try {
    const summary: unknown = JSON.parse(readFileSync(join(dir, 'report/summary.json'), 'utf8'));
    return isJsonObject(summary) ? readRulesVersion(summary['rules']) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Opens the list of a stage, the saved pictures of another batch, without a write or lock there. Throws
 * `ConfigError`.
 */
export async function openStage(stage: StageSource, config: Config): Promise<StageManifest> {
  const { from } = stage;
  const place = config.placeOf(['scenes', 'from']);
  assertNoCycle(config, from, place);
  const parts = new PipelineParts(from, [], config.env);
  const dir = parts.outputDir();
  if (dir === config.output.dir)
    throw problem(place, `${shownFile(from)} has the same output.dir; expected a folder of its own`);
  const record = await openRecord(dir, parts.checkpoint());
  let db: Database | undefined;
  const close = async (): Promise<void> => {
    db?.close();
    await record.close();
  };
  try {
    db = openCheckpointForReading(record.dir);
    // One view of the batch, even if a run is writing.
    db?.exec('BEGIN');
    const batch = db && readBatch(db);
    if (db === undefined || batch === undefined) throw notBegun(dir, from, config.file, place);
    // Missing keys are reported before anything is sent.
    if (config.input?.sendsFiles) await assertBucketConfigured(batch.pictures?.url, config);
    const notes: string[] = [];
    const ids = idsOf(stage, dir, config.placeOf(['scenes', 'ids']), (text) => notes.push(text));
    const paths = pathsOf(stage, config, batch, dir);
    const pictures = new StagePictures(db, batch, paths, { ...stage, ids }, config.placeOf);
    const rows = manifestOf(pictures, batch, config, { path: shownFile(from), notes });
    return { ...rows, batches: whileReadable(rows.batches, from, place, close) };
  } catch (error) {
    await close();
    throw asProblem(error, from, place);
  }
}

async function* whileReadable<Rows>(
  batches: AsyncIterable<Rows>,
  from: string,
  place: string,
  close: () => Promise<void>,
): AsyncGenerator<Rows> {
  try {
    yield* batches;
  } catch (error) {
    throw asProblem(error, from, place);
  } finally {
    await close();
  }
}

/** Converts damage of the other batch into a problem that names that batch. */
function asProblem(error: unknown, from: string, place: string): unknown {
  const damage = asDamage(error);
  if (damage === undefined) return error;
  const text = damage.message.replaceAll('<pipeline>', () => shownFile(from));
  return problem(place, `the batch of ${shownFile(from)} cannot be read: ${text}`);
}

/** Returns the error for a batch that has not begun, or that has lost its checkpoint. */
function notBegun(dir: string, from: string, file: string, place: string): Error {
  const none = noBatch(dir);
  if (!(none instanceof ConfigError)) return none;
  const both = [from, file].map((path) => shellWord(shownFile(path))).join(' ');
  const text = `${shownFile(from)} has not begun, so it has no results yet; \`nightrender run ${both}\` runs both, one after the other`;
  return problem(place, text);
}

function problem(where: string, text: string): ConfigError {
  return new ConfigError([{ where, text }]);
}

/** Throws if files take their lists from each other, because none of them could begin. */
function assertNoCycle({ file, env }: Config, from: string, where: string): void {
  const seen = [file];
  for (let next: string | undefined = from; next !== undefined; next = sourceOf(next, env)) {
    const text =
      seen.length === 1
        ? 'this is the same file; expected the pipeline.yaml of another batch'
        : `these files take their lists from each other: ${[...seen, next].map(shownFile).join(' from ')}`;
    if (seen.some((each) => realPath(each) === realPath(next ?? ''))) throw problem(where, text);
    seen.push(next);
  }
}

function sourceOf(file: string, env: NodeJS.ProcessEnv): string | undefined {
  const { value } = readYamlFile(file, env);
  const scenes = isJsonObject(value) ? value['scenes'] : undefined;
  const from = isJsonObject(scenes) ? scenes['from'] : undefined;
  return typeof from === 'string' && from !== '' ? pipelineIn(resolve(dirname(file), from)) : undefined;
}

/** Returns the scenes that `scenes.ids` names; undefined without it. `where` names the key in messages. Throws `ConfigError`. */
function idsOf(
  { ids }: StageSource,
  dir: string,
  where: string,
  say: (text: string) => void,
): ReadonlySet<string> | undefined {
  if (ids === undefined) return undefined;
  if (ids === starredScenes) return new Set(markedIn(dir, 'star', { where, say }).keys());
  return new Set(idLines(ids, where).filter((id) => id !== ''));
}

/** Returns functions for paths relative to the folder of this batch's pipeline.yaml, as in the input of a scene. */
function pathsOf({ from }: StageSource, { folder }: Config, { pictures }: BatchIdentity, dir: string) {
  const images = locationOf(dir, pictures?.url);
  const passedOn = (path: string): string =>
    path.startsWith('s3://') ? path : relative(folder, resolve(dirname(from), path));
  return { pathOf: (file: string): string => passedOn(images + file), passedOn };
}

function manifestOf(
  pictures: StagePictures,
  batch: BatchIdentity,
  config: Config,
  { path, notes }: Pick<StageManifest, 'path' | 'notes'>,
): StageManifest {
  // Columns that this batch defines itself.
  const asked = config.output.values.map(({ name }) => name);
  const own = new Set(['id', 'picture', ...addedColumns(config), ...asked]);
  const columns = resultColumns(batch);
  const names = columns
    .map((name) => [name, own.has(name) ? `manifest.${name}` : name] as const)
    // A stage of a stage already has these columns from the first batch.
    .filter(([name, as]) => name === as || !columns.includes(as));
  const told = ['prompt', 'seed'].filter((name) => !own.has(name) && names.every(([, as]) => as !== name));
  const rowOf = ({ id, index, row, picture }: StagePicture): ManifestRow => {
    const values: JsonObject = { id };
    for (const [name, as] of names) values[as] = row.columns[name] ?? null;
    for (const name of told) values[name] = pictures.values.valueOf(row, name) ?? null;
    if (picture !== undefined) values['picture'] = picture.path;
    const which = index === 0 ? '' : `, picture ${index + 1}`;
    const source = `${path}: scene ${row.id}${which}`;
    return { kind: 'row', columns: values, line: 0, source, ...(picture && { picture }) };
  };
  async function* batches(): AsyncGenerator<ManifestRow[]> {
    let rows: ManifestRow[] = [];
    for (const each of await pictures.choose(notes)) {
      rows.push(rowOf(each));
      if (rows.length < maxBatchRows) continue;
      yield rows;
      rows = [];
      await nextTurn();
    }
    yield rows;
  }
  return {
    path,
    columns: ['id', ...names.map(([, as]) => as), ...told, 'picture'],
    batches: batches(),
    notes,
  };
}
