/** The output folder that a pipeline.yaml names, and hardly anything else of it: for commands that only look, and for a first look. */
import { dirname, resolve } from 'node:path';
import { isJsonObject } from '../../lib/text/json.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { readYamlFile, type Override } from '../../lib/yaml/yaml-file.ts';

export interface Glance {
  /** Absolute. */
  outputDir: string;
  /** Whether `terminal.json` is asked for. */
  isJson: boolean;
}

/** Absolute. Problems elsewhere in the file do not matter here: a key that is not set in this terminal, say. Throws `ConfigError`. */
export function readOutputDir(file: string, overrides: Override[], env: NodeJS.ProcessEnv): string {
  return readGlance(file, overrides, env).outputDir;
}

/** As `readOutputDir` does, and without the schema, which takes longer to load than all of this to be done. */
export function readGlance(file: string, overrides: Override[], env: NodeJS.ProcessEnv): Glance {
  const { value, placeOf, problems } = readYamlFile(file, env, { overrides });
  const dir = valueIn(value, 'output', 'dir');
  const where = placeOf(['output', 'dir']);
  if (typeof dir !== 'string' || dir === '') {
    throw new ConfigError([problems[0] ?? { where, text: 'output.dir is missing; expected a path' }]);
  }
  const atDir = problems.filter((problem) => problem.where === where);
  if (atDir.length > 0) throw new ConfigError(atDir);
  // Out of the environment it is a text.
  const isJson = String(valueIn(value, 'terminal', 'json')) === 'true';
  return { outputDir: resolve(dirname(resolve(file)), dir), isJson };
}

function valueIn(value: unknown, section: string, key: string): unknown {
  const inner = isJsonObject(value) ? value[section] : undefined;
  return isJsonObject(inner) ? inner[key] : undefined;
}
