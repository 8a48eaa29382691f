/** Computes the digest by which a start sees that lists, and the settings that make scenes of them, are unchanged. */
import { hash } from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { ListReading } from '../core/list-reading.ts';
import type { RulesVersion } from '../core/scene-rules.ts';
import { shownFile } from '../../lib/yaml/yaml-file.ts';
import { program } from '../../lib/files/program.ts';

/** Returns absolute paths, in the order in which the files are read. */
export function valueFiles({ scenes }: Config): string[] {
  const axes = scenes === undefined ? [] : [...scenes.matrix, ...scenes.zip];
  return axes.flatMap(({ source }) => (source.kind === 'file' ? [source.path] : []));
}

/** Returns the settings that say how lists are read. */
export function listKeys({
  header,
  comments,
  encoding,
}: Config): Pick<ListReading, 'header' | 'comments' | 'encoding'> {
  return { header, comments, encoding };
}

/**
 * `contents`: the sha256 of each manifest's bytes, then of each of `valueFiles`. Includes the versions of the
 * program and of Node, because other versions may read the lists differently.
 */
export function listDigest(config: Config, rules: RulesVersion, contents: readonly string[]): string {
  const { manifestFiles, columns, scenes, input, output, skipBadRows, skipRepeatedRows } = config;
  // The file extension decides the format, and the displayed path is part of every scene.
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
