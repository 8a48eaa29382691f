/** By which two starts see that lists, and what makes scenes of their rows, are the same. */
import { hash } from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { ListReading } from '../core/list-reading.ts';
import type { RulesVersion } from '../core/scene-rules.ts';
import { shownFile } from '../../lib/yaml/yaml-file.ts';
import { program } from '../../lib/files/program.ts';

/** Absolute paths, in the order in which they are read. */
export function valueFiles({ scenes }: Config): string[] {
  const axes = scenes === undefined ? [] : [...scenes.matrix, ...scenes.zip];
  return axes.flatMap(({ source }) => (source.kind === 'file' ? [source.path] : []));
}

/** Returns the keys that say how lists are read. */
export function listKeys({
  header,
  comments,
  encoding,
}: Config): Pick<ListReading, 'header' | 'comments' | 'encoding'> {
  return { header, comments, encoding };
}

/**
 * `contents`: the sha256 of the bytes of each manifest, then of each of `valueFiles`. Another version of the program or of
 * Node may read them otherwise.
 */
export function listDigest(config: Config, rules: RulesVersion, contents: readonly string[]): string {
  const { manifestFiles, columns, scenes, input, output, skipBadRows, skipRepeatedRows } = config;
  // The ending decides the format, and the path as shown stands in every scene.
  const files = [manifestFiles.map(({ path }) => shownFile(path)), contents];
  const readers = [program, process.version];
  const lists = scenes && { ...scenes, exclude: scenes.exclude.map((rule) => [...rule]) };
  const templates = [input?.text ?? null, output.name?.text ?? null];
  return hash(
    'sha256',
    JSON.stringify({
      readers,
      files,
      list: listKeys(config),
      types: [...columns],
      lists,
      templates,
      skipBadRows,
      skipRepeatedRows,
      rules,
    }),
  );
}
