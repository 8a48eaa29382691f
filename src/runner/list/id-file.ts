/** Reads files with one id of a scene in each line. */
import { readFileSync } from 'node:fs';
import { similarFile } from '../../lib/files/similar-file.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';

/** `where` names the file in messages. Throws `ConfigError`. */
export function readIdFile(path: string, where: string): Set<string> {
  return new Set(idLines(path, where).filter((id) => id !== ''));
}

/** Returns one trimmed entry per line, '' for an empty line. Throws `ConfigError`. */
export function idLines(path: string, where: string): string[] {
  const ids = readLines(path, where).map((line) => line.trim());
  // For some commands, no ids would mean every scene.
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
