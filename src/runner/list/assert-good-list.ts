/** Refuses a list that was read, with all its problems at once. */
import type { ManifestStage } from '../checkpoint/manifest-stage.ts';
import type { Config } from '../config/config.ts';
import { type Problem, ConfigError } from '../../lib/yaml/problem.ts';
import { shownFile } from '../../lib/yaml/yaml-file.ts';
import { addedColumns, missingColumns, describeColumns, undeclared } from './scene-columns.ts';

interface ListContents {
  config: Config;
  stage: ManifestStage;
  columns: ReadonlySet<string>;
  /** Problems other than invalid rows. */
  problems: Problem[];
  notes: string[];
  /** Names that `freeNames` returns. */
  free: string[];
}

const noPicture = 'none of the pictures of that batch is chosen';

/** Throws `ConfigError`. Invalid rows are accepted with `skipBadRows`. */
export function assertGoodList({ config, stage, columns, problems, notes, free }: ListContents): void {
  const unknown = problems.length === 0 ? unknownColumns(config, columns, free) : [];
  if (unknown.length > 0) throw new ConfigError(unknown);
  const bad = config.skipBadRows ? [] : [...badRowProblems(stage)];
  if (problems.length + bad.length > 0) throw new ConfigError([...problems, ...bad]);
  if (stage.count().scenes > 0) return;
  const files = config.manifest.map((path) => (path === '-' ? 'standard input' : shownFile(path)));
  const where = files.length > 0 ? files.join(', ') : config.placeOf(['scenes'], true);
  const why = config.stage === undefined ? ['it has no scene to render'] : [noPicture, ...notes];
  throw new ConfigError([{ where, text: why.join('; ') }]);
}

/**
 * Checks columns after everything was read, because JSON Lines show their columns only then. Without any
 * column there is no good row to judge by.
 */
function unknownColumns(config: Config, columns: ReadonlySet<string>, free: string[]): Problem[] {
  const axes = addedColumns(config);
  if (columns.size === 0 && config.manifest.length > 0) return [];
  const all = new Set([...columns, ...axes]);
  const found = describeColumns('the manifest', [...columns], axes);
  return [...undeclared(config, all), ...missingColumns(config, new Set([...all, ...free]), found)];
}

const shownBadRows = 10;

function* badRowProblems(stage: ManifestStage): Generator<Problem> {
  let shown = 0;
  for (const { source, problem } of stage.badRows()) {
    if (shown === shownBadRows) break;
    shown += 1;
    yield { where: source, text: problem };
  }
  const more = stage.count().badRows - shownBadRows;
  const text = more === 1 ? '1 more row is bad' : `${more.toLocaleString('en')} more rows are bad`;
  if (more > 0) yield { where: '', text, count: more };
}
