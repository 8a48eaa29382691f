/** What follows `nightrender retry` or `run` in commands that people paste. */
import type { Config } from '../runner/config/config.ts';
import { shellWord } from '../lib/text/format.ts';
import { shownPath } from './shown-path.ts';

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
