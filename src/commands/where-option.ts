/** `--where` and `--ids`: scenes that a condition holds for, and those of a file of ids. */
import { textOption } from './command.ts';
import { plural } from '../lib/text/format.ts';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import type { SceneRecord } from '../runner/core/scene-record.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { readIds, textsOf } from './read-ids.ts';
import { rowCondition, rowValues } from '../runner/checkpoint/row-values.ts';

import { writeError } from '../terminal/console.ts';
import { harmless } from '../terminal/fit-text.ts';

export const rowOptions = {
  where: {
    ...textOption,
    describe: 'scenes that a condition holds for, such as "guidance > 5 and not style = \'ink\'"',
  },
  ids: {
    ...textOption,
    describe: 'scenes of a file of ids, one a line, such as starred.txt of the gallery',
  },
} as const;

type Say = (text: string) => void;

type Filter = (rows: Iterable<SceneRecord>, say?: Say) => Iterable<SceneRecord>;

/** Those of the rows that both options leave; after the last one, `say` is told what could not be judged or found. Throws `ConfigError`. */
export function chosenRows(argv: Record<string, unknown>, db: Database): Filter {
  const ids = argv['ids'] === undefined ? undefined : readIds(argv);
  const where = conditionOf(argv);
  const filter = where === undefined ? undefined : rowFilter(where, db);
  return (all, say = writeError) => {
    const rows = filter?.(all, say) ?? all;
    return ids === undefined ? rows : rowsOf(rows, ids, say);
  };
}

/** Undefined where none is given. */
export function conditionOf(argv: Record<string, unknown>): string | undefined {
  const [where, ...more] = textsOf(argv, 'where');
  if (more.length === 0) return where;
  throw new ConfigError([
    { where: '--where', text: 'it is given twice; join the conditions with and, or or' },
  ]);
}

/** Those of the rows that it holds for; after the last one it says how many could not be judged. Throws `ConfigError`. */
export function rowFilter(where: string, db: Database): Filter {
  const holds = rowCondition(rowValues(readBatch(db)), where, '--where');
  return function* (rows, say = writeError) {
    let missing = 0;
    for (const row of rows) {
      const isIt = holds(row);
      if (isIt === true) yield row;
      if (isIt === undefined) missing += 1;
    }
    if (missing > 0)
      say(`${plural(missing, 'scene lacks', 'scenes lack')} a value that --where asks for; left out.`);
  };
}

/** Those of the ids; at the end of the rows, it says which are of none. */
function* rowsOf(
  rows: Iterable<SceneRecord>,
  ids: ReadonlyMap<string, string>,
  say: Say,
): Generator<SceneRecord> {
  const found = new Set<string>();
  for (const row of rows) {
    if (row.id === null || !ids.has(row.id)) continue;
    found.add(row.id);
    yield row;
  }
  sayStrangers(
    [...ids].filter(([id]) => !found.has(id)),
    say,
  );
}

/** More are counted: a list of another batch has none that is known here. */
const maxStrangers = 10;

/** Ids with their places. What other options leave out cannot be told from them. */
function sayStrangers(strangers: [id: string, place: string][], say: Say): void {
  for (const [id, place] of strangers.slice(0, maxStrangers))
    say(harmless(`${place}: no scene that matches has the id ${JSON.stringify(id)}`));
  const more = strangers.length - maxStrangers;
  if (more > 0) say(`${more.toLocaleString('en')} more ids are of no scene that matches`);
}
