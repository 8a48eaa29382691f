/** The scenes of a batch whose manifests and templates are what they were at the last comparison: nothing is read. */
import { readComparedDigest, readSeedBits } from '../runner/checkpoint/open-checkpoint.ts';
import type { Config } from '../runner/config/config.ts';
import { shownFile } from '../lib/yaml/yaml-file.ts';
import { hashManifest } from '../runner/manifest/open-bytes.ts';
import type { ReadScenes } from './read-scenes.ts';
import { hash } from 'node:crypto';
import { program } from './version.ts';

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
  // Whether files that are sent have changed, the list does not show.
  if (config.input?.sendsFiles === true) return undefined;
  const compared = await orUndefined(signal, () => readComparedDigest(checkpointDir, isShared));
  if (compared === undefined) return undefined;
  const contents: string[] = [];
  for (const path of [...config.manifest, ...valueFiles(config)]) {
    if (path === '-') return undefined;
    const content = await orUndefined(signal, () => hashManifest(shownFile(path), signal));
    if (content === undefined) return undefined;
    contents.push(content);
  }
  if (listDigest(config, contents) !== compared) return undefined;
  return {
    stage: { digest: compared, scenes: unread, badRows: unread, close: () => undefined },
    // The checkpoint knows them.
    columns: [],
    seedBits: readSeedBits(checkpointDir),
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

/** Absolute paths, in the order in which they are read. */
function valueFiles({ scenes }: Config): string[] {
  const axes = scenes === undefined ? [] : [...scenes.matrix, ...scenes.zip];
  return axes.flatMap(({ source }) => (source.kind === 'file' ? [source.path] : []));
}

/**
 * `contents`: the sha256 of the bytes of each manifest, then of each of `valueFiles`. Another version of the program or of
 * Node may read them otherwise.
 */
export function listDigest(
  { manifest, columns, scenes, input, output, skipBadRows }: Config,
  contents: readonly string[],
): string {
  // The ending decides the format, and the path as shown stands in every scene.
  const files = [manifest.map(shownFile), contents];
  const readers = [program, process.version];
  const lists = scenes && { ...scenes, exclude: scenes.exclude.map((rule) => [...rule]) };
  const templates = [input?.text ?? null, output.name?.text ?? null];
  return hash(
    'sha256',
    JSON.stringify({ readers, files, types: [...columns], lists, templates, skipBadRows }),
  );
}
