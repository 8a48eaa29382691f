/** Returns the scenes of a batch. Does not read lists that are the same as at the last comparison. */
import { shownFile } from '../../lib/yaml/yaml-file.ts';
import { readComparedDigest, readRules } from '../checkpoint/open-checkpoint.ts';
import type { Config } from '../config/config.ts';
import { hashManifest } from '../manifest/open-bytes.ts';
import { listDigest } from './read-expansion.ts';
import { type ListOptions, readScenes, type ReadScenes } from './read-scenes.ts';

/**
 * `recordKind`: set if the batch has a readable checkpoint, either its own file or a copy of a shared one. The
 * caller holds the batch's lock, or has a copy of the checkpoint in `options.checkpointDir`. Throws
 * `ConfigError`, and the `AbortError` of `signal`.
 */
export async function readLists(
  config: Config,
  options: ListOptions,
  recordKind?: 'own' | 'shared',
): Promise<ReadScenes> {
  const same = recordKind && (await sameScenes(config, options, recordKind === 'shared'));
  return same ?? (await readScenes(config, options));
}

/** Returns undefined if the lists have to be read. That reading also reports all problems. */
async function sameScenes(
  config: Config,
  { signal, checkpointDir = config.output.dir }: ListOptions,
  isShared: boolean,
): Promise<ReadScenes | undefined> {
  // The lists do not show changes of files that are sent or of another batch.
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
    list: { digest: compared, scenes: unread, badRows: unread, close: () => undefined },
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

/** Returns absolute paths, in the order in which the files are read. */
function valueFiles({ scenes }: Config): string[] {
  const axes = scenes === undefined ? [] : [...scenes.matrix, ...scenes.zip];
  return axes.flatMap(({ source }) => (source.kind === 'file' ? [source.path] : []));
}
