/** `--where`: scenes that a condition holds for. */
import { readBatch, resultColumns } from '../runner/checkpoint/batch-identity.ts';
import { compileCondition, ConditionError } from '../runner/core/condition.ts';
import { promptOf } from '../runner/core/prompt.ts';
import type { ReportRow } from '../runner/core/report-row.ts';
import type { Database } from '../lib/sqlite/database.ts';
import type { JsonValue } from '../lib/text/json.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { textsOf } from './read-ids.ts';
import { plural } from '../terminal/words.ts';
import { writeError } from '../terminal/console.ts';

/** What a scene has besides its columns; a column of that name is called `manifest.` and its name, as in results.csv. */
const others: Record<string, (row: ReportRow) => JsonValue | undefined> = {
  id: ({ id }) => id,
  state: ({ state }) => state,
  kind: ({ failureKind }) => failureKind,
  attempts: ({ attempts }) => attempts,
  prompt: ({ input, columns }) => promptOf(input ?? {}, columns),
  seed: ({ input, pictures }) => input?.['seed'] ?? pictures[0]?.seed,
  labelled_words: ({ pictures }) => pictures.flatMap(({ output }) => output?.labelled_words ?? []),
  ignored_words: ({ pictures }) => pictures.flatMap(({ output }) => output?.ignored_words ?? []),
};

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
  const batch = readBatch(db);
  const names = new Map(
    [...resultColumns(batch), ...(batch?.axes ?? [])].map((name) => [
      Object.hasOwn(others, name) ? `manifest.${name}` : name,
      name,
    ]),
  );
  const condition = compiled(where, [...names.keys(), ...Object.keys(others)]);
  return function* (rows) {
    let missing = 0;
    for (const row of rows) {
      const isIt = condition((name) => {
        const column = names.get(name);
        if (column === undefined) return others[name]?.(row);
        return Object.hasOwn(row.columns, column) ? row.columns[column] : undefined;
      });
      if (isIt === true) yield row;
      if (isIt === undefined) missing += 1;
    }
    if (missing > 0)
      writeError(`${plural(missing, 'scene lacks', 'scenes lack')} a value that --where asks for; left out.`);
  };
}

function compiled(where: string, known: string[]): ReturnType<typeof compileCondition> {
  try {
    return compileCondition(where, known);
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    throw new ConfigError([{ where: '--where', text: error.message }]);
  }
}
