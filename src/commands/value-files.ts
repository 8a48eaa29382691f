/** The files that the lists of `scenes` come from. */
import type { Config } from '../runner/config/config.ts';

/** Absolute paths, in the order in which they are read. */
export function valueFiles({ scenes }: Config): string[] {
  const axes = scenes === undefined ? [] : [...scenes.matrix, ...scenes.zip];
  return axes.flatMap(({ source }) => (source.kind === 'file' ? [source.path] : []));
}
