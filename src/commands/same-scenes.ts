/** The scenes of a batch as a run needs them: nothing is read where manifests and templates are what they were, and a stop cuts it short. */
import { readComparedDigest, readJobsInFlight, readRules } from '../runner/checkpoint/open-checkpoint.ts';
import type { Config } from '../runner/config/config.ts';
import type { Stop } from '../runner/pipeline/stop.ts';
import { shownFile } from '../lib/yaml/yaml-file.ts';
import { hashManifest } from '../runner/manifest/open-bytes.ts';
import { adoptedRules } from './adopted-rules.ts';
import { listDigest, valueFiles } from './list-digest.ts';
import { readScenes, type ReadScenes } from './read-scenes.ts';
import { StoppedEarly } from './signals.ts';

/**
 * For those who hold the batch's lock, or have a copy of its checkpoint in `checkpointDir`, as of a batch that `isShared`. Undefined where the manifests
 * have to be read, also where anything is wrong: the reading reports that. Throws the `AbortError` of `signal`.
 */
export async function sameScenes(
  config: Config,
  signal: AbortSignal,
  checkpointDir = config.output.dir,
  isShared = false,
): Promise<ReadScenes | undefined> {
  // Whether files that are sent, or another batch, have changed, the list does not show.
  if (config.input?.sendsFiles === true || config.stage !== undefined) return undefined;
  const compared = await orUndefined(signal, () => readComparedDigest(checkpointDir, isShared));
  if (compared === undefined) return undefined;
  const contents: string[] = [];
  const lists = config.manifestFiles.map(({ path }) => path);
  for (const path of [...lists, ...valueFiles(config)]) {
    if (path === '-') return undefined;
    const content = await orUndefined(signal, () => hashManifest(shownFile(path), signal));
    if (content === undefined) return undefined;
    contents.push(content);
  }
  const rules = readRules(checkpointDir);
  if (listDigest(config, rules, contents) !== compared) return undefined;
  return {
    stage: { digest: compared, scenes: unread, badRows: unread, close: () => undefined },
    // The checkpoint knows them.
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
  throw new Error('the manifest was not read, since the batch has been compared with it before');
}

/**
 * Undefined where a stop cut the reading short and there is something in flight to be collected nevertheless. `known`:
 * where the checkpoint of a batch that is there already can be read.
 */
export async function readUnlessStopped(
  config: Config,
  stop: Stop,
  known: { dir: string; isShared: boolean } | undefined,
  isAdopting: boolean,
): Promise<ReadScenes | undefined> {
  const dir = known?.dir ?? config.output.dir;
  try {
    const rules = isAdopting ? await adoptedRules(config, dir, stop.draining) : undefined;
    const isKnown = known !== undefined && rules === undefined;
    const same = isKnown ? await sameScenes(config, stop.draining, dir, known.isShared) : undefined;
    return same ?? (await readScenes(config, process.stdin, stop.draining, dir, rules));
  } catch (error) {
    if (stop.ending === undefined || !isAbort(error)) throw error;
    if (!stop.leaving.aborted && readJobsInFlight(dir).length > 0) return undefined;
    throw new StoppedEarly(stop.ending, untouched);
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

const untouched = 'The manifest was still being read: nothing was sent or changed.';
