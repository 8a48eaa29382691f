/** What is said where a command looks for a batch and there is none. */
import { ConfigError } from '../config/problem.ts';
import { shownPath } from './shown-path.ts';

export function noBatch(dir: string): ConfigError {
  return new ConfigError([
    { where: shownPath(dir), text: 'there is no batch here yet; `nightrender run` begins one' },
  ]);
}
