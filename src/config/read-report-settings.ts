/** What pipeline.yaml says of the report, and nothing else of it: for `report`, which needs no key and no manifest. */
import type { Config } from './config.ts';
import { checkAgainst } from './check-shape.ts';
import { withOverrides, type Override } from './override.ts';
import { ConfigError } from './problem.ts';
import { readText } from './read-text.ts';
import { reportPartSchema } from './schema.ts';
import { shownFile } from './shown-file.ts';
import { readYaml } from './read-yaml.ts';

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
  const { raw, problems } = checkAgainst(reportPartSchema, yaml, []);
  if (raw === undefined) throw new ConfigError(problems);
  const { formats, metadata } = raw.output;
  return { hasThumbnails: raw.report.thumbnails, output: { formats, metadata } };
}
