/** The list of a stage: the saved pictures of another batch as rows of a manifest. */
import { openRecord } from './find-record.ts';
import { dirname, join, relative, resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { realPath } from '../lib/files/real-path.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { shellWord } from '../lib/text/format.ts';
import { isJsonObject, type JsonObject } from '../lib/text/json.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { readYamlFile, shownFile } from '../lib/yaml/yaml-file.ts';
import { type BatchIdentity, readBatch, resultColumns } from '../runner/checkpoint/batch-identity.ts';
import { asDamage } from '../runner/checkpoint/damage.ts';
import { openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import type { Config, StageSource } from '../runner/config/config.ts';
import { pipelineIn } from '../runner/config/pipeline-in.ts';
import { PipelineParts } from '../runner/config/pipeline-parts.ts';
import { type ManifestRow, maxBatchRows } from '../runner/manifest/manifest.ts';
import { noBatch } from './record.ts';
import type { StageManifest } from '../runner/list/read-scenes.ts';
import { assertBucketConfigured, picturesFolder } from './pictures-place.ts';
import { addedColumns } from '../runner/list/scene-columns.ts';
import { type StagePicture, StagePictures } from '../runner/list/stage-pictures.ts';

/** Reads the other batch, even while it runs. Writes and locks nothing there. Throws `ConfigError`. */
export async function openStage(stage: StageSource, config: Config): Promise<StageManifest> {
  const { from } = stage;
  const place = config.placeOf(['scenes', 'from']);
  assertNoCircle(config, from, place);
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
    if (batch.pictures && config.input?.sendsFiles)
      await assertBucketConfigured(batch.pictures.url, config.env);
    const pictures = new StagePictures(db, batch, pathsOf(stage, config, batch, dir), stage, config.placeOf);
    const rows = manifestOf(pictures, batch, config, shownFile(from));
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
  const text = `${shownFile(from)} has not begun, so it has no pictures yet; \`nightrender run ${both}\` runs both, one after the other`;
  return problem(place, text);
}

function problem(where: string, text: string): ConfigError {
  return new ConfigError([{ where, text }]);
}

/** Throws if files take their lists from each other, because none of them could begin. */
function assertNoCircle({ file, env }: Config, from: string, where: string): void {
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

/**
 * Returns functions for paths relative to the folder of the stage's own pipeline.yaml, as in the input of a
 * scene.
 */
function pathsOf({ from }: StageSource, { folder }: Config, { pictures }: BatchIdentity, dir: string) {
  const images = pictures === undefined ? join(dir, 'images') : pictures.url + picturesFolder;
  return {
    pathOf: (file: string): string =>
      pictures === undefined ? relative(folder, join(images, file)) : images + file,
    passedOn: (path: string): string =>
      path.startsWith('s3://') ? path : relative(folder, resolve(dirname(from), path)),
  };
}

function manifestOf(
  pictures: StagePictures,
  batch: BatchIdentity,
  config: Config,
  path: string,
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
  const notes: string[] = [];
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
