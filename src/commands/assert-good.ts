/** Whether the scenes that were read can be rendered: all that is wrong with the list is told at once. */
import type { ManifestStage } from '../runner/checkpoint/manifest-stage.ts';
import type { Config } from '../runner/config/config.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { shownFile } from '../lib/yaml/shown-file.ts';
import { axesOf, lacking, thereIs } from './scene-columns.ts';
import { undeclared } from './typed-row.ts';

interface WhatWasRead {
  config: Config;
  stage: ManifestStage;
  columns: ReadonlySet<string>;
  /** What is wrong besides bad rows. */
  problems: Problem[];
}

/** Throws `ConfigError`; bad rows pass where `skipBadRows` says so. */
export function assertGood({ config, stage, columns, problems }: WhatWasRead): void {
  const unknown = problems.length === 0 ? unknownColumns(config, columns) : [];
  if (unknown.length > 0) throw new ConfigError(unknown);
  const bad = config.skipBadRows ? [] : [...badRowProblems(stage)];
  if (problems.length + bad.length > 0) throw new ConfigError([...problems, ...bad]);
  if (stage.count().scenes > 0) return;
  const files = config.manifest.map((path) => (path === '-' ? 'standard input' : shownFile(path)));
  const where = files.length > 0 ? files.join(', ') : config.placeOf(['scenes'], true);
  throw new ConfigError([{ where, text: 'there is no scene in it to render' }]);
}

/** JSON Lines show what columns they have when all is read; without any, there is no good row to speak of. */
function unknownColumns(config: Config, columns: ReadonlySet<string>): Problem[] {
  const axes = axesOf(config);
  if (columns.size === 0 && config.manifest.length > 0) return [];
  const all = new Set([...columns, ...axes]);
  return [...undeclared(config, all), ...lacking(config, all, thereIs('the manifest', [...columns], axes))];
}

/** As many as a person can be shown without filling the memory. */
const mostBadRows = 100_000;

function* badRowProblems(stage: ManifestStage): Generator<Problem> {
  let left = mostBadRows;
  for (const { source, problem } of stage.badRows()) {
    if (left === 0) break;
    left -= 1;
    yield { where: source, text: problem };
  }
  const more = stage.count().badRows - mostBadRows;
  if (more > 0) yield { where: '', text: `${more} more rows are bad` };
}
