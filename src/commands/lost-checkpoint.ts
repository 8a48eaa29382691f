/** Pictures without a checkpoint that knows them: what was paid for once would be paid for again. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../config/problem.ts';
import { shownPath } from './shown-path.ts';

/**
 * A checkpoint that was removed may be meant so: the warning is returned. An empty file is what a failed copy leaves:
 * throws `ConfigError`, before anything is written.
 */
export function warningOfLostCheckpoint(dir: string): string | undefined {
  const images = join(dir, 'images');
  const checkpoint = join(dir, 'checkpoint.sqlite');
  // Whatever else stands there is told of where the pictures' folder is made ready.
  const isFolder = statSync(images, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isFolder || readdirSync(images).length === 0) return undefined;
  if (!existsSync(checkpoint)) {
    return `${shownPath(images)} holds pictures, and there is no checkpoint that knows them: every scene is submitted again`;
  }
  if (statSync(checkpoint).size > 0) return undefined;
  const text = `this file is empty, though ${shownPath(images)} holds pictures; put a copy of it back, or remove it to have every scene submitted again`;
  throw new ConfigError([{ where: shownPath(checkpoint), text }]);
}
