/** The options `--where`, `--id`, `--ids` and `--starred`: which scenes of a batch a command is about. `--limit` is in `batch/start-choices.ts`. */
import type { Batch } from '../batch/batch.ts';
import type { RowsChosen } from '../batch/retry-scenes.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { idLines } from '../runner/list/stage-pictures.ts';
import { markedIn } from '../runner/files/marks-file.ts';
import { writeError } from '../terminal/terminal.ts';
import { textOption } from './command.ts';

/** Options that choose scenes of a batch. */
export const rowOptions = {
  where: {
    ...textOption,
    describe: 'scenes that meet a condition, such as "guidance > 5 and not style = \'ink\'"',
  },
  ids: {
    ...textOption,
    describe: 'scenes of a file of ids, one a line, such as starred.txt of the gallery',
  },
  starred: { type: 'boolean', describe: 'scenes that are starred in `watch`' },
} as const;

/** Returns the scenes chosen by `rowOptions`. Throws `ConfigError`. */
export function rowsChosen(argv: Record<string, unknown>, { dir }: Batch): RowsChosen {
  const isStarred = argv['starred'] === true;
  const starred = isStarred ? markedIn(dir, 'star', { where: '--starred', say: writeError }) : [];
  const isAny = argv['ids'] === undefined && !isStarred;
  return { ids: isAny ? undefined : new Map([...starred, ...idsGiven(argv)]), where: conditionOf(argv) };
}

/** Returns undefined if no condition is given. Throws `ConfigError` if several are. */
export function conditionOf(argv: Record<string, unknown>): string | undefined {
  const [where, ...more] = textsOf(argv, 'where');
  if (more.length === 0) return where;
  throw new ConfigError([
    { where: '--where', text: 'it is given twice; join the conditions with `and` or `or`' },
  ]);
}

/** Returns ids with the place where each was given: `--id`, or the file and line of `--ids`. */
export function idsGiven(argv: Record<string, unknown>): Map<string, string> {
  const places = new Map(textsOf(argv, 'id').map((id) => [id, '--id']));
  for (const path of textsOf(argv, 'ids')) {
    const ids = idLines(path, '--ids');
    for (const [index, id] of ids.entries())
      if (id !== '' && !places.has(id)) places.set(id, `${path}:${index + 1}`);
  }
  return places;
}

export function textsOf(argv: Record<string, unknown>, name: string): string[] {
  return [argv[name] ?? []].flat().map(String);
}
