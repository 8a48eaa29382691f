/** The configuration of a command that has options of its own: what is wrong with either is told at once. */
import type { Config } from '../runner/config/config.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { readConfig } from '../runner/config/read-config.ts';
import { overridesOf } from './run-options.ts';

/** `problems` are those of the options. Throws `ConfigError` where the file has any, with all of them. */
export function readConfigWithOptions(
  problems: Problem[],
  file: string,
  argv: Record<string, unknown>,
): Config {
  try {
    return readConfig(file, overridesOf(argv, process.env), process.env);
  } catch (thrown) {
    throw thrown instanceof ConfigError ? new ConfigError([...problems, ...thrown.problems]) : thrown;
  }
}
