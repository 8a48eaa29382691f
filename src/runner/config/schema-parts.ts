/** Parts of a pipeline.yaml that its schema checks, for commands that need no others. */
import { checkAgainst } from '../../lib/yaml/check-shape.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { filesAsked } from '../core/picture.ts';
import { type Config, type PipelineParts, valueAt } from './config.ts';
import { baseUrlExpected, endpointUrl, pipelineLayout, reportPartSchema } from './pipeline-schema.ts';
import { readServiceInterface, withServiceDefaults } from './service-interface.ts';

/** Keys that decide about the report and the files next to pictures. */
export interface ReportKeys extends Pick<Config, 'report'> {
  output: Pick<Config['output'], 'formats' | 'files' | 'keep' | 'metadata' | 'pictures'>;
}

/** Throws `ConfigError`. */
export function readReportKeys({ yaml }: PipelineParts): ReportKeys {
  const { raw, problems } = checkAgainst(reportPartSchema, yaml, [], pipelineLayout());
  if (raw === undefined) throw new ConfigError(problems);
  const { formats, keep, metadata, pictures, image, files } = raw.output;
  const output = { formats, keep, metadata, pictures, files: filesAsked(image, files) };
  return { report: raw.report, output };
}

/** Returns `endpoint.baseUrl` in the form in which jobs are recorded under it. Throws `ConfigError`. */
export function readBaseUrl({ yaml: read, file, env }: PipelineParts): string {
  const yaml = withServiceDefaults(read, readServiceInterface(read, file, env));
  const { value: baseUrl, where, problems } = valueAt(yaml, ['endpoint', 'baseUrl']);
  if (problems.length > 0) throw new ConfigError(problems);
  if (typeof baseUrl === 'string' && baseUrlExpected(baseUrl) === undefined) return endpointUrl(baseUrl);
  throw new ConfigError([
    yaml.problems[0] ?? { where, text: 'endpoint.baseUrl is not a URL; expected local or http(s)://…' },
  ]);
}
