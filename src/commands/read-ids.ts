/** Ids of scenes that are given on the command line, or in a file. */
import { similarFile } from '../lib/files/similar-file.ts';
import { readFileSync } from 'node:fs';
import { ConfigError } from '../lib/yaml/problem.ts';

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

/** `where`: what names the file. Throws `ConfigError`. */
export function readIdFile(path: string, where: string): Set<string> {
  return new Set(idLines(path, where).filter((id) => id !== ''));
}

function idLines(path: string, where: string): string[] {
  const ids = readLines(path, where).map((line) => line.trim());
  // For some commands that would mean every scene.
  if (ids.every((id) => id === '')) throw new ConfigError([{ where, text: `${path} has no ids` }]);
  return ids;
}

function readLines(path: string, where: string): string[] {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path)).split('\n');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'ENOENT' ? `there is no such file${similarFile(path)}` : `it cannot be read as text (${code})`;
    throw new ConfigError([{ where, text: `${path}: ${why}` }]);
  }
}

export function textsOf(argv: Record<string, unknown>, name: string): string[] {
  return [argv[name] ?? []].flat().map(String);
}
