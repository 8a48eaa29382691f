/** Parts of a pipeline.yaml that its schema checks, for commands that need no others. */
import { checkAgainst } from '../../lib/yaml/check-shape.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { filesAsked, imageOf } from '../core/picture.ts';
import { type Config, type PipelineParts } from './config.ts';
import { pipelineLayout, reportPartSchema } from './pipeline-schema.ts';

/** Keys that decide about the report and the files next to pictures. */
export interface ReportKeys extends Pick<Config, 'report'> {
  output: Pick<Config['output'], 'formats' | 'files' | 'keep' | 'metadata' | 'pictures'>;
}

/** Throws `ConfigError`. */
export function readReportKeys({ yaml }: PipelineParts): ReportKeys {
  const { raw, problems } = checkAgainst(reportPartSchema, yaml, [], pipelineLayout());
  if (raw === undefined) throw new ConfigError(problems);
  const { formats, keep, metadata, pictures, files } = raw.output;
  const output = { formats, keep, metadata, pictures, files: filesAsked(imageOf(raw.output), files) };
  return { report: raw.report, output };
}
