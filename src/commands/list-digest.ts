/** What decides the scenes of a batch, in one digest: while it stays the same, so does every scene. */
import { hash } from 'node:crypto';
import type { Config } from '../runner/config/config.ts';
import { shownFile } from '../lib/yaml/yaml-file.ts';
import { program } from './version.ts';

/**
 * `contents`: the sha256 of the bytes of each manifest, then of each of `valueFiles`. Another version of the program or of
 * Node may read them otherwise.
 */
export function listDigest(
  { manifest, columns, scenes, input, output, skipBadRows }: Config,
  contents: readonly string[],
): string {
  // The ending tells the format, and the path as shown stands in every scene.
  const files = [manifest.map(shownFile), contents];
  const readers = [program, process.version];
  const lists = scenes && { ...scenes, exclude: scenes.exclude.map((rule) => [...rule]) };
  const templates = [input?.text ?? null, output.name.text];
  return hash(
    'sha256',
    JSON.stringify({ readers, files, types: [...columns], lists, templates, skipBadRows }),
  );
}
