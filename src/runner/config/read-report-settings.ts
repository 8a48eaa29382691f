/** What pipeline.yaml says of the report, and nothing else of it: for `report`, which needs no key and no manifest. */
import type { Config } from './config.ts';
import { checkPart } from './check-pipeline.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { readYamlFile, type Override } from '../../lib/yaml/yaml-file.ts';
import { reportPartSchema } from './schema.ts';

export interface ReportSettings {
  hasThumbnails: boolean;
  output: Pick<Config['output'], 'formats' | 'metadata'>;
}

/** Throws `ConfigError`. */
export function readReportSettings(
  file: string,
  overrides: Override[],
  env: NodeJS.ProcessEnv,
): ReportSettings {
  const yaml = readYamlFile(file, env, { overrides });
  const { raw, problems } = checkPart(reportPartSchema, yaml, []);
  if (raw === undefined) throw new ConfigError(problems);
  const { formats, metadata } = raw.output;
  return { hasThumbnails: raw.report.thumbnails, output: { formats, metadata } };
}
