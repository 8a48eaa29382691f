/** The address that a pipeline.yaml names, and nothing else of it: for commands that send nothing there. */
import { isJsonObject } from '../../lib/text/json.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { readYamlFile } from '../../lib/yaml/yaml-file.ts';
import { endpointUrl } from './read-config.ts';
import { baseUrlExpected } from './endpoint-schema.ts';

/** In the spelling under which jobs are recorded. Throws `ConfigError`. */
export function readBaseUrl(file: string, env: NodeJS.ProcessEnv): string {
  const yaml = readYamlFile(file, env);
  const endpoint = isJsonObject(yaml.value) ? yaml.value['endpoint'] : undefined;
  const baseUrl = isJsonObject(endpoint) ? endpoint['baseUrl'] : undefined;
  const where = yaml.placeOf(['endpoint', 'baseUrl']);
  const problems = yaml.problems.filter((problem) => problem.where === where);
  if (problems.length > 0) throw new ConfigError(problems);
  if (typeof baseUrl === 'string' && baseUrlExpected(baseUrl) === undefined) return endpointUrl(baseUrl);
  throw new ConfigError([
    yaml.problems[0] ?? { where, text: 'endpoint.baseUrl is no address; expected local or http(s)://…' },
  ]);
}
