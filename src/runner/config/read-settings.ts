/** Single settings of pipeline.yaml, for commands that need no others: its URL, and those of the report. */
import { isJsonObject } from '../../lib/text/json.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { readYamlFile, type Override } from '../../lib/yaml/yaml-file.ts';
import { baseUrlExpected, endpointUrl, pipelineLayout, reportPartSchema } from './schema.ts';
import { readServiceInterface, withServiceDefaults } from './service-interface.ts';
import { filesAsked } from '../core/named-file.ts';
import type { Config } from './config.ts';
import { checkAgainst } from '../../lib/yaml/check-shape.ts';

/** As jobs are recorded under it. Throws `ConfigError`. */
export function readBaseUrl(file: string, env: NodeJS.ProcessEnv): string {
  const read = readYamlFile(file, env);
  const yaml = withServiceDefaults(read, readServiceInterface(read, file, env));
  const endpoint = isJsonObject(yaml.value) ? yaml.value['endpoint'] : undefined;
  const baseUrl = isJsonObject(endpoint) ? endpoint['baseUrl'] : undefined;
  const where = yaml.placeOf(['endpoint', 'baseUrl']);
  const problems = yaml.problems.filter((problem) => problem.where === where);
  if (problems.length > 0) throw new ConfigError(problems);
  if (typeof baseUrl === 'string' && baseUrlExpected(baseUrl) === undefined) return endpointUrl(baseUrl);
  throw new ConfigError([
    yaml.problems[0] ?? { where, text: 'endpoint.baseUrl is not a URL; expected local or http(s)://…' },
  ]);
}

export interface ReportSettings {
  hasThumbnails: boolean;
  hasBom: boolean;
  separator: string;
  output: Pick<Config['output'], 'formats' | 'files' | 'keep' | 'metadata' | 'pictures'>;
}

/** Throws `ConfigError`. */
export function readReportSettings(
  file: string,
  overrides: Override[],
  env: NodeJS.ProcessEnv,
): ReportSettings {
  const yaml = readYamlFile(file, env, { overrides });
  const { raw, problems } = checkAgainst(reportPartSchema, yaml, [], pipelineLayout());
  if (raw === undefined) throw new ConfigError(problems);
  const { formats, keep, metadata, pictures } = raw.output;
  const files = filesAsked(raw.output.image, raw.output.files);
  const { thumbnails: hasThumbnails, bom: hasBom, separator } = raw.report;
  return { hasThumbnails, hasBom, separator, output: { formats, files, keep, metadata, pictures } };
}
