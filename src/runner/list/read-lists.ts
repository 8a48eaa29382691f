/** Returns the scenes of a batch: out of its lists, or without reading them if the batch was compared with the same lists before. */
import { shownFile } from '../../lib/yaml/yaml-file.ts';
import { readComparedDigest, readRules } from '../checkpoint/open-checkpoint.ts';
import type { Config } from '../config/config.ts';
import { hashManifest } from '../manifest/open-bytes.ts';
import { listDigest, valueFiles } from './list-digest.ts';
import { type ListOptions, readScenes, type ReadScenes } from './read-scenes.ts';

/**
 * `known`: set if the batch has a checkpoint that can be read, as its own file or as a copy of a shared one. The caller holds the
 * lock of the batch, or has a copy of the checkpoint in `options.checkpointDir`. Throws `ConfigError`, and the `AbortError` of `signal`.
 */
export async function readLists(
  config: Config,
  options: ListOptions,
  known?: 'own' | 'shared',
): Promise<ReadScenes> {
  const same = known && (await sameScenes(config, options, known === 'shared'));
  return same ?? (await readScenes(config, options));
}

/** Returns undefined if the lists have to be read. Anything that is wrong with them is reported by that reading. */
async function sameScenes(
  config: Config,
  { signal, checkpointDir = config.output.dir }: ListOptions,
  isShared: boolean,
): Promise<ReadScenes | undefined> {
  // The lists do not show if files that are sent, or another batch, have changed.
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
