/** Says which pictures are kept under another name, since others take theirs. */
import { join } from 'node:path';
import { shownPath } from './shown-path.ts';

/** Undefined where there are none. */
export function keptText(count: number, dir: string): string | undefined {
  if (count === 0) return undefined;
  const kept = count === 1 ? '1 picture that was there is' : `${count} pictures that were there are`;
  return `${kept} kept as <name>.former in ${shownPath(join(dir, 'images'))}`;
}
