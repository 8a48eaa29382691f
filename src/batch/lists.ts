/** Reads the lists of a batch: with standard input, with the pictures of other batches, and by the rules of pictures that are adopted, since other rules would make other scenes. */
import { hasPicturesOrJobs } from '../runner/checkpoint/read-totals.ts';
import { readJobsInFlight, openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import type { Config } from '../runner/config/config.ts';
import { readLists } from '../runner/list/read-lists.ts';
import { type ReadScenes, readScenes } from '../runner/list/read-scenes.ts';
import { type Stop, StoppedEarly } from '../runner/pipeline/stop.ts';
import { openStage } from './stage-list.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject, type JsonObject } from '../lib/text/json.ts';
import { wordsOf } from '../runner/core/default-name.ts';
import { withoutFormat } from '../runner/core/picture-format.ts';
import { newestRules, readRulesVersion, type RulesVersion } from '../runner/core/scene-rules.ts';
import { createImageStore } from '../runner/images/image-store.ts';
import { pictureName } from '../runner/pipeline/picture-names.ts';
import type { ImageStore } from '../runner/pipeline/ports.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { maintenanceOptions } from './output-files.ts';
import { openPlaces } from './pictures-place.ts';

/** The checkpoint of the batch, if there is one: in `dir`, where `known` says that it can be read, or about to be made there. */
export interface ListedBatch {
  dir: string;
  known: 'own' | 'shared' | undefined;
  isAdopting: boolean;
  /** Gets a sentence whenever a bucket does not answer. */
  onTrouble: (text: string) => void;
}

/** Throws `ConfigError`, and the `AbortError` of `signal`. */
export async function batchLists(
  config: Config,
  { dir, known, isAdopting, onTrouble }: ListedBatch,
  signal: AbortSignal,
): Promise<ReadScenes> {
  const rules = isAdopting ? await adoptedRules(config, dir, onTrouble, signal) : undefined;
  const options = { stdin: process.stdin, signal, openStage, checkpointDir: dir, rules };
  return readLists(config, options, rules === undefined ? known : undefined);
}

/** Returns undefined if a stop cut the reading short while jobs are in flight, whose results are to be collected nevertheless. */
export async function readUnlessStopped(
  config: Config,
  batch: ListedBatch,
  stop: Stop,
): Promise<ReadScenes | undefined> {
  try {
    return await batchLists(config, batch, stop.draining);
  } catch (error) {
    if (stop.ending === undefined || !isAbort(error)) throw error;
    if (!stop.leaving.aborted && readJobsInFlight(batch.dir).length > 0) return undefined;
    throw new StoppedEarly(stop.ending, 'The manifest was still being read: nothing was sent or changed.');
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/**
 * As most of the pictures say, else the report, else their names; undefined where the batch has pictures or jobs on record, or nothing says.
 * `checkpointDir`: where its checkpoint is, or a copy. Throws the `AbortError` of `signal`.
 */
export async function adoptedRules(
  config: Config,
  checkpointDir: string,
  onTrouble: (text: string) => void,
  signal: AbortSignal,
): Promise<RulesVersion | undefined> {
  if (hasBegun(checkpointDir)) return undefined;
  const { output, env } = config;
  const { dir, pictures: url } = output;
  const places = await openPlaces({ dir, url, env, bucket: { onTrouble } });
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

/** From all over the folder, so that those of another batch are outvoted. */
const lookedAt = 100;

async function rulesOf(
  images: Pick<ImageStore, 'list' | 'examine'>,
  signal: AbortSignal,
): Promise<RulesVersion | undefined> {
  const files = await images.list();
  const votes = new Map<RulesVersion, number>();
  const apart = Math.max(1, files.length / lookedAt);
  for (let at = 0; at < files.length; at += apart) {
    signal.throwIfAborted();
    const seen = await images.examine(files[Math.floor(at)] ?? '');
    const rules = 'picture' in seen ? seen.origin?.rules : undefined;
    if (rules !== undefined) votes.set(rules, (votes.get(rules) ?? 0) + 1);
  }
  return [...votes].toSorted(([, a], [, b]) => b - a)[0]?.[0];
}

/** The rules by which most pictures have the names of scenes: by others, rows have other ids. */
async function rulesByNames(
  config: Config,
  files: string[],
  checkpointDir: string,
  signal: AbortSignal,
): Promise<RulesVersion | undefined> {
  // Standard input is read once only.
  if (files.length === 0 || config.manifest.includes('-')) return undefined;
  const stems = new Set(files.map(withoutFormat));
  const named: [RulesVersion, number][] = [];
  for (const rules of [newestRules, 3] as const)
    named.push([rules, await countNamed(config, stems, rules, checkpointDir, signal)]);
  return named.toSorted(([, a], [, b]) => b - a)[0]?.[0];
}

/** Among the first scenes of the list; none of a list that is refused. */
async function countNamed(
  config: Config,
  stems: ReadonlySet<string>,
  rules: RulesVersion,
  checkpointDir: string,
  signal: AbortSignal,
): Promise<number> {
  try {
    const { stage } = await readScenes(config, {
      stdin: process.stdin,
      signal,
      openStage,
      checkpointDir,
      rules,
    });
    const named = { ...config, names: wordsOf(rules) };
    let [seen, count] = [0, 0];
    for (const { id, input, columns } of stage.scenes()) {
      const scene = { input: JSON.parse(input) as JsonObject, columns: JSON.parse(columns) as JsonObject };
      if (stems.has(withoutFormat(pictureName(named, { id, ...scene, seed: '', index: 1 })))) count += 1;
      seen += 1;
      if (seen === lookedAt) break;
    }
    stage.close();
    return count;
  } catch (error) {
    if (error instanceof ConfigError) return 0;
    throw error;
  }
}

/** Undefined where there is none. */
function reportedRules(dir: string): RulesVersion | undefined {
  try {
    const summary: unknown = JSON.parse(readFileSync(join(dir, 'report/summary.json'), 'utf8'));
    return isJsonObject(summary) ? readRulesVersion(summary['rules']) : undefined;
  } catch {
    return undefined;
  }
}
