/** Ids of scenes that are given on the command line, or in a file. */
import { idLines } from '../runner/list/id-file.ts';

/** Where each id was given: by `--id`, or in a line of a file of `--ids`. */
export function readIds(argv: Record<string, unknown>): Map<string, string> {
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
