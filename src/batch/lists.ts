/** Reads the lists of a batch, including standard input, pictures of other batches, and the rules of adopted pictures. */
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

/** The checkpoint of the batch. It is in `dir` and readable if `known` is set; otherwise it will be created there. */
export interface ListedBatch {
  dir: string;
  known: 'own' | 'shared' | undefined;
  isAdopting: boolean;
  /** Called with a sentence when a bucket does not answer. */
  onTrouble: (text: string) => void;
}

/** Reads the lists. Throws `ConfigError`, and the `AbortError` of `signal`. */
export async function batchLists(
  config: Config,
  { dir, known, isAdopting, onTrouble }: ListedBatch,
  signal: AbortSignal,
): Promise<ReadScenes> {
  const rules = isAdopting ? await adoptedRules(config, dir, onTrouble, signal) : undefined;
  const options = { stdin: process.stdin, signal, openStage, checkpointDir: dir, rules };
  return readLists(config, options, rules === undefined ? known : undefined);
}

/**
 * Reads the lists. Undefined if a stop interrupted the reading while jobs are in flight, because their
 * results still have to be collected.
 */
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
    throw new StoppedEarly(
      stop.ending,
      'The run was still reading the manifest: nothing was sent or changed.',
    );
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
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

/** Number of pictures to examine, spread over the folder, so that pictures of another batch are in the minority. */
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

/** Returns the rules by which most pictures have names of scenes. With other rules, rows have other ids. */
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

/** Counts names among the first scenes of the list. 0 if the list is refused. */
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

/** Returns undefined if there is no report. */
function reportedRules(dir: string): RulesVersion | undefined {
  try {
    const summary: unknown = JSON.parse(readFileSync(join(dir, 'report/summary.json'), 'utf8'));
    return isJsonObject(summary) ? readRulesVersion(summary['rules']) : undefined;
  } catch {
    return undefined;
  }
}
