/** What follows `nightrender run` or `retry` in commands that people paste. */
import type { Config } from '../config/config.ts';
import { shellWord } from '../core/shell-word.ts';
import { shownPath } from './shown-path.ts';

/** As it was given here, so that it works in the same place. `output`: the folder, where it is not the file's own. */
export function commandArguments(file: string, output: unknown): string {
  return [file, ...(typeof output === 'string' ? ['--output', output] : [])].map(shellWord).join(' ');
}

export function configuredArguments(file: string, { output: { dir, isOverridden } }: Config): string {
  return commandArguments(file, isOverridden ? shownPath(dir) : undefined);
}
