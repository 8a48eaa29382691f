/** Formats paths and commands as people read and paste them. */
import { relative, join } from 'node:path';
import type { Config } from '../runner/config/config.ts';
import { shellWord } from '../lib/text/format.ts';

/**
 * Returns the path relative to the working directory if it is inside. If the working directory is `/`, the
 * path is unchanged.
 */
export function shownPath(path: string): string {
  if (path === '-') return 'standard input';
  if (process.cwd() === '/') return path;
  const short = relative('', path) || '.';
  return short.startsWith('..') ? path : short;
}

/** Returns the manifests, or the pipeline.yaml of the batch before. If there is neither, `file` contains the list. */
export function shownLists({ manifest, stage }: Config, file: string): string[] {
  if (stage !== undefined) return [shownPath(stage.from)];
  return manifest.length === 0 ? [shownPath(file)] : manifest.map(shownPath);
}

/** Returns a note about the kept pictures, or undefined if there are none. */
export function keptText(count: number, dir: string): string | undefined {
  if (count === 0) return undefined;
  const kept =
    count === 1
      ? '1 picture that was there is'
      : `${count.toLocaleString('en')} pictures that were there are`;
  return `${kept} kept as <name>.former in ${shownPath(join(dir, 'images'))}`;
}

/**
 * Returns the arguments as given, so that they work in the same folder. `output` is the output folder if it
 * differs from the one in the file.
 */
export function commandArguments(file: string, output: unknown): string {
  return [file, ...(typeof output === 'string' ? ['--output', output] : [])].map(shellWord).join(' ');
}

/** Inserts the arguments. The code that throws an error does not know the name of the file. */
export function withFileNamed(text: string, others: string): string {
  return text.replaceAll('<pipeline>', () => others);
}

export function configuredArguments(file: string, { output: { dir, isOverridden } }: Config): string {
  return commandArguments(file, isOverridden ? shownPath(dir) : undefined);
}

/**
 * Returns the arguments of `nightrender run`. `others` are those of other commands, which have no manifest.
 * `lists` are the manifests of the batch if they differ from the file's; without them another list would be
 * rendered.
 */
export function runArguments(others: string, lists: readonly string[] = []): string {
  const words = lists.flatMap((path) => ['--manifest', path === '-' ? path : shownPath(path)]);
  return [others, ...words.map(shellWord)].join(' ');
}

export function configuredRun(file: string, config: Config): string {
  const { manifest, isManifestOverridden } = config;
  return runArguments(configuredArguments(file, config), isManifestOverridden ? manifest : []);
}
