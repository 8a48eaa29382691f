/** Paths and commands as people read and paste them. */
import { relative, join } from 'node:path';
import type { Config } from '../runner/config/config.ts';
import { shellWord } from '../lib/text/format.ts';

/** Relative to the working directory where it is inside of it; below `/`, where everything is, as it is. */
export function shownPath(path: string): string {
  if (path === '-') return 'standard input';
  if (process.cwd() === '/') return path;
  const short = relative('', path) || '.';
  return short.startsWith('..') ? path : short;
}

/** The manifests, or the pipeline.yaml of the batch before; where there is neither, `file`, which says everything. */
export function shownLists({ manifest, stage }: Config, file: string): string[] {
  if (stage !== undefined) return [shownPath(stage.from)];
  return manifest.length === 0 ? [shownPath(file)] : manifest.map(shownPath);
}

/** Undefined where there are none. */
export function keptText(count: number, dir: string): string | undefined {
  if (count === 0) return undefined;
  const kept =
    count === 1
      ? '1 picture that was there is'
      : `${count.toLocaleString('en')} pictures that were there are`;
  return `${kept} kept as <name>.former in ${shownPath(join(dir, 'images'))}`;
}

/** As it was given here, so that it works in the same place. `output`: the folder, where it is not the file's own. */
export function commandArguments(file: string, output: unknown): string {
  return [file, ...(typeof output === 'string' ? ['--output', output] : [])].map(shellWord).join(' ');
}

/** Where an error is thrown, the name of the file is not known yet. */
export function withFileNamed(text: string, others: string): string {
  return text.replaceAll('<pipeline>', () => others);
}

export function configuredArguments(file: string, { output: { dir, isOverridden } }: Config): string {
  return commandArguments(file, isOverridden ? shownPath(dir) : undefined);
}

/**
 * What follows `nightrender run`: `others` is what follows other commands, which take no manifest. `lists`: those that the
 * batch comes from, where they are not the file's own; without them another list would be rendered.
 */
export function runArguments(others: string, lists: readonly string[] = []): string {
  const words = lists.flatMap((path) => ['--manifest', path === '-' ? path : shownPath(path)]);
  return [others, ...words.map(shellWord)].join(' ');
}

export function configuredRun(file: string, config: Config): string {
  const { manifest, isManifestOverridden } = config;
  return runArguments(configuredArguments(file, config), isManifestOverridden ? manifest : []);
}
