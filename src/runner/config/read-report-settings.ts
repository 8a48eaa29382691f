/** What pipeline.yaml says of the report, and nothing else of it: for `report`, which needs no key and no manifest. */
import type { Config } from './config.ts';
import { checkPart } from './check-pipeline.ts';
import { withOverrides, type Override } from '../../lib/yaml/override.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { readText } from '../../lib/yaml/read-text.ts';
import { reportPartSchema } from './schema.ts';
import { shownFile } from '../../lib/yaml/shown-file.ts';
import { readYaml } from '../../lib/yaml/read-yaml.ts';

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
  const shown = shownFile(file);
  const yaml = withOverrides(readYaml(shown, readText(file, shown), env), overrides);
  const { raw, problems } = checkPart(reportPartSchema, yaml, []);
  if (raw === undefined) throw new ConfigError(problems);
  const { formats, metadata } = raw.output;
  return { hasThumbnails: raw.report.thumbnails, output: { formats, metadata } };
}
