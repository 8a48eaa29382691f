/** The output folder that a pipeline.yaml names, and nothing else of it: for commands that only look. */
import { dirname, relative, resolve } from 'node:path';
import { isJsonObject } from '../core/json.ts';
import { withOverrides, type Override } from './override.ts';
import { ConfigError } from './problem.ts';
import { readText } from './read-text.ts';
import { readYaml } from './yaml-file.ts';

/** Absolute. Problems elsewhere in the file do not matter here: a key that is not set in this terminal, say. Throws `ConfigError`. */
export function readOutputDir(file: string, overrides: Override[], env: NodeJS.ProcessEnv): string {
  const shown = relative('', file) || file;
  const yaml = readYaml(shown, readText(file, shown), env);
  const { value, placeOf } = withOverrides(yaml, overrides);
  const output = isJsonObject(value) ? value['output'] : undefined;
  const dir = isJsonObject(output) ? output['dir'] : undefined;
  const where = placeOf(['output', 'dir']);
  if (typeof dir !== 'string' || dir === '') {
    throw new ConfigError([yaml.problems[0] ?? { where, text: 'output.dir is missing; expected a path' }]);
  }
  const atDir = yaml.problems.filter((problem) => problem.where === where);
  if (atDir.length > 0) throw new ConfigError(atDir);
  return resolve(dirname(resolve(file)), dir);
}
