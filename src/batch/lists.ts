/** Reads the lists of a batch as commands do: with standard input, with the pictures of other batches, and by the rules of pictures that are adopted. */
import { readJobsInFlight } from '../runner/checkpoint/open-checkpoint.ts';
import type { Config } from '../runner/config/config.ts';
import { readLists } from '../runner/list/read-lists.ts';
import type { ReadScenes } from '../runner/list/read-scenes.ts';
import { type Stop, StoppedEarly } from '../runner/pipeline/stop.ts';
import { adoptedRules } from './adopted-rules.ts';
import { openStage } from './stage-list.ts';

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
