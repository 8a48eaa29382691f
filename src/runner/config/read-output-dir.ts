/** The output folder that a pipeline.yaml names, and hardly anything else of it: for commands that only look. */
import { dirname, resolve } from 'node:path';
import { isPostgresAddress, postgresExpected } from '../../lib/postgres/address.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { readYamlFile, type Override } from '../../lib/yaml/yaml-file.ts';

/** The address of a shared checkpoint and where it stands; undefined where the batch has its own. As below. */
export function readCheckpointAddress(
  file: string,
  overrides: Override[],
  env: NodeJS.ProcessEnv,
): { address: string; where: string } | undefined {
  const { value, placeOf, problems } = readYamlFile(file, env, { overrides });
  const address = isJsonObject(value) ? value['checkpoint'] : undefined;
  const where = placeOf(['checkpoint']);
  const found = problems.filter((problem) => problem.where === where);
  if (found.length > 0) throw new ConfigError(found);
  if (address === undefined || address === null) return undefined;
  if (typeof address === 'string' && isPostgresAddress(address)) return { address, where };
  throw new ConfigError([{ where, text: `checkpoint is not valid; expected ${postgresExpected}` }]);
}

/** Absolute. Problems elsewhere in the file do not matter here: a key that is not set in this terminal, say. Throws `ConfigError`. */
export function readOutputDir(file: string, overrides: Override[], env: NodeJS.ProcessEnv): string {
  const { value, placeOf, problems } = readYamlFile(file, env, { overrides });
  const output = isJsonObject(value) ? value['output'] : undefined;
  const dir = isJsonObject(output) ? output['dir'] : undefined;
  const where = placeOf(['output', 'dir']);
  if (typeof dir !== 'string' || dir === '') {
    throw new ConfigError([problems[0] ?? { where, text: 'output.dir is missing; expected a path' }]);
  }
  const atDir = problems.filter((problem) => problem.where === where);
  if (atDir.length > 0) throw new ConfigError(atDir);
  return resolve(dirname(resolve(file)), dir);
}
