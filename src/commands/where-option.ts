/** `--where`: scenes that a condition holds for. */
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import type { ReportRow } from '../runner/core/report-row.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { textsOf } from './read-ids.ts';
import { rowCondition, rowValues } from './row-values.ts';
import { plural } from '../terminal/words.ts';
import { writeError } from '../terminal/console.ts';

/** Undefined where none is given. */
export function conditionOf(argv: Record<string, unknown>): string | undefined {
  const [where, ...more] = textsOf(argv, 'where');
  if (more.length === 0) return where;
  throw new ConfigError([
    { where: '--where', text: 'it is given twice; join the conditions with and, or or' },
  ]);
}

/** Those of the rows that it holds for; after the last one it says how many could not be judged. Throws `ConfigError`. */
export function rowFilter(where: string, db: Database): (rows: Iterable<ReportRow>) => Generator<ReportRow> {
  const holds = rowCondition(rowValues(readBatch(db)), where, '--where');
  return function* (rows) {
    let missing = 0;
    for (const row of rows) {
      const isIt = holds(row);
      if (isIt === true) yield row;
      if (isIt === undefined) missing += 1;
    }
    if (missing > 0)
      writeError(`${plural(missing, 'scene lacks', 'scenes lack')} a value that --where asks for; left out.`);
  };
}
