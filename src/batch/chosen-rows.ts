/** Chooses rows of a batch by a condition and by a list of ids. */
import { plural } from '../lib/text/format.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import { rowCondition, rowValues } from '../runner/checkpoint/row-values.ts';
import type { SceneRecord } from '../runner/core/scene-record.ts';
import { escapeControls } from '../terminal/fit-text.ts';

export interface RowsChosen {
  /** Condition in the form of `--where`. */
  where?: string | undefined;
  /** Ids of scenes, each with the place where it was given, such as `starred.txt:3`. */
  ids?: ReadonlyMap<string, string> | undefined;
}

type Say = (text: string) => void;

/** Filters rows. After the last row, `say` gets a sentence for everything that could not be judged or found. */
type Filter = (rows: Iterable<SceneRecord>, say: Say) => Iterable<SceneRecord>;

/** Returns a filter for rows that meet both choices. Throws `ConfigError`. */
export function chosenRows({ where, ids }: RowsChosen, db: Database): Filter {
  const filter = where === undefined ? undefined : rowFilter(where, db);
  return (all, say) => {
    const rows = filter?.(all, say) ?? all;
    return ids === undefined ? rows : rowsOf(rows, ids, say);
  };
}

/** Returns a filter for rows that meet the condition. Throws `ConfigError`. */
export function rowFilter(where: string, db: Database): Filter {
  const holds = rowCondition(rowValues(readBatch(db)), where, '--where');
  return function* (rows, say) {
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

/**
 * Maximum number of unknown ids that are named. Further ids are only counted, because a list for another
 * batch has no known id.
 */
const maxStrangers = 10;

/** Reports unknown ids. Ids that the condition excludes cannot be distinguished from them. */
function sayStrangers(strangers: [id: string, place: string][], say: Say): void {
  for (const [id, place] of strangers.slice(0, maxStrangers))
    say(escapeControls(`${place}: no matching scene has the id ${JSON.stringify(id)}`));
  const more = strangers.length - maxStrangers;
  if (more > 0) say(`${more.toLocaleString('en')} more ids belong to no matching scene`);
}
